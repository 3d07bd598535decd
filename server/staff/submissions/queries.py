"""All that was handed in for a course: filtered, the newest first, a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    bindparam,
    case,
    exists,
    func,
    literal,
    or_,
    select,
    tuple_,
    union_all,
)
from sqlalchemy.orm import Session, aliased

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Assignment, Exercise, Extension, Membership, Role
from server.courses.service import assignments_for
from server.grading.models import Attempt, AttemptOutcome, Job, JobKind, JobState, Result, Step
from server.grading.result_columns import NOT_RELIED_ON
from server.staff.roster.service import is_called
from server.submissions.counted_submission import due_for
from server.submissions.models import Mode, Submission
from server.submissions.service import CPU
from server.submissions.verdicts import latest_job_id

PAGE = 50

_Latest = aliased(Job)
_Judged = aliased(Job)


@dataclass(frozen=True, slots=True)
class Asked:
    """Which; "" for any.

    assignment: its name in addresses; student: a part of a name or email; late: "yes" or "no"
    device: the class that it is to be measured on, or CPU
    one: the public id of a single one
    worker: how the name begins of one that had a part in the present verdict
    since, until: when it was handed in
    """

    assignment: str = ""
    student: str = ""
    verdict: str = ""
    state: str = ""
    mode: str = ""
    late: str = ""
    one: str = ""
    worker: str = ""
    since: datetime | None = None
    until: datetime | None = None
    device: str = ""

    @property
    def narrowed(self) -> str:
        """What of an assignment it is, for who reads of it later. Nobody is named: that outlives who may be erased."""
        said = (
            ("verdict", self.verdict.replace("_", " ")), ("state", self.state), ("mode", self.mode),
            ("late", self.late), ("submission", self.one), ("worker", self.worker), ("measured on", self.device),
            ("students", "by name" if self.student else ""), ("submitted from", _minute(self.since)),
            ("until", _minute(self.until)),
        )  # fmt: skip
        return ", ".join(f"{name} {value}" for name, value in said if value)


@dataclass(frozen=True, slots=True)
class Row:
    """One submission in the list. state: of the last job; regraded: whether that is a regrade.

    not_ranked: why its measurement stands on no board; "" where it may, or there is none
    """

    public_id: str
    assignment: str
    title: str
    person_id: int
    student: str
    email: str
    mode: Mode
    created_at: datetime
    late: bool
    state: JobState
    regraded: bool
    verdict: Verdict | None
    gflops: float | None
    not_ranked: str


@dataclass(frozen=True, slots=True)
class Part:
    """A page of the list. after: what the next page is asked for with; "" where this is the last."""

    rows: tuple[Row, ...]
    after: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """A submission that a filter fits, as far as grading it again is concerned. waits: it is to be graded anyway."""

    number: int
    assignment_id: int
    waits: bool


def listing(session: Session, course_id: int, asked: Asked, after: str = "", limit: int = PAGE) -> Part:
    """The newest first; after: from `Part.after`, or anything else for the beginning."""
    parts = _parts(session, course_id, asked)
    if not parts:
        return Part((), "")
    cursor = _cursor(session, after)
    order = (Submission.created_at.desc(), Submission.id.desc())
    some = []
    for query in parts:
        earlier = query if cursor is None else query.where(cursor)
        some.append(earlier.order_by(*order).limit(limit + 1).subquery())
    together = union_all(*(select(each) for each in some)).subquery()
    # of each assignment the newest, by its index; then the newest of those
    first = select(together.c.id).order_by(together.c.created_at.desc(), together.c.id.desc())
    numbers = session.scalars(first.limit(limit + 1)).all()
    rows = _rows(session, numbers[:limit])
    return Part(rows, rows[-1].public_id if len(numbers) > limit else "")


def chosen(
    session: Session, course_id: int, asked: Asked, after: int, newest: int | None, most: int | None
) -> list[Chosen]:
    """Those that a filter fits, the first handed in first, up to so many.

    after, newest: numbers of submissions, between which they are; newest: None for any
    """
    parts = _parts(session, course_id, asked)
    if not parts:
        return []
    numbers = union_all(*(select(query.subquery().c.id) for query in parts)).subquery()
    judged_by, judges_now = aliased(Exercise), aliased(Exercise)
    latest = (
        select(Submission.id, Submission.assignment_id, Job.state, judged_by.digest, judges_now.digest)
        .join(Job, Job.submission_id == Submission.id)
        .join(judged_by, judged_by.id == Job.exercise_id)
        .join(Assignment, Assignment.id == Submission.assignment_id)
        .join(judges_now, judges_now.id == Assignment.exercise_id)
        .where(Submission.id.in_(select(numbers.c.id)), Job.id == latest_job_id(), Submission.id > after)
        .order_by(Submission.id)
        .limit(most)
    )  # fmt: skip
    if newest is not None:
        latest = latest.where(Submission.id <= newest)
    found: list[Chosen] = []
    for number, assignment, state, then, now in session.execute(latest):
        waits = state in {JobState.QUEUED, JobState.RUNNING} and then == now
        found.append(Chosen(number, assignment, waits))
    return found


def newest(session: Session) -> int:
    """The number of the submission that came last."""
    return session.scalar(select(func.max(Submission.id))) or 0


def _parts(session: Session, course_id: int, asked: Asked) -> list[Select[*tuple[Any, ...]]]:
    """One query for each assignment in question: numbers and moments of what fits."""
    found = assignments_for(session, course_id, Role.INSTRUCTOR)
    wanted = [one for one in found if asked.assignment in {"", one.slug}]
    people = _people(session, course_id, asked.student)
    if people is not None and not people:
        return []
    return [_part(one, asked, people) for one in wanted]


def _part(assignment: Assignment, asked: Asked, people: Sequence[int] | None) -> Select[*tuple[Any, ...]]:
    query: Select[*tuple[Any, ...]] = select(Submission.id, Submission.created_at)
    query = query.where(Submission.assignment_id == assignment.id)
    if people is not None:
        # written into the statement: a course may have more people than a statement has places for parameters
        numbers = bindparam(None, people, Submission.person_id.type, expanding=True, literal_execute=True)
        query = query.where(Submission.person_id.in_(numbers))
    if asked.one:
        query = query.where(Submission.public_id == asked.one)
    if asked.since is not None:
        query = query.where(Submission.created_at >= asked.since)
    if asked.until is not None:
        query = query.where(Submission.created_at <= asked.until)
    if asked.mode:
        query = query.where(Submission.mode == Mode(asked.mode))
    if asked.device:
        measured_on = "" if asked.device == CPU else asked.device
        query = query.where(Submission.device_class == measured_on)
    if asked.late:
        query = _by_lateness(query, assignment, late=asked.late == "yes")
    if asked.state:
        query = query.join(_Latest, _Latest.id == latest_job_id()).where(
            _Latest.state == JobState(asked.state)
        )
    if asked.verdict or asked.worker:
        query = query.join(_Judged, _Judged.id == Submission.judged_job_id)
    if asked.verdict:
        query = query.where(_Judged.verdict == Verdict(asked.verdict))
    if asked.worker:
        query = query.where(_had_a_part(asked.worker))
    return query


def _had_a_part(worker: str) -> ColumnElement[bool]:
    """Whether a worker whose name begins so did a step of what the verdict is of."""
    return (
        exists()
        .where(
            Step.job_id == _Judged.id,
            Attempt.step_id == Step.id,
            Attempt.outcome.in_([AttemptOutcome.DONE, AttemptOutcome.FAULT]),
            Attempt.worker.startswith(worker, autoescape=True),
        )
        .correlate(_Judged)
    )


def _by_lateness(
    query: Select[*tuple[Any, ...]], assignment: Assignment, *, late: bool
) -> Select[*tuple[Any, ...]]:
    own = (Extension.assignment_id == Submission.assignment_id) & (
        Extension.person_id == Submission.person_id
    )
    usual = literal(assignment.due_at, Assignment.due_at.type)
    due = case(
        (Extension.due_at > usual, Extension.due_at), else_=usual
    )  # as server.submissions.counted_submission.due_for
    joined = query.outerjoin(Extension, own)
    if late:
        return joined.where(Submission.created_at > due)
    return joined.where(or_(due.is_(None), Submission.created_at <= due))


def _people(session: Session, course_id: int, text: str) -> Sequence[int] | None:
    """Who has that email, else whose name or email holds that; None for everybody's.

    Here and not in the database: no two of them know alike what small letters are.
    """
    if not text:
        return None
    query = (
        select(Person.id, Person.name, Person.email)
        .join(Membership, Membership.person_id == Person.id)
        .where(Membership.course_id == course_id)
    )
    members = session.execute(query).all()
    alone = [number for number, _, email in members if email == text.lower()]
    return alone or [number for number, name, email in members if is_called(text, name, email)]


def _cursor(session: Session, after: str) -> ColumnElement[bool] | None:
    if not after.isalnum() or not after.isascii():
        return None
    last = session.execute(
        select(Submission.created_at, Submission.id).where(Submission.public_id == after)
    ).one_or_none()
    if last is None:
        return None
    moment = literal(last.created_at, Submission.created_at.type)
    return tuple_(Submission.created_at, Submission.id) < tuple_(moment, literal(last.id))


def _rows(session: Session, numbers: Sequence[int]) -> tuple[Row, ...]:
    query = (
        select(Submission, Assignment, Person, Extension, _Latest, _Judged.verdict, Result)
        .join(Assignment, Assignment.id == Submission.assignment_id)
        .join(Person, Person.id == Submission.person_id)
        .outerjoin(
            Extension,
            (Extension.assignment_id == Submission.assignment_id)
            & (Extension.person_id == Submission.person_id),
        )
        .join(_Latest, _Latest.id == latest_job_id())
        .outerjoin(_Judged, _Judged.id == Submission.judged_job_id)
        .outerjoin(Result, Result.job_id == _Judged.id)
        .where(Submission.id.in_(numbers))
        .order_by(Submission.created_at.desc(), Submission.id.desc())
    )
    return tuple(_row(*found) for found in session.execute(query))


def _row(
    submission: Submission,
    assignment: Assignment,
    person: Person,
    extension: Extension | None,
    job: Job,
    verdict: Verdict | None,
    result: Result | None,
) -> Row:
    gflops = None if result is None else result.gflops
    not_ranked = ""
    if result is not None and gflops is not None and not result.ranked:
        not_ranked = result.not_ranked or NOT_RELIED_ON
    due = due_for(assignment, extension).due_at
    return Row(
        submission.public_id, assignment.slug, assignment.title, person.id, person.name, person.email,
        submission.mode, submission.created_at, due is not None and submission.created_at > due, job.state,
        job.kind is JobKind.REGRADE, verdict, gflops, not_ranked,
    )  # fmt: skip


def _minute(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
