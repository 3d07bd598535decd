"""Answer a regrade request, and do what was asked for."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.courses.models import Role
from server.courses.service import CourseError, role_in
from server.staff.acts.act import Mistakes, assignment_target
from server.staff.grades.corrections import CORRECTION, Decision
from server.staff.submissions.staging import stage
from server.talk.models import RegradeRequest
from server.talk.requests.service import answer_request


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
    """Grant a request, and give the student these points for the assignment; raises CourseError.

    confirmed: of the losses of points, see `losses_confirmed`; raises UnconfirmedPoints
    """
    submission = request.submission
    assignment, student = submission.assignment, submission.person_id
    if actor is not None and role_in(session, actor.id, assignment.course_id) is not Role.INSTRUCTOR:
        raise CourseError("Only an instructor can set points.", ["points"])
    answer_request(session, request, actor, granted=True, answer=answer)

    def decide(now: Decision) -> Decision:
        return replace(now, score=points, excused=False, reason=f"request {request.id}")

    try:
        CORRECTION.carry_out(session, assignment_target(assignment, student), actor, decide, confirmed)
    except Mistakes as wrong:
        raise CourseError(str(wrong), ["points"]) from None
