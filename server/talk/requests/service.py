"""Ask for a regrade, and answer. The audit records answers of course staff, without their text."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Course
from server.courses.service import CourseError, hold_course, is_staff, role_in
from server.submissions.models import Mode, Submission
from server.talk.models import LONGEST_REQUEST, ExtensionRequest, RegradeRequest
from server.text import storable

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
    if submission.person_id != student or role_in(session, student, course) is None:
        return "Only its owner can ask for a regrade of a submission."
    if session.scalar(select(Course.archived_at).where(Course.id == course)) is not None:
        return "This course is archived, so its grades don’t change any more."
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
