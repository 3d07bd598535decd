"""The fair order of a queue: 500 submissions of one person don't block everyone else.

Each queued step has a number, `turn`. The queue's clock holds the number that the queue has reached. A person's first
step gets the clock's number plus one. Each further step gets the number of that person's last step plus one. The
dispatcher takes the lowest number, the oldest of equal ones, and moves the clock there. So each round serves one step
of each waiting person, and a newcomer joins the next round. This is start-time fair queueing with steps of equal cost.
Each priority of a queue has its own clock; lower priority numbers go first.

Queueing and taking a step cost one index lookup each, however many steps wait.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, bindparam, func, literal_column, select, union_all
from sqlalchemy.orm import Session

from server.database.upsert import insert_into
from server.grading.models import Priority, QueueClock, Step, StepState


def in_state(*states: StepState) -> ColumnElement[bool]:
    """Steps in one of these states, as literals in the statement: otherwise no database uses its partial indexes."""
    names = [literal_column(f"'{state.value}'", Step.state.type) for state in states]
    return Step.state == names[0] if len(names) == 1 else Step.state.in_(names)


QUEUED = in_state(StepState.QUEUED)
IN_FLIGHT = in_state(StepState.SENT, StepState.RUNNING)


OLDEST = func.min(Step.id).filter(Step.priority != Priority.EXPERIMENT)
"""In a query of waiting steps, the ID of the oldest. Experiments give way, so their waits aren't anyone's problem."""


class QueueOrder:
    """Numbers new steps of one queue and priority, within one transaction."""

    def __init__(self, session: Session, queue: str, priority: int) -> None:
        self._session = session
        self._queue = queue
        self._priority = priority
        self._last: dict[int, int] = {}

    def next(self, person: int) -> int:
        if person not in self._last:
            self._last[person] = self._last_queued(person)
        self._last[person] += 1
        return self._last[person]

    def know(self, people: Collection[int]) -> None:
        """Look up the last numbers of these people in one query, before many of their steps come."""
        last = (
            select(Step.person_id, func.max(Step.turn))
            .where(Step.queue == self._queue, Step.priority == self._priority, QUEUED)
            .group_by(Step.person_id)
        )
        last_turns = dict(self._session.execute(last).all())
        clock = self._session.scalar(select(_CLOCK), in_queue(self._queue, self._priority)) or 0
        self._last |= {person: max(clock, last_turns.get(person, 0)) for person in people}

    def _last_queued(self, person: int) -> int:
        """The number after which the person's next one comes: of the last queued step, or of the clock."""
        given = in_queue(self._queue, self._priority, person)
        return self._session.connection().execute(select(_LAST), given).scalar_one()


def in_queue(queue: str, priority: int, person: int | None = None) -> dict[str, Any]:
    """The values for NEXT_TURN. person: whose step it is."""
    return {"of_person": person, "in_queue": queue, "in_priority": priority}


_QUEUE: BindParameter[str] = bindparam("in_queue")
_PRIORITY: BindParameter[int] = bindparam("in_priority")
_CLOCK = select(QueueClock.turn).where(QueueClock.queue == _QUEUE, QueueClock.priority == _PRIORITY).scalar_subquery()


def _select_last() -> ColumnElement[int]:
    of_person = (Step.person_id == bindparam("of_person"), Step.queue == _QUEUE, Step.priority == _PRIORITY, QUEUED)
    queued = select(func.max(Step.turn).label("turn")).where(*of_person)
    both = union_all(queued, select(_CLOCK)).subquery()
    return select(func.coalesce(func.max(both.c.turn), 0)).scalar_subquery()


_LAST = _select_last()
NEXT_TURN = _LAST + 1
"""The number of a person's next step, for a statement that inserts it."""


def advance(session: Session, queue: str, turns: Mapping[int, int]) -> None:
    """Move the clocks of a queue forward to these numbers, by priority."""
    for priority, turn in sorted(turns.items()):
        insert = insert_into(session, QueueClock).values(queue=queue, priority=priority, turn=turn)
        session.execute(
            insert.on_conflict_do_update(
                index_elements=[QueueClock.queue, QueueClock.priority],
                set_={"turn": insert.excluded.turn},
                where=QueueClock.turn < insert.excluded.turn,
            )
        )


def queues_with(session: Session, *which: ColumnElement[bool]) -> list[str]:
    """The queues with such steps. Each costs one index lookup, however many steps there are."""
    queues: list[str] = []
    query = select(func.min(Step.queue)).where(*which)
    queue = session.scalar(query)
    while queue is not None:
        queues.append(queue)
        queue = session.scalar(query.where(Step.queue > queue))
    return queues
