"""A course's submissions: filtered, newest first, page by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import ColumnElement, Select, case, exists, func, literal, or_, select, tuple_, union_all
from sqlalchemy.orm import Session, aliased

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Accommodation, Assignment, Exercise, Extension, Membership, Role
from server.courses.service import assignments_for
from server.database.base import one_of
from server.fields import INTERNAL, JsonName
from server.grading.models import Attempt, AttemptOutcome, Job, JobKind, JobState, Result, Step
from server.grading.result_columns import NOT_RELIED_ON
from server.roster.service import is_called
from server.submissions.allowance import accommodations_in
from server.submissions.counted_submission import due_for
from server.submissions.criteria import SubmissionCriteria
from server.submissions.models import Mode, Submission
from server.submissions.service import CPU
from server.submissions.verdicts import latest_job_id
from server.teams.models import TeamMember

PAGE = 50

_Latest = aliased(Job)
_Judged = aliased(Job)


@dataclass(frozen=True, slots=True)
class CourseSubmission:
    """A submission in a course's list; `url` has the details.

    assignment: its short name
    late: whether it came after the student's own deadline
    state: queued, running, done or cancelled; regraded: whether a regrade is its latest grading
    verdict: None before the first verdict; gflops: None if not measured
    not_ranked: why its measurement isn't on the leaderboard; "" if it may be, or there is none
    """

    public_id: Annotated[str, JsonName("id")]
    url: str
    assignment: str
    title: Annotated[str, INTERNAL]
    person_id: Annotated[int, JsonName("person")]
    student: Annotated[str, JsonName("name")]
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
    """A page of the list. after: the argument for the next page; "" on the last page."""

    rows: tuple[CourseSubmission, ...]
    after: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """A submission that matches a filter, for regrading. waits: whether it waits to be graded in any case."""

    number: int
    assignment_id: int
    person_id: int
    waits: bool


def listing(session: Session, course_id: int, asked: SubmissionCriteria, after: str = "", limit: int = PAGE) -> Part:
    """The newest submissions first. after: from `Part.after`; an unknown value means the beginning."""
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
    # The newest of each assignment, by its index; then the newest of these.
    first = select(together.c.id).order_by(together.c.created_at.desc(), together.c.id.desc())
    numbers = session.scalars(first.limit(limit + 1)).all()
    rows = _rows(session, numbers[:limit])
    return Part(rows, rows[-1].public_id if len(numbers) > limit else "")


def chosen(
    session: Session, course_id: int, asked: SubmissionCriteria, after: int, newest: int | None, most: int | None
) -> list[Chosen]:
    """Matching submissions, oldest first, up to `most`.

    after: the ID before the first; newest: the largest ID, None for no limit
    """
    parts = _parts(session, course_id, asked)
    if not parts:
        return []
    numbers = union_all(*(select(query.subquery().c.id) for query in parts)).subquery()
    # Limited before the last job of each is looked up.
    first = select(numbers.c.id).where(numbers.c.id > after).order_by(numbers.c.id).limit(most)
    if newest is not None:
        first = first.where(numbers.c.id <= newest)
    judged_by, judges_now = aliased(Exercise), aliased(Exercise)
    latest = (
        select(
            Submission.id, Submission.assignment_id, Submission.person_id, Job.state, judged_by.digest,
            judges_now.digest,
        )
        .join(Job, Job.submission_id == Submission.id)
        .join(judged_by, judged_by.id == Job.exercise_id)
        .join(Assignment, Assignment.id == Submission.assignment_id)
        .join(judges_now, judges_now.id == Assignment.exercise_id)
        .where(Submission.id.in_(select(first.subquery().c.id)), Job.id == latest_job_id())
        .order_by(Submission.id)
    )  # fmt: skip
    found: list[Chosen] = []
    for number, assignment, person, state, then, now in session.execute(latest):
        waits = state in {JobState.QUEUED, JobState.RUNNING} and then == now
        found.append(Chosen(number, assignment, person, waits))
    return found


def newest(session: Session) -> int:
    """The ID of the latest submission."""
    return session.scalar(select(func.max(Submission.id))) or 0


def _parts(session: Session, course_id: int, asked: SubmissionCriteria) -> list[Select[*tuple[Any, ...]]]:
    """A query for each assignment of the filter: IDs and times of matching submissions."""
    assignments = assignments_for(session, course_id, Role.INSTRUCTOR)
    wanted = [assignment for assignment in assignments if asked.assignment in {"", assignment.slug}]
    people = _people(session, course_id, asked.student) if asked.person is None else [asked.person]
    if people is not None and not people:
        return []
    more_time = accommodations_in(session, course_id) if asked.late else {}
    return [_part(assignment, asked, people, more_time) for assignment in wanted]


def _part(
    assignment: Assignment,
    asked: SubmissionCriteria,
    people: Sequence[int] | None,
    more_time: Mapping[int, Accommodation],
) -> Select[*tuple[Any, ...]]:
    query: Select[*tuple[Any, ...]] = select(Submission.id, Submission.created_at)
    query = query.where(Submission.assignment_id == assignment.id)
    if people is not None:
        query = query.where(_by_any(assignment, people))
    if asked.submission:
        query = query.where(Submission.public_id == asked.submission)
    if asked.since is not None:
        query = query.where(Submission.created_at >= asked.since)
    if asked.until is not None:
        query = query.where(Submission.created_at <= asked.until)
    if asked.mode:
        query = query.where(Submission.mode == asked.mode)
    if asked.device:
        measured_on = "" if asked.device == CPU else asked.device
        query = query.where(Submission.device_class == measured_on)
    if asked.late:
        query = _by_lateness(query, assignment, more_time, late=asked.late == "yes")
    if asked.state:
        query = query.join(_Latest, _Latest.id == latest_job_id()).where(_Latest.state == asked.state)
    if asked.verdict or asked.worker:
        query = query.join(_Judged, _Judged.id == Submission.judged_job_id)
    if asked.verdict:
        query = query.where(_Judged.verdict == asked.verdict)
    if asked.worker:
        query = query.where(_had_a_part(asked.worker))
    return query


def _had_a_part(worker: str) -> ColumnElement[bool]:
    """Whether a worker with this prefix did a step of the current verdict."""
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


def _by_any(assignment: Assignment, people: Sequence[int]) -> ColumnElement[bool]:
    """Submissions of these people and their teams."""
    own = one_of(Submission.person_id, people)
    if assignment.team_size == 1:
        return own
    return or_(own, Submission.team_id.in_(select(TeamMember.team_id).where(one_of(TeamMember.person_id, people))))


def _by_lateness(
    query: Select[*tuple[Any, ...]], assignment: Assignment, more_time: Mapping[int, Accommodation], *, late: bool
) -> Select[*tuple[Any, ...]]:
    # As server.submissions.counted_submission.due_for, whose times with accommodations come in as values.
    own = (Extension.assignment_id == Submission.assignment_id) & (Extension.person_id == Submission.person_id)
    usual: ColumnElement[Any] = literal(assignment.due_at, Assignment.due_at.type)
    if more_time:
        own_times = {person: due_for(assignment, None, given).due_at for person, given in more_time.items()}
        times = {person: literal(at, Assignment.due_at.type) for person, at in own_times.items()}
        usual = case(times, value=Submission.person_id, else_=usual)
    due = case((Extension.due_at > usual, Extension.due_at), else_=usual)
    due = case((Submission.team_due_at > due, Submission.team_due_at), else_=due)
    joined = query.outerjoin(Extension, own)
    if late:
        return joined.where(Submission.created_at > due)
    return joined.where(or_(due.is_(None), Submission.created_at <= due))


def _people(session: Session, course_id: int, text: str) -> Sequence[int] | None:
    """The person with this email; otherwise everyone whose name or email contains the text; None for everyone.

    Compared here, because the databases disagree on what small letters are.
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


