"""Whose turn it is: a queue that five hundred submissions of one person do not fill for anybody else.

Each queued step has a turn. A person's first takes the turn after the one that its queue has come to, each further
one the turn after that person's last; the dispatcher takes the lowest turn, the oldest of equal ones, and moves the
clock of the queue there. So people who wait are served in rounds, one step of each in every round, and who has just
come joins the round to come instead of queueing behind all that the others have handed in. (This is start-time fair
queueing, with steps that count alike.) Every priority of a queue has turns of its own, and a lower number goes first.

Both, to join and to be taken, are one look into an index, however many wait.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import ColumnElement, bindparam, func, select
from sqlalchemy.orm import Session

from server.database.upsert import insert_into
from server.grading.models import QueueClock, Step, StepState


def in_state(*states: StepState) -> ColumnElement[bool]:
    """Steps in one of these states, written into the statement: only so do both databases use the partial indexes."""
    kind = Step.state.type
    if len(states) == 1:
        return Step.state == bindparam(None, states[0], type_=kind, literal_execute=True)
    return Step.state.in_(bindparam(None, list(states), type_=kind, expanding=True, literal_execute=True))


QUEUED = in_state(StepState.QUEUED)
IN_FLIGHT = in_state(StepState.SENT, StepState.RUNNING)


class QueueOrder:
    """The turns that are given out in one queue and priority, within one transaction."""

    def __init__(self, session: Session, queue: str, priority: int) -> None:
        self._session = session
        self._queue = queue
        self._priority = priority
        self._clock = session.scalar(
            select(QueueClock.turn).where(QueueClock.queue == queue, QueueClock.priority == priority)
        )
        self._last: dict[int, int] = {}

    def next(self, person: int) -> int:
        if person not in self._last:
            self._last[person] = self._last_queued(person)
        self._last[person] = max(self._clock or 0, self._last[person]) + 1
        return self._last[person]

    def know(self, people: Collection[int]) -> None:
        """Look up at once where these people stand, before many of their steps come."""
        last = (
            select(Step.person_id, func.max(Step.turn))
            .where(Step.queue == self._queue, Step.priority == self._priority, QUEUED)
            .group_by(Step.person_id)
        )
        found = dict(self._session.execute(last).all())
        self._last |= {person: found.get(person, 0) for person in people}

    def _last_queued(self, person: int) -> int:
        last = self._session.scalar(
            select(func.max(Step.turn)).where(
                Step.person_id == person, Step.queue == self._queue, Step.priority == self._priority, QUEUED
            )
        )
        return last or 0


def advance(session: Session, queue: str, turns: Mapping[int, int]) -> None:
    """Move the clocks of a queue on to these turns, by priority; never back."""
    for priority, turn in sorted(turns.items()):
        insert = insert_into(session, QueueClock).values(queue=queue, priority=priority, turn=turn)
        session.execute(
            insert.on_conflict_do_update(
                index_elements=[QueueClock.queue, QueueClock.priority],
                set_={"turn": insert.excluded.turn},
                where=QueueClock.turn < insert.excluded.turn,
            )
        )


def queues_waiting(session: Session) -> list[str]:
    """The queues in which something waits; a look into the index for each, however much waits there."""
    found: list[str] = []
    query = select(func.min(Step.queue)).where(QUEUED)
    queue = session.scalar(query)
    while queue is not None:
        found.append(queue)
        queue = session.scalar(query.where(Step.queue > queue))
    return found
