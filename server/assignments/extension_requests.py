"""Ask for more time, take the request back, and answer it. The audit never has the reason or the answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from server.accounts.models import Person
from server.acts.act import Mistakes, assignment_target
from server.assignments.extensions import EXTENSION, Grant
from server.audit.service import note
from server.courses.models import Assignment, Course, Extension, Role
from server.courses.service import CourseError, hold_course, role_in
from server.regrades.requests import plain, settle
from server.submissions.allowance import deadlines_of
from server.talk.models import ExtensionRequest

AFTER_CLOSE = timedelta(days=7)
"""How long after the student's closing time a request is possible."""

FURTHEST = timedelta(days=366)


def deadline_of(session: Session, assignment: Assignment, person: int) -> datetime | None:
    """The deadline that an extension moves: the student's due time, otherwise their closing time."""
    found = deadlines_of(session, assignment, person)
    return found.due_at or found.closes_at


def why_not(session: Session, assignment: Assignment, person: int, now: datetime) -> str:
    """Why this person can't ask for more time now; "" if nothing prevents it."""
    if role_in(session, person, assignment.course_id) is not Role.STUDENT:
        return "Only students of the course can ask for an extension."
    if session.scalar(select(Course.archived_at).where(Course.id == assignment.course_id)) is not None:
        return "This course is archived."
    if deadline_of(session, assignment, person) is None:
        return "This assignment has no deadline."
    closes_at = deadlines_of(session, assignment, person).closes_at
    if closes_at is not None and now > closes_at + AFTER_CLOSE:
        return f"This assignment closed over {AFTER_CLOSE.days} days ago. Talk to your course staff."
    if open_request(session, assignment.id, person) is not None:
        return "Your request is open. Wait for the answer, or withdraw it."
    return ""


def request_extension(
    session: Session,
    assignment: Assignment,
    student: Person,
    wanted_at: datetime,
    reason: str,
    now: datetime | None = None,
) -> ExtensionRequest:
    """Ask course staff for more time, as a student; raises CourseError."""
    moment = now or datetime.now(UTC)
    written = plain(reason)
    if not written:
        raise CourseError("Enter a reason.", ["reason"])
    hold_course(session, assignment.course_id)
    wrong = why_not(session, assignment, student.id, moment)
    if wrong:
        raise CourseError(wrong, ["reason"])
    deadline = deadline_of(session, assignment, student.id)
    assert deadline is not None, "why_not refuses it"
    if wanted_at <= max(deadline, moment):
        raise CourseError("Enter a time in the future, after your present deadline.", ["wanted"])
    if wanted_at > max(deadline, moment) + FURTHEST:
        raise CourseError("Enter a time within a year.", ["wanted"])
    made = ExtensionRequest(
        assignment_id=assignment.id, person_id=student.id, wanted_at=wanted_at, reason=written, created_at=moment
    )
    session.add(made)
    session.flush()
    return made


def withdraw_request(session: Session, assignment: Assignment, person: int) -> bool:
    """Remove a student's open request; False if there is none."""
    hold_course(session, assignment.course_id)
    found = open_request(session, assignment.id, person)
    if found is None:
        return False
    session.refresh(found, with_for_update={"of": ExtensionRequest})
    if found.answered_at is not None:
        return False
    session.delete(found)
    return True


def refuse_request(
    session: Session, request: ExtensionRequest, actor: Person | None, answer: str, now: datetime | None = None
) -> None:
    """Refuse a request, as an instructor; raises CourseError."""
    moment, assignment = now or datetime.now(UTC), request.assignment
    answer_request(session, request, actor, granted=False, answer=answer, now=moment)
    note(
        session, actor, "extension.refused", f"assignment {assignment.name}", now=moment,
        course_id=assignment.course_id, person=request.person_id,
    )  # fmt: skip


def answer_request(
    session: Session, request: ExtensionRequest, actor: Person | None, *, granted: bool, answer: str, now: datetime
) -> None:
    """Store the answer; raises CourseError. Grants no extension and writes no audit.

    actor: None for the command line
    """
    course = request.assignment.course_id
    hold_course(session, course)
    if actor is not None and role_in(session, actor.id, course) is not Role.INSTRUCTOR:
        raise CourseError("Only an instructor can answer extension requests.")
    settle(session, request, actor, granted=granted, answer=answer, now=now)
    request.news_since = now


def open_request(session: Session, assignment: int, person: int) -> ExtensionRequest | None:
    """A student's open request for an assignment."""
    return next((one for one in requests_by(session, assignment, person) if one.answered_at is None), None)


def requests_by(session: Session, assignment: int, person: int) -> Sequence[ExtensionRequest]:
    """A student's requests for an assignment, the newest first."""
    query = select(ExtensionRequest).where(
        ExtensionRequest.assignment_id == assignment, ExtensionRequest.person_id == person
    )
    return session.scalars(
        query.options(joinedload(ExtensionRequest.answerer)).order_by(ExtensionRequest.id.desc())
    ).all()


def open_requests(session: Session, assignments: Sequence[int], limit: int) -> Sequence[ExtensionRequest]:
    """The open requests for these assignments, the oldest first."""
    query = select(ExtensionRequest).where(
        ExtensionRequest.assignment_id.in_(assignments), ExtensionRequest.answered_at.is_(None)
    )
    return session.scalars(
        query.options(joinedload(ExtensionRequest.person), joinedload(ExtensionRequest.assignment))
        .order_by(ExtensionRequest.id)
        .limit(limit)
    ).all()


def count_open(session: Session, assignments: Sequence[int]) -> dict[int, int]:
    """How many open requests each of these assignments has; an assignment without any is absent."""
    query = select(ExtensionRequest.assignment_id, func.count()).where(
        ExtensionRequest.assignment_id.in_(assignments), ExtensionRequest.answered_at.is_(None)
    )
    return dict(session.execute(query.group_by(ExtensionRequest.assignment_id)).all())


def find_request(session: Session, course_id: int, number: int) -> ExtensionRequest | None:
    """A request of this course; None for none."""
    return session.scalar(
        select(ExtensionRequest)
        .join(ExtensionRequest.assignment)
        .where(ExtensionRequest.id == number, Assignment.course_id == course_id)
    )


def grant_request(
    session: Session,
    request: ExtensionRequest,
    actor: Person | None,
    answer: str,
    confirmed: str,
    until: datetime | None = None,
    now: datetime | None = None,
) -> None:
    """Grant a request, as an instructor; raises CourseError, UnconfirmedPoints. The student keeps extra attempts.

    until: the new deadline; None for the requested one
    """
    moment, until = now or datetime.now(UTC), until or request.wanted_at
    assignment, person = request.assignment, request.person_id
    answer_request(session, request, actor, granted=True, answer=answer, now=moment)
    due = assignment.due_at is not None
    before = session.get(Extension, (assignment.id, person))
    closes_at = None if before is None else before.closes_at
    if closes_at is not None and (closes_at < until or assignment.closes_at is None):
        closes_at = None
    given = Grant(
        due_at=until if due else None,
        closes_at=closes_at if due else until,
        extra_attempts=0 if before is None else before.extra_attempts,
        reason=f"request {request.id}",
    )
    try:
        EXTENSION.carry_out(session, assignment_target(assignment, person), actor, lambda _: given, confirmed)
    except Mistakes as wrong:
        raise CourseError(str(wrong), ["until"]) from None
