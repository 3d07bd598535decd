"""The fleet and its queues as they are now, for a page: what workers told Redis, and what waits in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.fleet.models import Worker
from server.fleet.service import GONE, known_workers, slots
from server.grading.models import Job, Step, StepState
from server.grading.queue_order import IN_FLIGHT, QUEUED
from worker.contract.broker import BrokerUnavailable, BrokerUrlError, connect_redis
from worker.contract.fleet import SlotRecord, Wanted, WorkerRecord, WorkerState
from worker.contract.messages import CPU_QUEUE
from worker.contract.redis_fleet import RedisFleet

SILENT_SECONDS = 15.0
_ANSWER_SECONDS = 2.0
_OPEN = (StepState.QUEUED, StepState.SENT, StepState.RUNNING)
_RESTING = frozenset({WorkerState.DRAINING, WorkerState.DRAINED, WorkerState.OUT})


class NoSuchWorker(ValueError):
    """No worker of that name told of itself in the last hour."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One worker. silent_seconds: since its last beat; silent: whether that is too long for one that lives."""

    record: WorkerRecord
    silent_seconds: float

    @property
    def silent(self) -> bool:
        """Whether it ended without a word, or its host or its way to Redis is cut off."""
        return self.silent_seconds > SILENT_SECONDS

    @property
    def resting(self) -> bool:
        """Whether it takes no work, so that it can be let go on."""
        return self.record.state in _RESTING

    @property
    def slots(self) -> Sequence[SlotRecord]:
        return self.record.slots


@dataclass(frozen=True, slots=True)
class QueueSeen:
    """One queue.

    waiting: steps that no worker has begun; sent: those of them of which a message is on its way to the workers
    oldest_seconds: age of the job whose step came first of those that wait; takers: slots that take from the queue
    """

    name: str
    waiting: int
    sent: int
    oldest_seconds: float | None
    running: int
    takers: int

    @property
    def stuck(self) -> bool:
        """Whether something waits that nobody takes."""
        return bool(self.waiting) and not self.takers


@dataclass(frozen=True, slots=True)
class FleetSeen:
    """All of it. broker_away: Redis does not answer, and the workers are those that the database knows."""

    workers: tuple[Seen, ...]
    queues: tuple[QueueSeen, ...]
    broker_away: str


def look(session: Session, redis_url: str, now: datetime) -> FleetSeen:
    """Everything there is to see; never fails because Redis is away."""
    try:
        records, clock = _from_redis(redis_url)
        away = ""
    except (BrokerUnavailable, BrokerUrlError) as error:
        records, clock = _from_database(session), now.timestamp()
        away = str(error)
    workers = sorted(
        (Seen(record, max(0.0, clock - record.beat)) for record in records),
        key=lambda seen: (seen.record.host, seen.record.started, seen.record.id),
    )
    living = [seen.record for seen in workers if not seen.silent]
    return FleetSeen(tuple(workers), queues(session, slots(living), now), away)


def queues(session: Session, takers: Mapping[str, int], now: datetime) -> tuple[QueueSeen, ...]:
    """The queues in which there is something, or that somebody takes from."""
    query = select(Step.queue, Step.state, func.count(), func.min(Step.id)).group_by(Step.queue, Step.state)
    count: dict[tuple[str, StepState], int] = {}
    first: dict[str, int] = {}
    for is_open in (QUEUED, IN_FLIGHT):  # each by an index of its own
        for name, state, steps, oldest in session.execute(query.where(is_open)):
            count[name, state] = steps
            if state is not StepState.RUNNING:
                first[name] = min(oldest, first.get(name, oldest))
    found = []
    for name in sorted({CPU_QUEUE, *takers, *(name for name, _ in count)}):
        queued, sent, running = (count.get((name, state), 0) for state in _OPEN)
        age = _age(session, first.get(name), now)
        found.append(QueueSeen(name, queued + sent, sent, age, running, takers.get(name, 0)))
    return tuple(found)


def queues_known(session: Session, now: datetime) -> tuple[QueueSeen, ...]:
    """The queues, with those who take from them as far as the database knows; asks no Redis."""
    return queues(session, slots(known_workers(session, now)), now)


def tell(redis_url: str, worker: str, wanted: Wanted) -> None:
    """Tell a worker what to do; raises NoSuchWorker, BrokerUnavailable."""
    with connect_redis(redis_url, answer_seconds=_ANSWER_SECONDS) as client:
        fleet = RedisFleet(client)
        if worker not in {record.id for record in fleet.workers()}:
            raise NoSuchWorker("No worker of this name has reported in the last hour.")
        fleet.want(worker, wanted)


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
