"""Where a job stands in the queue, and how long it will wait, as far as that can be said honestly."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Protocol

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from server.fleet.service import known_slots
from server.grading.models import Job, Step, StepState
from server.grading.queue_order import IN_FLIGHT, QUEUED, in_state
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
        if self.position is None:
            return "not in the queue"
        if self.position > COUNTED:
            return f"more than {COUNTED:,} are before it"
        return f"number {self.position:,} in the queue" if self.position else "at work"


class OpenStep(Protocol):
    """A step that waits or is at work, as its row or a copy has it."""

    @property
    def id(self) -> int: ...
    @property
    def queue(self) -> str: ...
    @property
    def state(self) -> StepState: ...
    @property
    def queued_at(self) -> datetime: ...
    @property
    def sent_at(self) -> datetime | None: ...


def place_of(session: Session, job: Job, now: datetime) -> Place:
    """The place of a job's open step."""
    open_states = in_state(StepState.QUEUED, StepState.SENT, StepState.RUNNING)
    step = session.scalar(select(Step).where(Step.job_id == job.id, open_states))
    return Place(None) if step is None else places(session, [step], now)[step.id]


def places(session: Session, steps: Iterable[OpenStep], now: datetime) -> Mapping[int, Place]:
    """The place of each step, by its number: as many queries for a thousand in one queue as for one."""
    by_queue: dict[str, list[OpenStep]] = defaultdict(list)
    found: dict[int, Place] = {}
    for step in steps:
        if step.state is StepState.RUNNING:
            found[step.id] = Place(0, 0.0)
        else:
            by_queue[step.queue].append(step)
    for queue, waiting in by_queue.items():
        line = _Line(session, queue, [step.id for step in waiting], now)
        found |= {step.id: line.place(step) for step in waiting}
    return found


class _Line:
    """One queue as it is now, for some of its steps; each thing is asked once, and only where it is needed."""

    def __init__(self, session: Session, queue: str, steps: Sequence[int], now: datetime) -> None:
        self._session, self._queue, self._steps, self._now = session, queue, steps, now

    def place(self, step: OpenStep) -> Place:
        """Of one of these steps; one that was taken since it was looked at is the next."""
        if step.state is StepState.SENT:
            ahead = self._sent.get(step.id, 0)
        else:
            ahead = len(self._sent) + self._queued.get(step.id, self._unlisted)
        if ahead > COUNTED:
            return Place(COUNTED + 1, None, f"More than {COUNTED:,} steps are before it.")
        seconds, reason = self._wait(ahead, max(step.queued_at, step.sent_at or step.queued_at))
        return Place(ahead + 1, seconds, reason)

    @cached_property
    def _sent(self) -> Mapping[int, int]:
        """How many were sent before each of those that are sent, and not begun."""
        query = select(Step.id).where(Step.queue == self._queue, IN_FLIGHT, Step.state == StepState.SENT)
        numbers = self._session.scalars(query.order_by(Step.sent_at, Step.id))
        return {number: ahead for ahead, number in enumerate(numbers)}

    @cached_property
    def _queued(self) -> Mapping[int, int]:
        """How many are queued before each of these steps, and before the last one that is counted."""
        order = (Step.priority, Step.turn, Step.id)
        queued = select(*order).where(Step.queue == self._queue, QUEUED)
        first = queued.order_by(*order).limit(COUNTED + 1).subquery()
        ahead = func.row_number().over(order_by=(first.c.priority, first.c.turn, first.c.id)) - 1
        counted = select(first.c.id, ahead.label("ahead")).subquery()
        wanted = or_(counted.c.id.in_(self._steps), counted.c.ahead == COUNTED)
        return dict(self._session.execute(select(counted).where(wanted)).all())

    @property
    def _unlisted(self) -> int:
        """How many are before a step that is none of the first: it is far behind, or was taken since."""
        return COUNTED + 1 if COUNTED in self._queued.values() else 0

    def _wait(self, ahead: int, since: datetime) -> tuple[float | None, str]:
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
            return None, "No estimate yet: nothing of this kind was graded before."
        # Those at work are half done, on average.
        return round(self._usual * (ahead + self._running / 2) / heard, 1), ""

    @cached_property
    def _slots(self) -> tuple[int, int]:
        """That take from the queue: of all workers that live, and of those heard from lately."""
        known, heard = known_slots(self._session, self._now)
        return known.get(self._queue, 0), heard.get(self._queue, 0)

    @cached_property
    def _running(self) -> int:
        query = select(func.count()).where(
            Step.queue == self._queue, IN_FLIGHT, Step.state == StepState.RUNNING
        )
        return self._session.scalar(query) or 0

    @cached_property
    def _usual(self) -> float | None:
        return usual_seconds(self._session, self._queue)

    @cached_property
    def _moved(self) -> datetime:
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