def _rows(session: Session, numbers: Sequence[int]) -> tuple[CourseSubmission, ...]:
    query = (
        select(Submission, Assignment, Person, Extension, Accommodation, _Latest, _Judged.verdict, Result)
        .join(Assignment, Assignment.id == Submission.assignment_id)
        .join(Person, Person.id == Submission.person_id)
        .outerjoin(
            Extension,
            (Extension.assignment_id == Submission.assignment_id) & (Extension.person_id == Submission.person_id),
        )
        .outerjoin(
            Accommodation,
            (Accommodation.course_id == Assignment.course_id) & (Accommodation.person_id == Submission.person_id),
        )
        .join(_Latest, _Latest.id == latest_job_id())
        .outerjoin(_Judged, _Judged.id == Submission.judged_job_id)
        .outerjoin(Result, Result.job_id == _Judged.id)
        .where(Submission.id.in_(numbers))
        .order_by(Submission.created_at.desc(), Submission.id.desc())
    )
    return tuple(_row(*row) for row in session.execute(query))


def _row(
    submission: Submission,
    assignment: Assignment,
    person: Person,
    extension: Extension | None,
    accommodation: Accommodation | None,
    job: Job,
    verdict: Verdict | None,
    result: Result | None,
) -> CourseSubmission:
    gflops = None if result is None else result.gflops
    not_ranked = ""
    if result is not None and gflops is not None and not result.ranked:
        not_ranked = result.not_ranked or NOT_RELIED_ON
    due = due_for(assignment, extension, accommodation).or_later(submission.team_due_at).due_at
    return CourseSubmission(
        submission.public_id, f"/api/v1/submissions/{submission.public_id}", assignment.slug, assignment.title,
        person.id, person.name, person.email, submission.mode, submission.created_at,
        due is not None and submission.created_at > due, job.state, job.kind is JobKind.REGRADE, verdict, gflops,
        not_ranked,
    )  # fmt: skip
