"""How far each student is with each assignment.

Index look-ups answer this: a few for each student and assignment, however many attempts there are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from markupsafe import Markup
from sqlalchemy import ColumnElement, Select, and_, case, exists, func, select, true
from sqlalchemy.orm import Session

from kernels.rendering.page.charts import svg
from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Assignment, Correction, Extension, Membership, Role
from server.courses.service import assignments_for
from server.database.base import one_of
from server.submissions.allowance import accommodations_in
from server.submissions.counted_submission import due_for
from server.submissions.models import Mode, Submission
from server.teams.credit import credited
from server.teams.models import TeamMember


class State(StrEnum):
    """How far a student is with an assignment."""

    ACCEPTED = "accepted"
    LATE = "late"
    FAILING = "failing"
    CHECKING = "checking"
    NOT_STARTED = "not_started"
    EXCUSED = "excused"

    @property
    def words(self) -> str:
        return TITLES[self]

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


TITLES: Mapping[State, str] = {
    State.ACCEPTED: "Accepted",
    State.LATE: "Accepted late",
    State.FAILING: "Not accepted",
    State.CHECKING: "Only checks",
    State.NOT_STARTED: "Not started",
    State.EXCUSED: "Excused",
}
UNFINISHED = frozenset({State.FAILING, State.CHECKING})
"""States of students who have begun, without an accepted submission."""

_MEANINGS: Mapping[State, str] = {
    State.ACCEPTED: "An accepted submission before the student's own deadline.",
    State.LATE: "The first accepted submission came after the student's own deadline.",
    State.FAILING: "Submissions, but none accepted yet.",
    State.CHECKING: "Only checks, no submission.",
    State.NOT_STARTED: "No submissions and no checks.",
    State.EXCUSED: "The assignment doesn't count for the student.",
}


@dataclass(frozen=True, slots=True)
class StudentState:
    """A student's state at an assignment."""

    person_id: int
    state: State


@dataclass(frozen=True, slots=True)
class Bar:
    """An assignment with the number of students in each state. Excused students are only in `excused`."""

    assignment: Assignment
    counts: Mapping[State, int]
    excused: int = 0

    @classmethod
    def of(cls, assignment: Assignment, states: Sequence[StudentState]) -> Bar:
        counts = Counter(state.state for state in states)
        return cls(assignment, counts, counts.pop(State.EXCUSED, 0))

    @property
    def students(self) -> int:
        return sum(self.counts.values())

    @property
    def parts(self) -> list[tuple[State, int]]:
        return [(state, self.counts.get(state, 0)) for state in State if state is not State.EXCUSED]

    @property
    def drawn(self) -> Markup:
        return svg.parts([(state.value, count / max(1, self.students)) for state, count in self.parts])


def bars(session: Session, course_id: int, now: datetime) -> list[Bar]:
    """The bar of each assignment that students see, in the course's order, without practice."""
    shown = [one for one in assignments_for(session, course_id, Role.STUDENT, now) if not one.practice]
    states = states_of(session, course_id, shown)
    return [Bar.of(assignment, states[assignment.id]) for assignment in shown]


def states_of(session: Session, course_id: int, assignments: Sequence[Assignment]) -> Mapping[int, list[StudentState]]:
    """The state of each student in the course, by the assignment's ID."""
    known = {assignment.id: assignment for assignment in assignments}
    mine = and_(Submission.assignment_id == Assignment.id, Submission.person_id == Membership.person_id)
    excused = and_(
        Correction.assignment_id == Assignment.id, Correction.person_id == Membership.person_id, Correction.excused
    )
    first_accepted = (
        select(func.min(Submission.created_at))
        .where(mine, Submission.mode == Mode.RANK, Submission.verdict == Verdict.ACCEPTED)
        .correlate(Assignment, Membership)
        .scalar_subquery()
    )
    query = (
        select(
            Assignment.id,
            Membership.person_id,
            first_accepted,
            exists().where(mine, Submission.mode == Mode.RANK).correlate(Assignment, Membership),
            exists().where(mine, Submission.mode == Mode.CHECK).correlate(Assignment, Membership),
            exists().where(excused).correlate(Assignment, Membership),
        )
        .select_from(Membership)
        .join(Person, Person.id == Membership.person_id)
        .join(Assignment, true())
        .where(*_present(course_id), Assignment.id.in_(known))
    )
    extensions, more_time = extensions_of(session, list(known)), accommodations_in(session, course_id)
    teams = _team_work(session, assignments)
    found: dict[int, list[StudentState]] = {number: [] for number in known}
    for number, person, accepted_at, submitted, checked, is_excused in session.execute(query):
        due_at = due_for(known[number], extensions.get((number, person)), more_time.get(person)).due_at
        theirs = teams.get((number, person), _TeamWork())
        state = _state(
            _first(accepted_at, theirs.accepted_at),
            _later(due_at, theirs.in_time_at),
            submitted=submitted or theirs.submitted,
            checked=checked or theirs.checked,
        )
        if is_excused:
            state = State.EXCUSED
        found[number].append(StudentState(person, state))
    return found


@dataclass(frozen=True, slots=True)
class _TeamWork:
    """What a student's teams did at an assignment.

    accepted_at: the first accepted submission; in_time_at: the first one before the team's deadline
    """

    accepted_at: datetime | None = None
    in_time_at: datetime | None = None
    submitted: bool = False
    checked: bool = False


