"""Running totals since the beginning.

Finished rows never change, so each is counted once: all at a process's first scrape, then only new ones. A process
stores nothing that it couldn't count again, so all processes agree.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import BigInteger, ColumnElement, Engine, Integer, and_, case, cast, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from kernels.verdict import Verdict
from server.courses.models import Assignment
from server.database.engine import DatabaseUnavailable, readers
from server.database.faults import explained
from server.database.storage import free_bytes
from server.fleet.service import known_workers, slots
from server.grading.models import Attempt, AttemptOutcome, Job, Result, Step, StepState
from server.grading.queue_order import IN_FLIGHT, OLDEST, QUEUED, queues_with
from server.lti.models import LtiScore
from server.mail.queries import mail_state
from server.operations.backup import made_at, newest_backup
from server.operations.presence import InRedis
from server.recording.origin import Distrust
from server.settings import FREE_MB
from worker.contract.broker import BrokerUnavailable
from worker.contract.fleet import WorkerRecord, WorkerState
from worker.contract.messages import CPU_QUEUE, gpu_queue

BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Bounds of a step's seconds."""

STILL_MOVING = timedelta(minutes=3)
"""Newer rows are counted again each time: another machine's clock may differ, and a transaction may end late."""

Counts = dict[Any, float]
Between = Callable[[InstrumentedAttribute[Any]], ColumnElement[bool]]


@dataclass(slots=True)
class Total:
    """A sum over finished rows. read: counts the rows that fulfil a condition on their time."""

    read: Callable[[Session, Between], Counts]
    _settled: Counts = field(default_factory=dict)
    _until: datetime | None = None

    def now(self, session: Session, now: datetime) -> Mapping[Any, float]:
        start, end = self._until, now - STILL_MOVING
        if start is None or start < end:
            self._settled = _sum(self._settled, self.read(session, _between(start, end)))
            self._until = end
        return _sum(self._settled, self.read(session, _between(self._until, None)))


def _sum(some: Counts, more: Counts) -> Counts:
    return {key: some.get(key, 0) + more.get(key, 0) for key in some.keys() | more.keys()}


def _between(start: datetime | None, end: datetime | None) -> Between:
    def condition(column: InstrumentedAttribute[Any]) -> ColumnElement[bool]:
        bounds: list[ColumnElement[bool]] = [column.is_not(None)]
        bounds += [column >= start] if start is not None else []
        bounds += [column < end] if end is not None else []
        return and_(*bounds)

    return condition


def verdicts(session: Session, between: Between) -> Counts:
    """The number of jobs with each verdict."""
    query = select(Result.verdict, func.count()).where(between(Result.recorded_at)).group_by(Result.verdict)
    return {verdict.value: count for verdict, count in session.execute(query)}


def step_seconds(session: Session, between: Between) -> Counts:
    """For each queue: the number of steps within each bound (cumulative), of all (inf), and their milliseconds
    ("sum").

    Whole numbers: a sum that shrinks by a rounding would look like a restart from zero.
    """
    found: Counts = {}
    within = [func.sum(cast(case((Step.seconds <= edge, 1), else_=0), Integer)) for edge in BUCKETS]
    for queue in queues_with(session):
        query = select(func.count(), func.sum(cast(func.round(Step.seconds * 1000), BigInteger)), *within).where(
            Step.queue == queue, between(Step.ended_at), Step.seconds.is_not(None)
        )
        count, ms, *counts = session.execute(query).one()
        for edge, below in zip((*BUCKETS, float("inf")), (*counts, count), strict=True):
            found[queue, edge] = below or 0
        found[queue, "sum"] = int(ms or 0)
    return found


def failures(session: Session, between: Between) -> Counts:
    """For each queue and outcome: tries of finished steps that failed or were lost."""
    found: Counts = {}
    for queue in queues_with(session):
        query = (
            select(Attempt.outcome, func.count())
            .join(Step, Step.id == Attempt.step_id)
            .where(
                Step.queue == queue,
                between(Step.ended_at),
                # few steps had a failure: this looks only at their tries
                or_(Step.attempt > 1, Step.state == StepState.FAILED),
                Attempt.outcome.in_((AttemptOutcome.FAULT, AttemptOutcome.LOST)),
            )
            .group_by(Attempt.outcome)
        )
        for outcome, count in session.execute(query):
            found[queue, str(outcome)] = count
    return found


PROCESSES = ("dispatcher", "recorder")
_NOT_BEGUN = (StepState.QUEUED, StepState.SENT)
_OPEN = (*_NOT_BEGUN, StepState.RUNNING)


