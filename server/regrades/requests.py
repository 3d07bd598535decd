"""Ask for a regrade, and answer. The audit records answers of course staff, without their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session, joinedload

from server.accounts.models import Person
from server.acts.act import Mistakes, assignment_target
from server.audit.service import note
from server.courses.models import Assignment, Course, Membership, Role
from server.courses.service import CourseError, hold_course, is_staff, role_in
from server.grades.corrections import CORRECTION, Decision
from server.grades.losses import CONFIRMED, losses_confirmed, students
from server.regrades.staging import stage
from server.submissions.models import Mode, Submission
from server.talk.models import LONGEST_REQUEST, ExtensionRequest, RegradeRequest
from server.teams.credit import is_for, people_of
from server.text import storable


def requests_for(session: Session, submission_id: int) -> Sequence[RegradeRequest]:
    """The requests for a submission, the newest first."""
    query = select(RegradeRequest).where(RegradeRequest.submission_id == submission_id)
    return session.scalars(query.options(joinedload(RegradeRequest.answerer)).order_by(RegradeRequest.id.desc())).all()


def requests_in(
    session: Session, course_id: int, limit: int, *, answered: bool = False
) -> tuple[Sequence[RegradeRequest], int]:
    """The open requests of a course, the oldest first, or the newest answered ones; and how many there are."""
    found = (
        select(RegradeRequest)
        .join(RegradeRequest.submission)
        .join(Submission.assignment)
        .where(*_of(course_id, answered=answered))
    )
    newest = RegradeRequest.id.desc() if answered else RegradeRequest.id
    rows = session.scalars(
        found.options(
            joinedload(RegradeRequest.submission).joinedload(Submission.assignment),
            joinedload(RegradeRequest.submission).joinedload(Submission.person),
            joinedload(RegradeRequest.answerer),
        )
        .order_by(newest)
        .limit(limit)
    ).all()
    return rows, count_requests(session, course_id, answered=answered)


def count_requests(session: Session, course_id: int, *, answered: bool = False) -> int:
    """How many open or answered requests a course has."""
    query = select(func.count()).select_from(RegradeRequest).join(RegradeRequest.submission)
    return session.scalar(query.join(Submission.assignment).where(*_of(course_id, answered=answered))) or 0


def _of(course_id: int, *, answered: bool) -> tuple[ColumnElement[bool], ...]:
    at = RegradeRequest.answered_at
    return Assignment.course_id == course_id, at.is_not(None) if answered else at.is_(None)


def find_request(session: Session, course_id: int, number: int) -> RegradeRequest | None:
    """A request of this course; None for none."""
    return session.scalar(
        select(RegradeRequest)
        .join(RegradeRequest.submission)
        .join(Submission.assignment)
        .where(RegradeRequest.id == number, Assignment.course_id == course_id)
    )


MOST_REQUESTS = 3
"""For one submission."""


def request_regrade(
    session: Session, submission: Submission, student: Person, reason: str, now: datetime | None = None
) -> RegradeRequest:
    """Ask course staff to look at a submission's grade again, as its owner; raises CourseError."""
    moment = now or datetime.now(UTC)
    written = plain(reason)
    if not written:
        raise CourseError("Enter a reason.", ["reason"])
    hold_course(session, submission.assignment.course_id)
    wrong = why_not(session, submission, student.id)
    if wrong:
        raise CourseError(wrong, ["reason"])
    made = RegradeRequest(submission_id=submission.id, reason=written, created_at=moment)
    session.add(made)
    session.flush()
    return made


def why_not(session: Session, submission: Submission, student: int) -> str:
    """Why this person can't ask for a regrade of this submission now; "" if nothing prevents it."""
    course = submission.assignment.course_id
    if not is_for(session, submission, student) or role_in(session, student, course) is None:
        return "Only its owner can ask for a regrade of a submission."
    if session.scalar(select(Course.archived_at).where(Course.id == course)) is not None:
        return "This course is archived, so its grades don’t change any more."
    if submission.removed:
        return submission.removed
    if submission.mode is not Mode.RANK:
        return "This was a check, so it has no grade."
    if submission.verdict is None:
        return "This submission isn’t graded yet."
    asked, still = session.execute(
        select(func.count(), func.count().filter(RegradeRequest.answered_at.is_(None))).where(
            RegradeRequest.submission_id == submission.id
        )
    ).one()
    if still:
        return "Your request is open. Wait for the answer."
    if asked >= MOST_REQUESTS:
        return f"You asked {MOST_REQUESTS} times for this submission. Talk to your course staff."
    return ""


