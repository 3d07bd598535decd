"""Positions in the queue, and waiting times where an honest estimate is possible."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Protocol

from sqlalchemy import CompoundSelect, Integer, bindparam, func, literal_column, or_, select
from sqlalchemy.orm import Session

from server.fleet.service import at_once, known_slots
from server.grading.models import Job, Step, StepState
from server.grading.queue_order import IN_FLIGHT, QUEUED, in_state
from worker.contract.messages import CPU_QUEUE

COUNTED = 1_000
"""Positions are counted up to this number; beyond, a position is "more than" it."""

PROMPT = timedelta(seconds=5)
"""A free worker takes a step within this time, if the dispatcher, Redis and the worker run."""

_RECENT = 50


@dataclass(frozen=True, slots=True)
class Place:
    """A job's place in the queue.

    position: 1 for the next, 0 in progress, None if the job is over; COUNTED + 1 means "more than COUNTED"
    seconds: until a worker takes it; None if no estimate is possible
    reason: a sentence why there is no estimate; "" otherwise
    """

    position: int | None
    seconds: float | None = None
    reason: str = ""

    @property
    def text(self) -> str:
        if self.position is None:
            return "not in the queue"
        if self.position > COUNTED:
            return f"more than {COUNTED:,} ahead in the queue"
        return f"number {self.position:,} in the queue" if self.position else "in progress"


class OpenStep(Protocol):
    """A step that waits or runs: its row, or a copy of it."""

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
    open_states = in_state(StepState.QUEUED, StepState.SENT, StepState.RUNNING)
    step = session.scalar(select(Step).where(Step.job_id == job.id, open_states))
    return Place(None) if step is None else places(session, [step], now)[step.id]


def position_of(session: Session, queue: str, step: int, now: datetime) -> int:
    """The position of a queued step by its ID, without an estimate of its time."""
    return min(_Line(session, queue, [step], now).ahead_of_queued(step), COUNTED) + 1


def places(session: Session, steps: Iterable[OpenStep], now: datetime) -> Mapping[int, Place]:
    """The place of each step, by its ID. The number of queries doesn't grow with the number of steps."""
    by_queue: dict[str, list[OpenStep]] = defaultdict(list)
    known: dict[int, Place] = {}
    for step in steps:
        if step.state is StepState.RUNNING:
            known[step.id] = Place(0, 0.0)
        else:
            by_queue[step.queue].append(step)
    for queue, waiting in by_queue.items():
        line = _Line(session, queue, [step.id for step in waiting], now)
        known |= {step.id: line.place(step) for step in waiting}
    return known


