"""Which steps of a queue go next: those whose turn it is, but no more of one person than is fair while others wait.

The head of the queue nearly always fills the room. Where it does not, because it is full of people who have enough
under way, the others are looked for one by one: each by the head of their own steps, in whatever priority these wait.
So nobody hides anybody, however much they handed in; and it costs as much as there are people, not steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, or_, select, tuple_
from sqlalchemy.orm import Session

from server.grading.models import Step
from server.grading.queue_order import IN_FLIGHT, QUEUED

PAGE = 200
"""How much of the head of a queue is read in one look."""


@dataclass(frozen=True, slots=True, order=True)
class Waiting:
    """A queued step, as far as choosing needs it; they sort in the order of the queue."""

    priority: int
    turn: int
    step: int
    person: int


@dataclass(slots=True)
class Choice:
    """What goes next, as it grows.

    under_way: steps of each person, with those that are chosen
    cap: of these for one person. Who has it is passed over as long as somebody else waits; where nobody does, it leaves
        no slot idle
    room: how many may go
    """

    under_way: dict[int, int]
    cap: int
    room: int
    chosen: list[Waiting] = field(default_factory=list)
    passed_over: list[Waiting] = field(default_factory=list)

    @property
    def left(self) -> int:
        return self.room - len(self.chosen)

    @property
    def sated(self) -> list[int]:
        return [person for person, count in self.under_way.items() if count >= self.cap]

    def offer(self, steps: Iterable[Waiting]) -> None:
        for step in steps:
            if not self.left:
                return
            count = self.under_way.get(step.person, 0)
            if count < self.cap:
                self.under_way[step.person] = count + 1
                self.chosen.append(step)
            elif len(self.passed_over) < self.room:
                self.passed_over.append(step)

    def all(self) -> list[Waiting]:
        return self.chosen + self.passed_over[: self.left]


def choose(session: Session, queue: str, cap: int, room: int, now: datetime) -> list[Waiting]:
    """Which steps of a queue go next, `room` at the most, as Choice has it."""
    choice = Choice(people_in_flight(session, queue), cap, room)
    head = _head(session, queue, now)
    choice.offer(head)
    if choice.left and len(head) == PAGE:
        choice.offer(_hidden(session, queue, now, head[-1], choice))
    return choice.all()


def people_in_flight(session: Session, queue: str) -> dict[int, int]:
    """How many steps of each person are under way in a queue."""
    query = (
        select(Step.person_id, func.count()).where(Step.queue == queue, IN_FLIGHT).group_by(Step.person_id)
    )
    return dict(session.execute(query).all())


def _head(session: Session, queue: str, now: datetime) -> Sequence[Waiting]:
    query = select(*_COLUMNS).where(Step.queue == queue, QUEUED, _due(now))
    return _read(session, queue, query.order_by(Step.priority, Step.turn, Step.id).limit(PAGE))


def _hidden(
    session: Session, queue: str, now: datetime, beyond: Waiting, choice: Choice
) -> Sequence[Waiting]:
    """What waits behind the head of a queue, of those people who have not enough: as much as there is room for."""
    sated = set(choice.sated)
    heads = _read(session, queue, select(*_COLUMNS).where(Step.id.in_(_heads(session, queue, now, beyond))))
    first = sorted(head for head in heads if head.person not in sated)[: choice.left]
    found: list[Waiting] = []
    for head in first:
        theirs = _own(_COLUMNS, head.person, queue, now, beyond).limit(choice.cap)
        found += _read(session, queue, theirs)
    return sorted(found)


def _heads(session: Session, queue: str, now: datetime, beyond: Waiting) -> list[int]:
    """The first step behind that one of everybody who waits; of some in another queue, where they have none in this.

    Each person is one look into an index, from the person before, and their step another.
    """
    first = select(func.min(Step.person_id).label("id")).where(QUEUED).cte("person", recursive=True)
    after = select(func.min(Step.person_id)).where(QUEUED, Step.person_id > first.c.id).scalar_subquery()
    person = first.union_all(select(after).where(first.c.id.is_not(None)))
    head = _own((Step.id,), person.c.id, queue, now, beyond).limit(1).correlate(person).scalar_subquery()
    return [step for step in session.scalars(select(head).select_from(person)) if step is not None]


def _own(columns: Sequence[Any], person: Any, queue: str, now: datetime, beyond: Waiting) -> Any:
    """A person's steps behind that one, in the order of the queue; after them those in queues of later names.

    Asked for in the order of one index, and by its bounds: with anything less a database may take another instead, and
    read past all that others have queued.
    """
    order = (Step.person_id, Step.queue, Step.priority, Step.turn)
    whole = (*order, Step.id)
    bound = (person, queue, beyond.priority, beyond.turn, beyond.step)
    behind = tuple_(*whole) > tuple_(*bound, types=[column.type for column in whole])
    return select(*columns).where(behind, Step.person_id <= person, QUEUED, _due(now)).order_by(*order)


def _due(now: datetime) -> ColumnElement[bool]:
    return or_(Step.not_before.is_(None), Step.not_before <= now)


def _read(session: Session, queue: str, query: Any) -> list[Waiting]:
    return [Waiting(*row) for *row, its in session.execute(query) if its == queue]


_COLUMNS = (Step.priority, Step.turn, Step.id, Step.person_id, Step.queue)
