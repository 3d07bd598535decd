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

from server.grading.models import Step, StepState
from server.grading.queue import COUNTED, Line, Place
from server.grading.turns import IN_FLIGHT, QUEUED


@dataclass(frozen=True, slots=True)
class OpenStep:
    """A step that waits or is at work.

    since: when it was last queued or sent
    """

    id: int
    queue: str
    state: StepState
    since: datetime


def places(session: Session, steps: Sequence[OpenStep], now: datetime) -> Mapping[int, Place]:
    """The place of each, by its number."""
    by_queue: dict[str, list[OpenStep]] = defaultdict(list)
    found: dict[int, Place] = {}
    for step in steps:
        if step.state is StepState.RUNNING:
            found[step.id] = Place(0, 0.0)
        else:
            by_queue[step.queue].append(step)
    for queue, waiting in by_queue.items():
        line = _Ahead(session, queue, now)
        found |= {step.id: line.place(step) for step in waiting}
    return found


class _Ahead:
    """One queue as it is now."""

    def __init__(self, session: Session, queue: str, now: datetime) -> None:
        self._line = Line(session, queue, now)
        order = (Step.priority, Step.turn, Step.id)
        first = select(Step.id).where(Step.queue == queue, QUEUED).order_by(*order).limit(COUNTED + 1)
        self._order = {number: ahead for ahead, number in enumerate(session.scalars(first))}
        sent = select(Step.id).where(Step.queue == queue, IN_FLIGHT, Step.state == StepState.SENT)
        taken = session.scalars(sent.order_by(Step.sent_at, Step.id))
        self._sent = {number: ahead for ahead, number in enumerate(taken)}

    def place(self, step: OpenStep) -> Place:
        """Of one of its steps; one that was taken since it was looked at is the next."""
        if step.state is StepState.SENT:
            ahead = self._sent.get(step.id, 0)
        else:
            ahead = self._order.get(step.id, COUNTED + 1 if len(self._order) > COUNTED else 0) + len(
                self._sent
            )
        if ahead > COUNTED:
            return Place(COUNTED + 1, None, f"More than {COUNTED:,} steps are before it.")
        seconds, reason = self._line.wait(ahead, step.since)
        return Place(ahead + 1, seconds, reason)