class _Line:
    """A queue as some of its steps see it. Each query runs once, and only if its answer is needed."""

    def __init__(self, session: Session, queue: str, steps: Sequence[int], now: datetime) -> None:
        self._session, self._queue, self._steps, self._now = session, queue, steps, now

    def place(self, step: OpenStep) -> Place:
        """The place of one of these steps. A step that was sent meanwhile counts as the next."""
        ahead = self.ahead(step)
        if ahead > COUNTED:
            return Place(COUNTED + 1, None, f"More than {COUNTED:,} steps are ahead.")
        seconds, reason = self._wait(ahead, max(step.queued_at, step.sent_at or step.queued_at))
        return Place(ahead + 1, seconds, reason)

    def ahead(self, step: OpenStep) -> int:
        if step.state is StepState.SENT:
            return self._ahead[0].get(step.id, 0)
        return self.ahead_of_queued(step.id)

    def ahead_of_queued(self, step: int) -> int:
        sent, queued = self._ahead
        # An uncounted step is beyond the counted ones, or it was sent meanwhile.
        return len(sent) + queued.get(step, COUNTED + 1 if COUNTED in queued.values() else 0)

    @cached_property
    def _ahead(self) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """The number of steps sent before each step that is sent but not started.

        And the number of steps queued before each of these steps, and before the last one that is counted.
        """
        given = {"queue": self._queue, "most": COUNTED + 1, "last": COUNTED, "steps": list(self._steps)}
        found: tuple[dict[int, int], dict[int, int]] = {}, {}
        for number, ahead, is_queued in self._session.execute(_AHEAD, given):
            found[is_queued][number] = ahead
        return found

    def _wait(self, ahead: int, since: datetime) -> tuple[float | None, str]:
        """Seconds until a slot is free after `ahead` steps, or None and the reason.

        since: when the step was last queued or sent
        """
        known, heard = self._slots
        if not heard:
            return (
                None,
                _SILENT if known else f"No worker {_what(self._queue)} is running. Submissions wait until one starts.",
            )
        if ahead + self._running < heard:
            return (None, _NOT_TAKEN) if self._now - max(since, self._moved) > PROMPT else (0.0, "")
        if self._usual is None:
            return None, "No estimate yet: nothing similar was graded before."
        # On average, half of each running step is done.
        return round(self._usual * (ahead + self._running / 2) / at_once(self._queue, heard), 1), ""

    @cached_property
    def _slots(self) -> tuple[int, int]:
        """The queue's slots: of all live workers, and of live workers that reported lately."""
        known, heard = known_slots(self._session, self._now)
        return known.get(self._queue, 0), heard.get(self._queue, 0)

    @cached_property
    def _running(self) -> int:
        query = select(func.count()).where(Step.queue == self._queue, IN_FLIGHT, Step.state == StepState.RUNNING)
        return self._session.scalar(query) or 0

    @cached_property
    def _usual(self) -> float | None:
        return usual_seconds(self._session, self._queue)

    @cached_property
    def _moved(self) -> datetime:
        query = select(func.max(Step.ended_at)).where(Step.queue == self._queue, Step.ended_at.is_not(None))
        return self._session.scalar(query) or datetime.min.replace(tzinfo=UTC)


def _select_ahead() -> CompoundSelect[Any]:
    """The number of steps before each step that is sent but not started, and before some queued steps.

    Also before the queued step with the number `last`. The third column is 1 for queued steps.
    """
    earlier = func.row_number().over(order_by=(Step.sent_at, Step.id)) - 1
    sent = select(Step.id, earlier, literal_column("0", Integer)).where(
        Step.queue == bindparam("queue"), IN_FLIGHT, Step.state == StepState.SENT
    )
    order = (Step.priority, Step.turn, Step.id)
    queued = select(*order).where(Step.queue == bindparam("queue"), QUEUED)
    # The limit keeps the cost of a page the same for any length of the queue.
    first = queued.order_by(*order).limit(bindparam("most", type_=Integer)).subquery()
    ahead = func.row_number().over(order_by=(first.c.priority, first.c.turn, first.c.id)) - 1
    counted = select(first.c.id, ahead.label("ahead")).subquery()
    wanted = or_(counted.c.id.in_(bindparam("steps", expanding=True)), counted.c.ahead == bindparam("last"))
    return sent.union_all(select(counted, literal_column("1", Integer)).where(wanted))


_AHEAD = _select_ahead()

_SILENT = "The workers haven't reported lately. Nothing is lost; grading continues when they answer."
_NOT_TAKEN = "A worker is free but hasn't started this submission. Nothing is lost; it keeps its place."


def _what(queue: str) -> str:
    return "that checks" if queue == CPU_QUEUE else f"that measures on {queue.removeprefix('gpu.')}"


def usual_seconds(session: Session, queue: str) -> float | None:
    """The median duration of recent steps in a queue."""
    query = (
        select(Step.seconds)
        .where(Step.queue == queue, Step.ended_at.is_not(None), Step.seconds.is_not(None))
        .order_by(Step.ended_at.desc())
        .limit(_RECENT)
    )
    recent = [seconds for seconds in session.scalars(query) if seconds is not None]
    return statistics.median(recent) if recent else None
