"""The places of many steps at once: as `server.grading.queue` has them, in a number of queries that is one for all.

For whoever keeps many pages up to date: it costs the same for one step as for a thousand in the same queue.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.fleet.service import known_workers, slots
from server.grading.models import Step, StepState
from server.grading.queue import COUNTED, Place, estimate, usual_seconds
from server.grading.turns import IN_FLIGHT, QUEUED


@dataclass(frozen=True, slots=True)
class OpenStep:
    """A step that waits or is at work."""

    id: int
    queue: str
    state: StepState


def places(session: Session, steps: Sequence[OpenStep], now: datetime) -> Mapping[int, Place]:
    """The place of each, by its number."""
    by_queue: dict[str, list[OpenStep]] = defaultdict(list)
    found: dict[int, Place] = {}
    for step in steps:
        if step.state is StepState.RUNNING:
            found[step.id] = Place(0, 0.0)
        else:
            by_queue[step.queue].append(step)
    live = slots(known_workers(session, now)) if by_queue else {}
    for queue, waiting in by_queue.items():
        line = _Line(session, queue, live.get(queue, 0))
        found |= {step.id: line.place(step) for step in waiting}
    return found


class _Line:
    """One queue as it is now."""

    def __init__(self, session: Session, queue: str, live: int) -> None:
        self._session, self._queue, self._live = session, queue, live
        order = (Step.priority, Step.turn, Step.id)
        first = select(Step.id).where(Step.queue == queue, QUEUED).order_by(*order).limit(COUNTED + 1)
        self._order = {number: ahead for ahead, number in enumerate(session.scalars(first))}
        taken = session.execute(
            select(Step.id, Step.state).where(Step.queue == queue, IN_FLIGHT).order_by(Step.sent_at, Step.id)
        ).all()
        sent = [number for number, state in taken if state is StepState.SENT]
        self._sent = {number: ahead for ahead, number in enumerate(sent)}
        self._running = len(taken) - len(sent)
        self._usual: float | None = None
        self._asked = False

    def place(self, step: OpenStep) -> Place:
        """Of one of its steps; one that was taken since it was looked at is the next."""
        if step.state is StepState.SENT:
            ahead = self._sent.get(step.id, 0)
        else:
            ahead = self._order.get(step.id, COUNTED if len(self._order) > COUNTED else 0) + len(self._sent)
        if ahead > COUNTED:
            return Place(COUNTED + 1, None, f"More than {COUNTED:,} steps are before it.")
        seconds, reason = estimate(self._queue, ahead, self._live, lambda: self._running, self._usual_seconds)
        return Place(ahead + 1, seconds, reason)

    def _usual_seconds(self) -> float | None:
        if not self._asked:
            self._usual, self._asked = usual_seconds(self._session, self._queue), True
        return self._usual
