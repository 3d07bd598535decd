"""Create assignments."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from kernels.exercise import Exercise
from server.accounts.models import Person
from server.audit.service import note
from server.courses import service
from server.courses.exercises import Content
from server.courses.models import Assignment, Course
from server.courses.service import CourseError, Terms, assign
from server.staff.assignments.assignment_settings import AssignmentSettings, put_settings
from server.staff.assignments.device_choice import wrong_class
from server.submissions.rules.tiers import wrong_tiers

_COLUMNS = frozenset({"email", "name", "section", "total"})


def set_exercise(
    session: Session,
    course: Course,
    actor: Person | None,
    content: Content,
    terms: Terms,
    setting: AssignmentSettings,
    now: datetime | None = None,
) -> Assignment:
    """Create an assignment from an exercise; raises CourseError.

    terms: fixed parts; setting: changeable parts, valid ones
    """
    moment = now or datetime.now(UTC)
    name = content.exercise.name
    if (terms.slug or name) in _COLUMNS:
        raise CourseError(_a_column(terms.slug or name))
    made = assign(session, course, content, replace(terms, title=setting.title), moment)
    if wrong := wrong_tiers(made, setting.speed_by, setting.speed_tiers):
        raise CourseError(wrong, ["speed_tiers"])
    put_settings(session, made, replace(setting, title=made.title))
    note(
        session, actor, "assignment.created", f"assignment {course.slug}/{made.slug}", now=moment, course_id=course.id,
        exercise=name, version=content.version[:12], device_class=made.device_class, points=made.points,
        due_at=None if made.due_at is None else made.due_at.isoformat(),
    )  # fmt: skip
    return made


def wrong_terms(session: Session, course: Course, exercise: Exercise | None, terms: Terms) -> dict[str, str]:
    """Mistakes in the fixed parts, by field. exercise: None if none was chosen."""
    slug = terms.slug or (exercise.name if exercise else "")
    found = service.wrong_terms(session, course, exercise, terms)
    if slug in _COLUMNS:
        found["slug"] = _a_column(slug)
    if device := wrong_class(session, terms.device_class):
        if not terms.arch:  # otherwise the compiler reports an invalid architecture
            found.pop("arch", None)
        found["device_class"] = device
    return found


def _a_column(name: str) -> str:
    return f"“{name}” is a column of the grades table. Choose another name."
