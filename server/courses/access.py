"""Who may see a course and its assignments: decided here, in one place, before a view looks at anything.

Strangers are told the same of a course that they are not in and of one that does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from server.accounts.access import Viewer, not_allowed, nothing_here, viewer
from server.courses.models import Assignment, Course, Role
from server.courses.service import find_assignment, find_course, is_shown, is_staff, role_in
from server.http.site import site


@dataclass(frozen=True, slots=True)
class Membership:
    """A course, and what the viewer is in it. Admins are instructors everywhere."""

    course_id: int
    slug: str
    title: str
    time_zone: str
    archived: bool
    role: Role

    @property
    def is_staff(self) -> bool:
        return is_staff(self.role)

    @property
    def is_instructor(self) -> bool:
        return self.role is Role.INSTRUCTOR


@dataclass(frozen=True, slots=True)
class Reader:
    """Who looks at a page of an assignment, and when. slug: the assignment's, which need not exist."""

    viewer: Viewer
    course: Membership
    slug: str
    now: datetime


def member_of(slug: str) -> Membership:
    """The course, for those who are in it."""
    who = viewer()
    with site().readers.begin() as session:
        course = find_course(session, slug)
        role = None if course is None else role_in(session, who.id, course.id)
    if course is None or role is None:
        raise nothing_here()
    return membership(course, role)


def staff_of(slug: str) -> Membership:
    """The course, for its assistants and instructors."""
    found = member_of(slug)
    if not found.is_staff:
        raise not_allowed("This page is only for course staff.")
    return found


def instructor_of(slug: str) -> Membership:
    """The course, for its instructors."""
    found = staff_of(slug)
    if not found.is_instructor:
        raise not_allowed("Only an instructor can change the course. Assistants can see its work.")
    return found


def membership(course: Course, role: Role) -> Membership:
    """What someone is in a course, without its database session."""
    return Membership(
        course.id, course.slug, course.title, course.time_zone, course.archived_at is not None, role
    )


def reader_of(course: str, assignment: str) -> Reader:
    """Who asks for this assignment, if they are in its course."""
    return Reader(viewer(), member_of(course), assignment, datetime.now(UTC))


def assignment_for(session: Session, reader: Reader) -> Assignment:
    """The assignment; students see it once it is open, and while it is listed."""
    found = find_assignment(session, f"{reader.course.slug}/{reader.slug}")
    if found is None or not is_shown(found, reader.course.role, reader.now):
        raise nothing_here()
    return found