@dataclass(slots=True, eq=False)
class TilelabCollector(Collector):
    """All metrics.

    redis: reads the metrics in Redis; raises BrokerUnavailable
    free_mb: free space, in MiB, below which submissions are refused
    backups: the folder of backups, if this machine has it
    """

    engine: Engine
    redis: Callable[[], InRedis]
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    free_mb: float = FREE_MB
    backups: Path | None = None
    _verdicts: Total = field(default_factory=lambda: Total(verdicts))
    _seconds: Total = field(default_factory=lambda: Total(step_seconds))
    _failures: Total = field(default_factory=lambda: Total(failures))
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def describe(self) -> list[Metric]:
        """Nothing: metrics are only known at a scrape."""
        return []

    def collect(self) -> Iterator[Metric]:
        with self._one_at_a_time:
            yield from self._from_disk()
            yield from self._from_database()
            yield from self._from_redis()

    def _from_disk(self) -> Iterator[Metric]:
        if self.backups is not None:
            yield GaugeMetricFamily(
                "tilelab_newest_backup_seconds",
                "Age of the newest backup in TILELAB_BACKUPS; infinite if none can be read.",
                value=_age_of_backup(self.backups, self.clock()),
            )
        free = free_bytes(self.engine)
        if free is None:
            return
        yield GaugeMetricFamily(
            "tilelab_database_free_bytes", "Free space on the disk of the SQLite database.", value=free
        )
        yield GaugeMetricFamily(
            "tilelab_database_free_floor_bytes",
            "Free space below which submissions are refused.",
            value=self.free_mb * 2**20,
        )

    def _from_database(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("tilelab_database_up", "Whether the database answers.")
        try:
            with explained(self.engine), readers(self.engine).begin() as session:
                found = list(self._read(session, self.clock()))
        except DatabaseUnavailable:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        yield from found

    def _read(self, session: Session, now: datetime) -> Iterator[Metric]:
        workers = known_workers(session, now)
        taking = slots(workers)
        under_way = _under_way(session)
        queues = sorted({CPU_QUEUE, *taking, *_queues_in_use(session), *(queue for queue, _ in under_way)})
        yield from _queues(session, now, queues, under_way)
        yield from _workers(workers, taking, queues)
        yield _verdict_counts(self._verdicts.now(session, now))
        yield _step_seconds(self._seconds.now(session, now))
        yield _failure_counts(self._failures.now(session, now))
        yield from _emails(session, now)
        yield _scores(session)

    def _from_redis(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("tilelab_broker_up", "Whether Redis answers.")
        try:
            found = self.redis()
        except BrokerUnavailable:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        processes = GaugeMetricFamily("tilelab_processes", "Running processes of the server.", labels=["process"])
        for name in PROCESSES:
            processes.add_metric([name], found.processes.get(name, 0))
        yield processes
        yield GaugeMetricFamily(
            "tilelab_clock_ahead_of_redis_seconds",
            "Seconds by which the clock of the portal's machine is ahead of Redis's.",
            value=found.clock_ahead,
        )
        yield GaugeMetricFamily("tilelab_results_waiting", "Results waiting to be recorded.", value=found.results)
        yield CounterMetricFamily(
            "tilelab_late_results", "Results refused because their try no longer counts.", value=found.late
        )
        refused = CounterMetricFamily(
            "tilelab_refused_results",
            "Results refused because their sender or their work can't be trusted.",
            labels=["why"],
        )
        for why in Distrust:
            refused.add_metric([why.value], found.distrusted.get(why.value, 0))
        yield refused


def _age_of_backup(folder: Path, now: datetime) -> float:
    try:
        newest = newest_backup(folder)
        return math.inf if newest is None else _seconds_since(made_at(newest), now)
    except (OSError, ValueError):
        return math.inf


def _queues_in_use(session: Session) -> Iterator[str]:
    """Queues that current assignments use. They appear even when empty, because alert rules can't compare with
    nothing.
    """
    for name in session.scalars(select(Assignment.device_class).distinct()):
        if name:
            yield gpu_queue(name)


_Counts = Mapping[tuple[str, StepState], tuple[int, int | None]]


def _under_way(session: Session) -> _Counts:
    """For each queue and state: the number of unfinished steps, and the oldest one's ID without experiments."""
    query = select(Step.queue, Step.state, func.count(), OLDEST).group_by(Step.queue, Step.state)
    found = {}
    for is_open in (QUEUED, IN_FLIGHT):  # each has its own index
        for queue, state, count, first in session.execute(query.where(is_open)):
            found[queue, state] = (count, first)
    return found


def _queues(session: Session, now: datetime, queues: Sequence[str], under_way: _Counts) -> Iterator[Metric]:
    waiting = GaugeMetricFamily("tilelab_steps_waiting", "Steps not yet sent to a worker.", labels=["queue"])
    oldest = GaugeMetricFamily(
        "tilelab_oldest_waiting_seconds",
        "Age of the oldest job with a step that no worker has started, without experiments.",
        labels=["queue"],
    )
    in_flight = GaugeMetricFamily(
        "tilelab_steps_in_flight", "Steps sent to workers or running.", labels=["queue", "state"]
    )
    for queue in queues:
        counts = {state: under_way.get((queue, state), (0, None)) for state in _OPEN}
        waiting.add_metric([queue], counts[StepState.QUEUED][0])
        firsts = [first for state in _NOT_BEGUN if (first := counts[state][1]) is not None]
        oldest.add_metric([queue], _age(session, min(firsts, default=None), now))
        for state in (StepState.SENT, StepState.RUNNING):
            in_flight.add_metric([queue, state.value], counts[state][0])
    yield waiting
    yield oldest
    yield in_flight


def _age(session: Session, step: int | None, now: datetime) -> float:
    queued = None
    if step is not None:
        queued = session.scalar(select(Job.queued_at).join(Step, Step.job_id == Job.id).where(Step.id == step))
    return _seconds_since(queued, now)


def _seconds_since(time: datetime | None, now: datetime) -> float:
    return 0.0 if time is None else max(0.0, (now - time).total_seconds())


def _workers(workers: list[WorkerRecord], taking: Mapping[str, int], queues: Sequence[str]) -> Iterator[Metric]:
    states = GaugeMetricFamily("tilelab_workers", "Running workers by state.", labels=["state"])
    counter = Counter(worker.state for worker in workers)
    for state in WorkerState:
        states.add_metric([state.value], counter[state])
    yield states
    places = GaugeMetricFamily("tilelab_slots", "Slots of running workers that serve a queue.", labels=["queue"])
    for queue in queues:
        places.add_metric([queue], taking.get(queue, 0))
    yield places
    busy = CounterMetricFamily(
        "tilelab_gpu_busy_seconds",
        "Seconds a GPU spent on a slot's kernels since its worker started. The rates of its slots are its utilisation.",
        labels=["host", "slot", "device"],
    )
    seconds: dict[tuple[str, str, str], float] = defaultdict(float)
    for worker in workers:
        for slot in worker.slots:
            if slot.queue != CPU_QUEUE:
                seconds[worker.host, slot.name, slot.device] += slot.busy_ms / 1e3
    for labels, value in sorted(seconds.items()):
        busy.add_metric(labels, value)
    yield busy


def _verdict_counts(counts: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily("tilelab_verdicts", "Jobs that got this verdict.", labels=["verdict"])
    for verdict in Verdict:
        family.add_metric([verdict.value], counts.get(verdict.value, 0))
    return family


def _step_seconds(counts: Mapping[tuple[str, float | str], float]) -> Metric:
    family = HistogramMetricFamily("tilelab_step_seconds", "Seconds that a step took.", labels=["queue"])
    for queue in sorted({queue for queue, _ in counts}):
        buckets = [(str(edge), counts.get((queue, edge), 0)) for edge in BUCKETS]
        buckets.append(("+Inf", counts.get((queue, float("inf")), 0)))
        family.add_metric([queue], buckets, sum_value=counts.get((queue, "sum"), 0) / 1000)
    return family


def _emails(session: Session, now: datetime) -> Iterator[Metric]:
    family = GaugeMetricFamily(
        "tilelab_emails", "E-mails of the last 30 days that wait, or that were tried and given up.", labels=["state"]
    )
    found = mail_state(session)
    family.add_metric(["waiting"], found.waiting)
    family.add_metric(["failed"], found.failed)
    yield family
    yield GaugeMetricFamily(
        "tilelab_oldest_untried_email_seconds",
        "Age of the oldest e-mail that the mail server hasn't answered yet.",
        value=_seconds_since(found.untried_since, now),
    )


def _scores(session: Session) -> Metric:
    family = GaugeMetricFamily(
        "tilelab_lti_scores", "Scores that platforms of LTI don't have yet: new, or failed at the last try.",
        labels=["state"],
    )  # fmt: skip
    for state, which in (("waiting", LtiScore.fault == ""), ("failing", LtiScore.fault != "")):
        query = select(func.count(LtiScore.id)).where(LtiScore.next_at.is_not(None), which)
        family.add_metric([state], session.scalar(query) or 0)
    return family


def _failure_counts(counts: Mapping[tuple[str, str], float]) -> Metric:
    family = CounterMetricFamily(
        "tilelab_failed_attempts", "Failed or lost tries of finished steps.", labels=["queue", "outcome"]
    )
    for queue in sorted({CPU_QUEUE, *(queue for queue, _ in counts)}):
        for outcome in (AttemptOutcome.FAULT, AttemptOutcome.LOST):
            family.add_metric([queue, outcome.value], counts.get((queue, outcome.value), 0))
    return family
