"""Where a job stands in the queue, and how long it will wait, as far as that can be said honestly."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from sqlalchemy import func, select, tuple_
from sqlalchemy.orm import Session

from server.fleet.service import known_slots
from server.grading.models import Job, Step, StepState
from server.grading.turns import IN_FLIGHT, QUEUED, in_state
from worker.contract.messages import CPU_QUEUE

COUNTED = 1_000
"""How far a position is counted; beyond, it is "more than that"."""

PROMPT = timedelta(seconds=5)
"""A free worker takes a step sooner, where every part of the queue goes on."""

_RECENT = 50


@dataclass(frozen=True, slots=True)
class Place:
    """A job's place.

    position: 1 for the next to be taken, 0 for one that is at work, None where the job is over; COUNTED + 1 stands for
        "more than COUNTED"
    seconds: until a worker takes it; None where nobody can tell
    reason: why nobody can, a sentence; "" where it is told, or nothing is awaited
    """

    position: int | None
    seconds: float | None = None
    reason: str = ""

    @property
    def text(self) -> str:
        """The position in words."""
        if self.position is None:
            return "not in the queue"
        if self.position > COUNTED:
            return f"more than {COUNTED:,} are before it"
        return f"number {self.position:,} in the queue" if self.position else "at work"


def place_of(session: Session, job: Job, now: datetime) -> Place:
    """The place of a job's open step."""
    open_states = in_state(StepState.QUEUED, StepState.SENT, StepState.RUNNING)
    step = session.scalar(select(Step).where(Step.job_id == job.id, open_states))
    if step is None:
        return Place(None)
    if step.state is StepState.RUNNING:
        return Place(0, 0.0)
    ahead = _sent_before(session, step) if step.state is StepState.SENT else _ahead(session, step)
    position = min(ahead, COUNTED) + 1
    if ahead > COUNTED:
        return Place(position, None, f"More than {COUNTED:,} steps are before it.")
    seconds, reason = Line(session, step.queue, now).wait(ahead, waits_since(step.queued_at, step.sent_at))
    return Place(position, seconds, reason)


def _ahead(session: Session, step: Step) -> int:
    """What is taken before a queued step: those queued before it, and all that are sent; counted to COUNTED + 1."""
    order = tuple_(Step.priority, Step.turn, Step.id)
    mine = tuple_(step.priority, step.turn, step.id)
    before = select(Step.id).where(Step.queue == step.queue, QUEUED, order < mine).limit(COUNTED + 1)
    queued = session.scalar(select(func.count()).select_from(before.subquery())) or 0
    return queued + _sent(session, step.queue)


def _sent_before(session: Session, step: Step) -> int:
    """Sent earlier, and not begun."""
    query = select(func.count()).where(
        Step.queue == step.queue, IN_FLIGHT, Step.state == StepState.SENT, Step.sent_at < step.sent_at
    )
    return session.scalar(query) or 0


def _sent(session: Session, queue: str) -> int:
    query = select(func.count()).where(Step.queue == queue, IN_FLIGHT, Step.state == StepState.SENT)
    return session.scalar(query) or 0


def _running(session: Session, queue: str) -> int:
    query = select(func.count()).where(Step.queue == queue, IN_FLIGHT, Step.state == StepState.RUNNING)
    return session.scalar(query) or 0


def waits_since(queued: datetime, sent: datetime | None) -> datetime:
    """When a step began to wait for what comes next."""
    return max(queued, sent or queued)


class Line:
    """What a wait in one queue depends on, asked once and only where it is needed."""

    def __init__(self, session: Session, queue: str, now: datetime) -> None:
        self._session, self._queue, self._now = session, queue, now

    def wait(self, ahead: int, since: datetime) -> tuple[float | None, str]:
        """Seconds until a slot is free for who has `ahead` before it, and why not where they cannot be told.

        since: when the step was last queued or sent
        """
        known, heard = self._slots
        if not heard:
            return (
                None,
                _SILENT
                if known
                else f"No worker {_what(self._queue)} is running. It waits until one starts.",
            )
        if ahead + self._running < heard:
            return (None, _NOT_TAKEN) if self._now - max(since, self._moved) > PROMPT else (0.0, "")
        if self._usual is None:
            return None, "Nothing of its kind has been graded yet, so nobody knows how long it takes."
        # Those at work are half done, on average.
        return round(self._usual * (ahead + self._running / 2) / heard, 1), ""

    @cached_property
    def _slots(self) -> tuple[int, int]:
        """That take from the queue: of all workers that live, and of those heard from lately."""
        known, heard = known_slots(self._session, self._now)
        return known.get(self._queue, 0), heard.get(self._queue, 0)

    @cached_property
    def _running(self) -> int:
        return _running(self._session, self._queue)

    @cached_property
    def _usual(self) -> float | None:
        return usual_seconds(self._session, self._queue)

    @cached_property
    def _moved(self) -> datetime:
        """When a slot last became free."""
        query = select(func.max(Step.ended_at)).where(Step.queue == self._queue, Step.ended_at.is_not(None))
        return self._session.scalar(query) or datetime.min.replace(tzinfo=UTC)


_SILENT = "The workers have not been heard from lately. Nothing is lost; grading goes on when they answer."
_NOT_TAKEN = "A worker is free, but has not started this step. Nothing is lost; it keeps its place."


def _what(queue: str) -> str:
    return "that checks" if queue == CPU_QUEUE else f"that measures on {queue.removeprefix('gpu.')}"


def usual_seconds(session: Session, queue: str) -> float | None:
    """The median of what recent steps of a queue took."""
    query = (
        select(Step.seconds)
        .where(Step.queue == queue, Step.ended_at.is_not(None), Step.seconds.is_not(None))
        .order_by(Step.ended_at.desc())
        .limit(_RECENT)
    )
    recent = [seconds for seconds in session.scalars(query) if seconds is not None]
    return statistics.median(recent) if recent else None
