"""Find submissions that a person may see."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.courses.service import is_staff, role_in
from server.database.engine import Sessions
from server.submissions.models import Submission


def visible_submission(session: Session, person_id: int, public_id: str) -> Submission | None:
    """The submission, for course staff and for its owner while in the course; None for anyone else."""
    if not public_id.isascii() or not public_id.isalnum():
        return None
    found = session.scalar(select(Submission).where(Submission.public_id == public_id))
    if found is None:
        return None
    role = role_in(session, person_id, found.assignment.course_id)
    return found if is_staff(role) or (role is not None and found.person_id == person_id) else None


def may_still_see(sessions: Sessions, who: Callable[[Session], int | None], public_id: str) -> Callable[[], bool]:
    """A function that tells whether a person may still see a submission, long after the request.

    who: finds the person by the request's session or token; None if it is no longer valid
    """

    def may_see() -> bool:
        with sessions.begin() as session:
            person = who(session)
            return person is not None and visible_submission(session, person, public_id) is not None

    return may_see