def _team_work(session: Session, assignments: Sequence[Assignment]) -> Mapping[tuple[int, int], _TeamWork]:
    """By the IDs of the assignment and the person. No statement if there are no teams."""
    numbers = [one.id for one in assignments if one.team_size > 1]
    if not numbers:
        return {}
    counts = Submission.mode == Mode.RANK
    accepted = and_(counts, Submission.verdict == Verdict.ACCEPTED)
    in_time = and_(accepted, Submission.created_at <= Submission.team_due_at)
    query = (
        select(
            TeamMember.assignment_id,
            TeamMember.person_id,
            func.min(case((accepted, Submission.created_at))),
            func.min(case((in_time, Submission.created_at))),
            func.sum(case((counts, 1), else_=0)),
            func.count(),
        )
        .join(Submission, Submission.team_id == TeamMember.team_id)
        .where(TeamMember.assignment_id.in_(numbers))
        .group_by(TeamMember.assignment_id, TeamMember.person_id)
    )
    return {
        (number, person): _TeamWork(accepted_at, in_time_at, submitted > 0, every > submitted)
        for number, person, accepted_at, in_time_at, submitted, every in session.execute(query)
    }


def _first(own: datetime | None, teams: datetime | None) -> datetime | None:
    return min((at for at in (own, teams) if at is not None), default=None)


def _later(due_at: datetime | None, in_time_at: datetime | None) -> datetime | None:
    """The due time, so that what a team had accepted in time isn't late."""
    return due_at if due_at is None or in_time_at is None else max(due_at, in_time_at)


def students_in(course_id: int, section: str = "") -> Select[int]:
    """The IDs of the students that the bars count: neither staff, nor dropped students.

    section: "" for all
    """
    joined = select(Membership.person_id).join(Person, Person.id == Membership.person_id).where(*_present(course_id))
    return joined.where(Membership.section == section) if section else joined


def _present(course_id: int) -> tuple[ColumnElement[bool], ...]:
    return (
        Membership.course_id == course_id,
        Membership.role == Role.STUDENT,
        Membership.dropped_at.is_(None),
        Person.erased_at.is_(None),
    )


def _state(accepted_at: datetime | None, due_at: datetime | None, *, submitted: bool, checked: bool) -> State:
    if accepted_at is not None:
        return State.LATE if due_at is not None and accepted_at > due_at else State.ACCEPTED
    if submitted:
        return State.FAILING
    return State.CHECKING if checked else State.NOT_STARTED


def extensions_of(session: Session, assignments: Sequence[int]) -> Mapping[tuple[int, int], Extension]:
    """All extensions for these assignments, by the IDs of the assignment and the person."""
    query = select(Extension).where(Extension.assignment_id.in_(assignments))
    return {(extension.assignment_id, extension.person_id): extension for extension in session.scalars(query)}


SAME = 3
"""So many failures of one kind in a row make a student stuck."""

QUIET = timedelta(days=3)
"""So long without an attempt, after the first and before the student's deadline, makes a student stuck."""


@dataclass(frozen=True, slots=True)
class Tries:
    """A student's attempts at an assignment, checks included. public_id, verdict: of the last one."""

    count: int
    last_at: datetime
    public_id: str
    verdict: Verdict | None


@dataclass(frozen=True, slots=True)
class Stuck:
    """Why a student seems stuck. public_id: the last attempt."""

    person_id: int
    reason: str
    last_at: datetime
    public_id: str


def tries_of(session: Session, assignment: Assignment, people: Sequence[int]) -> Mapping[int, Tries]:
    """The attempts of these students and their teams, by the person's ID."""
    one = credited([assignment])
    query = (
        select(one.person_id, one.created_at, one.public_id, one.verdict)
        .where(one.assignment_id == assignment.id, one_of(one.person_id, people))
        .order_by(one.created_at, one.id)
    )
    found: dict[int, Tries] = {}
    for person, at, public_id, verdict in session.execute(query):
        before = found.get(person)
        found[person] = Tries(1 if before is None else before.count + 1, at, public_id, verdict)
    return found


def stuck(session: Session, assignment: Assignment, states: Sequence[StudentState], now: datetime) -> list[Stuck]:
    """Students who seem stuck, the longest quiet first. Excused ones don't: their state isn't unfinished."""
    unfinished = [state.person_id for state in states if state.state in UNFINISHED]
    one = credited([assignment])
    place = func.row_number().over(partition_by=one.person_id, order_by=(one.created_at.desc(), one.id.desc()))
    judged = (
        select(one.person_id, one.created_at, one.public_id, one.verdict, place.label("place"))
        .where(
            one.assignment_id == assignment.id, one.verdict != Verdict.SYSTEM_ERROR, one_of(one.person_id, unfinished)
        )
        .subquery()
    )
    last = select(judged).where(judged.c.place <= SAME).order_by(judged.c.person_id, judged.c.place)
    rows: dict[int, list[tuple[datetime, str, Verdict]]] = defaultdict(list)
    for row in session.execute(last):
        rows[row.person_id].append((row.created_at, row.public_id, row.verdict))
    extensions = extensions_of(session, [assignment.id])
    more_time = accommodations_in(session, assignment.course_id)
    students = []
    for person, attempts in rows.items():
        at, public_id, _ = attempts[0]
        due_at = due_for(assignment, extensions.get((assignment.id, person)), more_time.get(person)).due_at
        until = now if due_at is None else min(now, due_at)
        reason = _reason(attempts, until)
        if reason:
            students.append(Stuck(person, reason, at, public_id))
    return sorted(students, key=lambda one: one.last_at)


def _reason(attempts: Sequence[tuple[datetime, str, Verdict]], until: datetime) -> str:
    last_at, _, verdict = attempts[0]
    if len(attempts) == SAME and {kind for _, _, kind in attempts} == {verdict} != {Verdict.ACCEPTED}:
        return f"{SAME} times in a row: {verdict.words}"
    if until - last_at >= QUIET:
        return f"no attempt for {(until - last_at).days} days, last: {verdict.words}"
    return ""
