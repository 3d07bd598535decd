"""Grant an extension that a student asked for."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.courses.models import Extension
from server.courses.service import CourseError
from server.staff.acts.act import Mistakes, assignment_target
from server.staff.assignments.extensions import EXTENSION, Grant
from server.talk.extension_requests.service import answer_request
from server.talk.models import ExtensionRequest


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