def answer_request(
    session: Session,
    request: RegradeRequest,
    actor: Person | None,
    *,
    granted: bool,
    answer: str,
    now: datetime | None = None,
) -> None:
    """Answer a request, as course staff; raises CourseError. Changes no grade.

    actor: None for the command line
    """
    moment = now or datetime.now(UTC)
    submission = request.submission
    course = submission.assignment.course_id
    hold_course(session, course)
    if actor is not None and not is_staff(role_in(session, actor.id, course)):
        raise CourseError("Only course staff can answer requests.")
    settle(session, request, actor, granted=granted, answer=answer, now=moment)
    submission.news_since = moment
    what = "granted" if granted else "refused"
    subject = f"submission {submission.public_id}"
    note(session, actor, f"request.{what}", subject, now=moment, course_id=course, request=request.id)


def settle(
    session: Session,
    request: RegradeRequest | ExtensionRequest,
    actor: Person | None,
    *,
    granted: bool,
    answer: str,
    now: datetime,
) -> None:
    """Store the answer to a request whose course is locked; raises CourseError if it has one already."""
    session.refresh(request, with_for_update={"of": type(request)})
    if request.answered_at is not None:
        raise CourseError("This request is answered already.")
    written = plain(answer)
    if not granted and not written:
        raise CourseError("Enter an answer: the student should know why.", ["answer"])
    request.granted, request.answer, request.answered_at = granted, written, now
    request.answered_by = None if actor is None else actor.id


def plain(text: str) -> str:
    """Prepare a text for storage; raises CourseError if it is too long."""
    written = storable(text[: 2 * LONGEST_REQUEST]).replace("\r\n", "\n").strip()
    if len(written) > LONGEST_REQUEST:
        raise CourseError(f"This text is too long. The limit is {LONGEST_REQUEST:,} characters.")
    return written


def refuse(session: Session, request: RegradeRequest, actor: Person | None, answer: str) -> None:
    """Refuse a request; raises CourseError."""
    answer_request(session, request, actor, granted=False, answer=answer)


def grant_regrade(session: Session, request: RegradeRequest, actor: Person | None, answer: str) -> None:
    """Grant a request, and stage a regrade of its submission; raises CourseError.

    Nothing changes until course staff apply the staged regrade.
    """
    answer_request(session, request, actor, granted=True, answer=answer)
    submission = request.submission
    by = f"request {request.id}"
    if not stage(session, submission.assignment, actor, [submission.id], by):
        raise CourseError("This submission is being regraded already. Answer once it is over.")


def grant_points(
    session: Session, request: RegradeRequest, actor: Person | None, answer: str, points: float, confirmed: str
) -> None:
    """Grant a request, and give all students for whom the submission counts these points; raises CourseError.

    confirmed: of the losses of points, see `losses_confirmed`; raises UnconfirmedPoints
    """
    submission = request.submission
    assignment, people = submission.assignment, people_of(session, submission)
    if actor is not None and role_in(session, actor.id, assignment.course_id) is not Role.INSTRUCTOR:
        raise CourseError("Only an instructor can set points.", ["points"])
    answer_request(session, request, actor, granted=True, answer=answer)

    def decide(now: Decision) -> Decision:
        return replace(now, score=points, excused=False, reason=f"request {request.id}")

    whose = session.scalars(students(assignment).where(Membership.person_id.in_(people))).all() or people[:1]
    try:
        with losses_confirmed(session, assignment, confirmed, whose[0] if len(whose) == 1 else None):
            for student in whose:
                CORRECTION.carry_out(session, assignment_target(assignment, student), actor, decide, CONFIRMED)
    except Mistakes as wrong:
        raise CourseError(str(wrong), ["points"]) from None
