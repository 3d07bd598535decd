"""The current state of workers and queues: workers from Redis, queues from the database."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.fleet.models import Worker
from server.fleet.service import GONE, known_workers, slots
from server.grading.contradictions import Contradiction
from server.grading.models import Job, Step, StepState
from server.grading.queue_order import IN_FLIGHT, OLDEST, QUEUED
from worker.contract.broker import BrokerUnavailable, BrokerUrlError, connect_redis
from worker.contract.fleet import SlotRecord, Wanted, WorkerRecord, WorkerState
from worker.contract.messages import CPU_QUEUE
from worker.contract.redis_fleet import RedisFleet

# Workers report every 2 seconds, so a silent one has missed several reports.
SILENT_SECONDS = 15.0
# A page shows the database's copy instead of waiting longer for Redis.
_ANSWER_SECONDS = 2.0
_OPEN = (StepState.QUEUED, StepState.SENT, StepState.RUNNING)
_RESTING = frozenset({WorkerState.DRAINING, WorkerState.DRAINED, WorkerState.OUT})

logger = logging.getLogger(__name__)


class NoSuchWorker(ValueError):
    """No worker of this name has reported in the last hour."""


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """A worker. silent_seconds: since its last heartbeat."""

    record: WorkerRecord
    silent_seconds: float

    @property
    def silent(self) -> bool:
        """Whether it sends no heartbeats: it was killed, or its host or network is down."""
        return self.silent_seconds > SILENT_SECONDS

    @property
    def resting(self) -> bool:
        """Whether it is draining, drained or out, so it can be resumed."""
        return self.record.state in _RESTING

    @property
    def slots(self) -> Sequence[SlotRecord]:
        return self.record.slots


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """A queue.

    waiting: steps that no worker has started, including the sent ones
    sent: waiting steps whose message is on its way to a worker
    oldest_seconds: the age of the job with the oldest waiting step, without experiments
    takers: slots that take steps from the queue
    """

    name: str
    waiting: int
    sent: int
    oldest_seconds: float | None
    running: int
    takers: int

    @property
    def stuck(self) -> bool:
        """Whether steps wait, but no slot takes them."""
        return bool(self.waiting) and not self.takers


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """All workers and queues.

    broker_away: why Redis doesn't answer; the workers are then from the database. "" if Redis answers
    """

    workers: tuple[WorkerStatus, ...]
    queues: tuple[QueueStatus, ...]
    broker_away: str


def read_fleet(session: Session, redis_url: str, now: datetime) -> FleetStatus:
    """Read the state of all workers and queues. Doesn't fail if Redis is unavailable."""
    try:
        records, clock = _from_redis(redis_url)
        away = ""
    except (BrokerUnavailable, BrokerUrlError) as error:
        records, clock = _from_database(session), now.timestamp()
        away = str(error)
    workers = sorted(
        (WorkerStatus(record, max(0.0, clock - record.beat)) for record in records),
        key=lambda seen: (seen.record.host, seen.record.started, seen.record.id),
    )
    living = [seen.record for seen in workers if not seen.silent]
    return FleetStatus(tuple(workers), queues(session, slots(living), now), away)


def queues(session: Session, takers: Mapping[str, int], now: datetime) -> tuple[QueueStatus, ...]:
    """The queues that have steps or slots. takers: the slots of each queue."""
    query = select(Step.queue, Step.state, func.count(), OLDEST).group_by(Step.queue, Step.state)
    count: dict[tuple[str, StepState], int] = {}
    first: dict[str, int] = {}
    for is_open in (QUEUED, IN_FLIGHT):  # each has its own partial index
        for name, state, steps, oldest in session.execute(query.where(is_open)):
            count[name, state] = steps
            if state is not StepState.RUNNING and oldest is not None:
                first[name] = min(oldest, first.get(name, oldest))
    statuses = []
    for name in sorted({CPU_QUEUE, *takers, *(name for name, _ in count)}):
        queued, sent, running = (count.get((name, state), 0) for state in _OPEN)
        age = _age(session, first.get(name), now)
        statuses.append(QueueStatus(name, queued + sent, sent, age, running, takers.get(name, 0)))
    return tuple(statuses)


def queues_known(session: Session, now: datetime, gpu: Collection[str]) -> tuple[QueueStatus, ...]:
    """The queue `cpu` and these queues of GPUs with their slots, from the database alone."""
    names = {CPU_QUEUE, *gpu}
    taking = dict.fromkeys(names, 0) | slots(known_workers(session, now))
    return tuple(queue for queue in queues(session, taking, now) if queue.name in names)


def send_order(redis_url: str, worker: str, wanted: Wanted) -> None:
    """Drain or resume a worker; raises NoSuchWorker, BrokerUnavailable."""
    with connect_redis(redis_url, answer_seconds=_ANSWER_SECONDS) as client:
        fleet = RedisFleet(client)
        if worker not in {record.id for record in fleet.workers()}:
            raise NoSuchWorker("No worker of this name has reported in the last hour.")
        fleet.want(worker, wanted)


def order_tests(fleet: RedisFleet, found: Contradiction) -> None:
    """Let both workers of a contradiction test themselves. Without Redis, only the log says so."""
    try:
        for judgment in (found.first, found.second):
            fleet.want(judgment.worker, Wanted.TEST)
    except BrokerUnavailable as error:
        logger.warning("can't ask these workers to test themselves; run `tilelab worker selftest` there: %s", error)


def _from_redis(redis_url: str) -> tuple[Sequence[WorkerRecord], float]:
    with connect_redis(redis_url, answer_seconds=_ANSWER_SECONDS) as client:
        fleet = RedisFleet(client)
        return fleet.workers(), fleet.now()


def _from_database(session: Session) -> Sequence[WorkerRecord]:
    last = session.scalar(select(func.max(Worker.last_beat)).where(Worker.state != GONE))
    return [] if last is None else known_workers(session, last)


def _age(session: Session, step: int | None, now: datetime) -> float | None:
    if step is None:
        return None
    queued = session.scalar(select(Job.queued_at).join(Step, Step.job_id == Job.id).where(Step.id == step))
    return None if queued is None else max(0.0, (now - queued).total_seconds())
