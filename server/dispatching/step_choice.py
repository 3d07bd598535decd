"""Choose the next steps of a queue, with a fair share for each person while others wait.

The head of the queue nearly always fills the free room. Sometimes it is full of people who already have enough steps
under way. Then the first step of each other person is looked up, in every priority. So a large batch from one person
never hides the steps of others. The cost grows with the number of people, not of steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, or_, select, tuple_
from sqlalchemy.orm import Session

from server.grading.models import Priority, Step
from server.grading.queue_order import IN_FLIGHT, QUEUED

PAGE = 200
"""Steps read from the head of a queue in one query."""


@dataclass(frozen=True, slots=True, order=True)
class Waiting:
    """A queued step; sorts in the order of the queue."""

    priority: int
    turn: int
    step: int
    person: int


@dataclass(slots=True)
class Choice:
    """The chosen steps so far.

    under_way: steps of each person, including the chosen ones
    cap: steps of one person while others wait. If no one else waits, their further steps fill the rest
    room: the number of steps to choose
    experiments: how many of them may be of experiments
    """

    under_way: dict[int, int]
    cap: int
    room: int
    experiments: int = 0
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
            if step.priority == Priority.EXPERIMENT:
                # Take it behind all others. It needs no cap for each person, because the order of the queue is fair.
                if self.experiments and len(self.passed_over) < self.left:
                    self.experiments -= 1
                    self.passed_over.append(step)
                continue
            count = self.under_way.get(step.person, 0)
            if count < self.cap:
                self.under_way[step.person] = count + 1
                self.chosen.append(step)
            # They only fill what is left, so `room` of them are enough.
            elif len(self.passed_over) < self.room:
                self.passed_over.append(step)

    def all(self) -> list[Waiting]:
        return self.chosen + self.passed_over[: self.left]


def choose(session: Session, queue: str, cap: int, room: int, now: datetime, experiments: int = 0) -> list[Waiting]:
    """Choose the next steps of a queue, at most `room`, and of experiments at most `experiments`."""
    choice = Choice(people_in_flight(session, queue), cap, room, experiments)
    query = select(*_COLUMNS).where(Step.queue == queue, QUEUED, _due(now))
    head = _read(session, queue, query.order_by(Step.priority, Step.turn, Step.id).limit(PAGE))
    choice.offer(head)
    # A shorter head is the whole queue, so no steps are hidden behind it. Behind a step of an experiment there are
    # only others of experiments.
    if choice.left and len(head) == PAGE and head[-1].priority != Priority.EXPERIMENT:
        choice.offer(_hidden(session, queue, now, head[-1], choice))
    return choice.all()


def people_in_flight(session: Session, queue: str) -> dict[int, int]:
    """Count each person's steps under way in a queue, without experiments: they must not hold up submissions."""
    query = (
        select(Step.person_id, func.count())
        .where(Step.queue == queue, IN_FLIGHT, Step.priority != Priority.EXPERIMENT)
        .group_by(Step.person_id)
    )
    return dict(session.execute(query).all())


def experiments_in_flight(session: Session, queue: str) -> int:
    query = select(func.count()).where(Step.queue == queue, IN_FLIGHT, Step.priority == Priority.EXPERIMENT)
    return session.scalar(query) or 0


def _hidden(session: Session, queue: str, now: datetime, beyond: Waiting, choice: Choice) -> Sequence[Waiting]:
    """Steps behind the head of a queue, of people below the cap."""
    sated = set(choice.sated)
    heads = _read(session, queue, select(*_COLUMNS).where(Step.id.in_(_heads(session, queue, now, beyond))))
    first = sorted(head for head in heads if head.person not in sated)[: choice.left]
    found: list[Waiting] = []
    for head in first:
        theirs = _own(_COLUMNS, head.person, queue, now, beyond).limit(choice.cap)
        found += _read(session, queue, theirs)
    return sorted(found)


def _heads(session: Session, queue: str, now: datetime, beyond: Waiting) -> list[int]:
    """The first step behind `beyond` of each waiting person; of another queue for people with none in this queue.

    A recursive query walks an index from person to person, so each costs two index lookups.
    """
    first = select(func.min(Step.person_id).label("id")).where(QUEUED).cte("person", recursive=True)
    after = select(func.min(Step.person_id)).where(QUEUED, Step.person_id > first.c.id).scalar_subquery()
    # After the last person, `min` gives NULL, which ends the recursion.
    person = first.union_all(select(after).where(first.c.id.is_not(None)))
    head = _own((Step.id,), person.c.id, queue, now, beyond).limit(1).correlate(person).scalar_subquery()
    return [step for step in session.scalars(select(head).select_from(person)) if step is not None]


def _own(columns: Sequence[Any], person: Any, queue: str, now: datetime, beyond: Waiting) -> Any:
    """A person's steps behind `beyond`, in the order of the queue; then their steps in queues of later names.

    The order and the bounds match one index exactly. Otherwise a database may choose another index, and read past
    everything that other people have queued.
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
