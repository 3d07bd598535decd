"""The order in which a course lists its assignments."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Assignment, Course
from server.courses.service import CourseError, assignments, hold_course


def move(session: Session, course: Course, actor: Person | None, name: str, step: int) -> None:
    """Move one assignment by a place; at the end of the list, nothing changes. Raises CourseError."""
    hold_course(session, course.id)
    names = [one.slug for one in assignments(session, course)]
    if name not in names:
        raise CourseError(f"The course {course.slug} has no assignment {name!r}.")
    place = names.index(name)
    names.remove(name)
    names.insert(max(0, place + step), name)
    order(session, course, actor, names)


def order(session: Session, course: Course, actor: Person | None, first: Sequence[str]) -> list[Assignment]:
    """Put these assignments first, and keep the order of the others; raises CourseError."""
    hold_course(session, course.id)
    was = assignments(session, course)
    known = {one.slug: one for one in was}
    for name in first:
        if name not in known:
            raise CourseError(f"The course {course.slug} has no assignment {name!r}.")
    if len(set(first)) < len(first):
        raise CourseError("Name each assignment once.")
    found = [*(known[name] for name in first), *(one for one in was if one.slug not in first)]
    for place, one in enumerate(found):
        one.position = place
    session.flush()
    if found != list(was):
        _note(session, course, actor, [one.slug for one in found])
    return found


def order_by_deadline(session: Session, course: Course, actor: Person | None) -> list[Assignment]:
    """Sort the assignments by deadline again, also the ones created later."""
    hold_course(session, course.id)
    was = assignments(session, course)
    for one in was:
        one.position = None
    session.flush()
    found = list(assignments(session, course))
    if found != list(was):
        _note(session, course, actor, [one.slug for one in found])
    return found


def _note(session: Session, course: Course, actor: Person | None, names: list[str]) -> None:
    subject = f"course {course.slug}"
    note(session, actor, "course.assignments_ordered", subject, course_id=course.id, order=", ".join(names))
