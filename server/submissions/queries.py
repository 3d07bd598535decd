"""Find submissions that a person may see, and page through a person's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from sqlalchemy import Select, bindparam, select
from sqlalchemy.orm import Session, aliased, contains_eager, joinedload, selectinload

from kernels.verdict import Verdict
from server.accounts.access import existing, viewer
from server.accounts.models import Person
from server.courses.models import Assignment, Membership, Role
from server.courses.service import is_staff, role_from, visible_assignment, with_role
from server.database.base import BigId
from server.database.engine import Sessions
from server.fields import Range, Text
from server.grading.metric import metric_of
from server.grading.models import Job, JobState, Result
from server.http.problems import Refused
from server.submissions.models import Mode, Submission
from server.submissions.new_submission import ASSIGNMENT
from server.submissions.result.worth import points_by_submission
from server.submissions.verdicts import latest_job_id
from server.teams.credit import belongs_to, in_teams, is_for
from worker.contract.answers import Measured


def source_of(submission: Submission) -> bytes:
    """The source as it was submitted; raises Refused if it was removed."""
    if submission.removed:
        raise Refused(410, "source_removed", "The source was removed", submission.removed)
    return submission.source.content


def visible_submission(session: Session, person_id: int, public_id: str) -> Submission | None:
    """The submission, for course staff, its author and its team while in the course; None for anyone else."""
    found = visible_row(session, NAMED, person_id, public_id)
    return None if found is None else found[0]


def visible_row(
    session: Session, query: Select[Any], person_id: int, public_id: str
) -> tuple[Submission, Role, Sequence[Any]] | None:
    """The same with the person's role in the course, and the columns that `query` has after those of NAMED."""
    if not public_id.isascii() or not public_id.isalnum():
        return None
    found = session.execute(query, {"public_id": public_id, "person": person_id}).one_or_none()
    if found is None:
        return None
    submission, admin, seat, *more = found
    role = role_from(admin, seat)
    if role is None or not (is_staff(role) or is_for(session, submission, person_id)):
        return None
    return submission, role, more


def _named() -> Select[Any]:
    known = contains_eager(Submission.assignment).options(contains_eager(Assignment.course))
    named = select(Submission).select_from(Submission).join(Submission.assignment).join(Assignment.course)
    query = with_role(named.options(known), bindparam("person", type_=BigId), Assignment.course_id.expression)
    return query.where(Submission.public_id == bindparam("public_id"))


NAMED = _named()
"""The query of a submission with its assignment and course, and the role of a person in it."""


def submission_of_page(session: Session, public_id: str) -> Submission:
    """The submission of the viewer's page; raises Refused if they may not see it."""
    return existing(visible_submission(session, viewer().id, public_id))


def may_still_see(sessions: Sessions, who: Callable[[Session], int | None], public_id: str) -> Callable[[], bool]:
    """A function that tells whether a person may still see a submission, long after the request.

    who: finds the person by the request's session or token; None if it is no longer valid
    """

    def may_see() -> bool:
        with sessions.begin() as session:
            person = who(session)
            return person is not None and visible_submission(session, person, public_id) is not None

    return may_see


PUBLIC_ID = Annotated[str, Text("[0-9a-zA-Z]{1,32}")]


@dataclass(frozen=True, slots=True)
class OwnQuery:
    """The submissions to return.

    assignment: only submissions to COURSE/ASSIGNMENT
    before: only submissions made before this one, such as the last one of the previous page
    limit: the number of submissions
    """

    assignment: Annotated[str, Text(ASSIGNMENT)] | None = None
    before: PUBLIC_ID | None = None
    limit: Annotated[int, Range(1, 100)] = 20


@dataclass(frozen=True, slots=True)
class OwnLineAnswer:
    """A submission in a list; `url` has the details.

    state: queued, running, done or cancelled; a regrade starts again at queued
    verdict: None until the first verdict; measured: None if nothing was measured
    points: as on its page; None for none or not released yet
    most_points: of the assignment; 0 if it has no points
    """

    id: str
    url: str
    assignment: str
    mode: Mode
    device_class: str
    created_at: datetime
    state: JobState
    verdict: Verdict | None
    measured: Measured | None
    points: float | None
    most_points: float


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """Your submissions, the latest first. next: the URL of the next page; None on the last."""

    submissions: tuple[OwnLineAnswer, ...]
    next: str | None


def own_submissions(session: Session, person: int, asked: OwnQuery) -> tuple[list[OwnLineAnswer], bool] | None:
    """One page, and whether more follow; None if the named assignment or submission doesn't exist."""
    mine = belongs_to(person) if in_teams(session, person) else Submission.person_id == person
    wanted = (
        select(Submission)
        .where(mine, Submission.assignment_id.in_(_visible(session, person)))
        .options(
            joinedload(Submission.assignment).options(joinedload(Assignment.course), selectinload(Assignment.exercise))
        )
        .order_by(Submission.id.desc())
        .limit(asked.limit + 1)
    )
    if asked.assignment is not None:
        visible = visible_assignment(session, person, asked.assignment, datetime.now(UTC))
        if visible is None:
            return None
        assignment, _ = visible
        wanted = wanted.where(Submission.assignment_id == assignment.id)
    if asked.before is not None:
        last = session.scalar(select(Submission.id).where(Submission.public_id == asked.before, mine))
        if last is None:
            return None
        wanted = wanted.where(Submission.id < last)
    rows = session.scalars(wanted).all()
    shown = rows[: asked.limit]
    return _lines(session, person, shown), len(rows) > len(shown)


def _visible(session: Session, person: int) -> Select[int]:
    every = select(Assignment.id)
    if session.scalar(select(Person.admin).where(Person.id == person)):
        return every
    theirs = (Membership.person_id == person, Membership.dropped_at.is_(None))
    return every.join(Membership, Membership.course_id == Assignment.course_id).where(*theirs)


def _lines(session: Session, person: int, submissions: Sequence[Submission]) -> list[OwnLineAnswer]:
    latest, judged = aliased(Job), aliased(Job)
    query = (
        select(Submission.id, latest.state, judged.verdict, Result)
        .select_from(Submission)
        .join(latest, latest.id == latest_job_id())
        .outerjoin(judged, judged.id == Submission.judged_job_id)
        .outerjoin(Result, Result.job_id == judged.id)
        .where(Submission.id.in_([row.id for row in submissions]))
    )
    found = {number: (state, verdict, result) for number, state, verdict, result in session.execute(query)}
    assignments = {row.assignment_id: row.assignment for row in submissions}
    points = points_by_submission(
        session, assignments.values(), person, [row.id for row in submissions], datetime.now(UTC)
    )
    return [_line(row, *found[row.id], points.get(row.id)) for row in submissions]


def _line(
    row: Submission, state: JobState, verdict: Verdict | None, measured: Result | None, points: float | None
) -> OwnLineAnswer:
    return OwnLineAnswer(
        id=row.public_id,
        url=f"/api/v1/submissions/{row.public_id}",
        assignment=row.assignment.name,
        mode=row.mode,
        device_class=row.device_class,
        created_at=row.created_at,
        state=state,
        verdict=verdict,
        measured=None
        if measured is None or measured.ms_median is None
        else Measured(
            measured.gflops,
            measured.gbps,
            measured.melements,
            measured.ms_median,
            measured.cublas_share,
            metric_of(row.assignment.exercise),
        ),
        points=points,
        most_points=row.assignment.most_points,
    )
