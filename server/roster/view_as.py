"""View a course as one of its students: read-only, and only pages of this course."""

from __future__ import annotations

from flask import request
from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts import browser_sessions
from server.accounts.access import Viewer, Viewing
from server.accounts.browser_sessions import SignedIn
from server.accounts.models import BrowserSession, Person
from server.audit.service import note
from server.courses.models import Course, Role
from server.courses.service import CourseError, is_staff, role_in
from server.experiments.queries import visible_experiment
from server.submissions.models import Submission
from server.teams.credit import is_for

_BLUEPRINTS = {
    "announcement_pages",
    "comment_pages",
    "courses",
    "experiments_pages",
    "extension_pages",
    "history_pages",
    "request_pages",
    "standings_pages",
    "submissions_pages",
    "team_pages",
}
_OWN = {"staff.stop_viewing", "accounts.leave"}
"""Forms that stay the real person's own."""


def begin_view(session: Session, course_id: int, actor: Person, session_id: int, person_id: int) -> None:
    """Begin a view; raises CourseError if the person isn't a student of the course."""
    if _student(session, course_id, person_id) is None:
        raise CourseError("You can view a course only as one of its students.")
    browser_sessions.view_as(session, session_id, person_id, course_id)
    note(session, actor, "member.viewed_as", f"person {person_id}", course_id=course_id)


def end_view(session: Session, course_id: int, actor: Person, session_id: int) -> int | None:
    """End the view; returns the student's ID, if still a student here."""
    viewed = session.scalar(select(BrowserSession.viewing_id).where(BrowserSession.id == session_id))
    browser_sessions.view_as(session, session_id, None, None)
    note(session, actor, "member.view_ended", f"person {actor.id}", course_id=course_id)
    return viewed if viewed is not None and _student(session, course_id, viewed) is not None else None


def view_as(session: Session, found: SignedIn) -> tuple[Viewer, bool] | None:
    """The student of the session's view, and whether the request belongs to it. None for the real person's own.

    Each request asks again whether the real person is staff of the course, and the other one a student.
    """
    if found.viewing is None or request.endpoint in _OWN:
        return None
    number, course_id = found.viewing
    course = session.get(Course, course_id)
    person = _student(session, course_id, number)
    if course is None or person is None or not is_staff(role_in(session, found.person_id, course_id)):
        return None
    allowed = request.method in {"GET", "HEAD"} and _belongs(session, course, number)
    viewing = Viewing(found.name, course.slug)
    return Viewer(
        person.id, person.name, person.email, False, person.time_zone, found.session_id, viewing=viewing
    ), allowed  # fmt: skip


def _student(session: Session, course_id: int, number: int) -> Person | None:
    person = session.get(Person, number)
    if person is None or person.erased_at is not None or person.admin:
        return None
    return person if role_in(session, number, course_id) is Role.STUDENT else None


def _belongs(session: Session, course: Course, student: int) -> bool:
    """Whether the page is one of the course that this student reads."""
    if request.blueprint not in _BLUEPRINTS:
        return False
    public_id = (request.view_args or {}).get("public_id")
    if public_id is None:
        return request.path.startswith(f"/courses/{course.slug}/")
    if request.path.startswith("/experiments/"):
        visible = visible_experiment(session, student, public_id)
        return visible is not None and visible.experiment.course_id == course.id
    found = session.scalar(select(Submission).where(Submission.public_id == public_id))
    return found is not None and is_for(session, found, student) and found.assignment.course_id == course.id
