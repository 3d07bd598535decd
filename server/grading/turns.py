"""Whose turn it is: a queue that five hundred submissions of one person do not fill for anybody else.

Each queued step has a turn. A person's first takes the turn after the one that its queue has come to, each further
one the turn after that person's last; the dispatcher takes the lowest turn, the oldest of equal ones, and moves the
clock of the queue there. So people who wait are served in rounds, one step of each in every round, and who has just
come joins the round to come instead of queueing behind all that the others have handed in. (This is start-time fair
queueing, with steps that count alike.) Every priority of a queue has turns of its own, and a lower number goes first.

Both, to join and to be taken, are one look into an index, however many wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, bindparam, func, or_, select, tuple_
from sqlalchemy.orm import Session

from server.database.upsert import insert_into
from server.grading.models import QueueClock, Step, StepState

PAGE = 200
PAGES = 5
"""How many of the queue are looked at to find someone who is below the cap: after that, it counts as nobody."""


def in_state(*states: StepState) -> ColumnElement[bool]:
    """Steps in one of these states, written into the statement: only so do both databases use the partial indexes."""
    kind = Step.state.type
    if len(states) == 1:
        return Step.state == bindparam(None, states[0], type_=kind, literal_execute=True)
    return Step.state.in_(bindparam(None, list(states), type_=kind, expanding=True, literal_execute=True))


QUEUED = in_state(StepState.QUEUED)
IN_FLIGHT = in_state(StepState.SENT, StepState.RUNNING)


class Turns:
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
        """The turn of this person's next step."""
        if person not in self._last:
            self._last[person] = self._last_queued(person)
        self._last[person] = max(self._clock or 0, self._last[person]) + 1
        return self._last[person]

    def _last_queued(self, person: int) -> int:
        last = self._session.scalar(
            select(func.max(Step.turn)).where(
                Step.person_id == person, Step.queue == self._queue, Step.priority == self._priority, QUEUED
            )
        )
        return last or 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued step, as far as choosing needs it."""

    step: int
    person: int
    priority: int
    turn: int


def waiting(session: Session, queue: str, now: datetime) -> Iterator[Sequence[Waiting]]:
    """The head of a queue in its order, page by page, read only as far as somebody asks."""
    beyond: Waiting | None = None
    for _ in range(PAGES):
        page = _page(session, queue, beyond, now)
        yield page
        if len(page) < PAGE:
            return
        beyond = page[-1]


def _page(session: Session, queue: str, beyond: Waiting | None, now: datetime) -> list[Waiting]:
    order = (Step.priority, Step.turn, Step.id)
    due = or_(Step.not_before.is_(None), Step.not_before <= now)
    query = select(Step.id, Step.person_id, Step.priority, Step.turn).where(Step.queue == queue, QUEUED, due)
    if beyond is not None:
        query = query.where(tuple_(*order) > tuple_(beyond.priority, beyond.turn, beyond.step))
    return [Waiting(*row) for row in session.execute(query.order_by(*order).limit(PAGE))]


def choose(
    pages: Iterator[Sequence[Waiting]], in_flight: Mapping[int, int], cap: int, room: int
) -> list[Waiting]:
    """Which steps go next, `room` at the most.

    in_flight: steps under way, by person. Who has `cap` of them is passed over as long as somebody else waits; where
        nobody does, the cap leaves no slot idle.
    """
    if room <= 0:
        return []
    counts = dict(in_flight)
    chosen: list[Waiting] = []
    passed_over: list[Waiting] = []
    for step in (step for page in pages for step in page):
        if counts.get(step.person, 0) < cap:
            counts[step.person] = counts.get(step.person, 0) + 1
            chosen.append(step)
            if len(chosen) == room:
                return chosen
        elif len(passed_over) < room:
            passed_over.append(step)
    return chosen + passed_over[: room - len(chosen)]


def people_in_flight(session: Session, queue: str) -> dict[int, int]:
    """How many steps of each person are under way in a queue."""
    query = (
        select(Step.person_id, func.count()).where(Step.queue == queue, IN_FLIGHT).group_by(Step.person_id)
    )
    return dict(session.execute(query).all())


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
