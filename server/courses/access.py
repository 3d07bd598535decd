"""Access to courses and assignments, decided in this one place before a view reads anything.

A course that a person isn't in gives the same answer as a course that doesn't exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from flask import g
from sqlalchemy.orm import Session

from server.accounts.access import Viewer, not_allowed, nothing_here, viewer
from server.courses.models import Assignment, Course, Role
from server.courses.service import course_and_role, find_assignment, is_shown, is_staff, role_in
from server.http.site import site

_PAGE_COURSE = "page_course"


@dataclass(frozen=True, slots=True)
class Membership:
    """A course with the viewer's role. Operators are instructors everywhere."""

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
    """The reader of an assignment's page.

    slug: of the assignment, which may not exist
    now: the time of the request
    """

    viewer: Viewer
    course: Membership
    slug: str
    now: datetime


def member_of(slug: str) -> Membership:
    """The course, for its members; otherwise raises Refused."""
    who = viewer()
    with site().readers.begin() as session:
        found = course_and_role(session, who.id, slug)
    if found is None:
        raise nothing_here()
    return _membership(*found)


def membership_in(session: Session, course: Course) -> Membership:
    """The viewer's membership in a course of which they see something; otherwise raises Refused."""
    role = role_in(session, viewer().id, course.id)
    if role is None:
        raise nothing_here()
    return _membership(course, role)


def staff_of(slug: str) -> Membership:
    """The course, for course staff; otherwise raises Refused."""
    found = member_of(slug)
    if not found.is_staff:
        raise not_allowed("This page is only for course staff.")
    return found


def instructor_of(slug: str) -> Membership:
    """The course, for its instructors; otherwise raises Refused."""
    found = staff_of(slug)
    if not found.is_instructor:
        raise not_allowed("Only an instructor can change the course. Assistants can see its work.")
    return found


def _membership(course: Course, role: Role) -> Membership:
    """A membership that outlives the database session. The links at the top of the page are this course's."""
    page_in(course.slug, staff=is_staff(role))
    return Membership(course.id, course.slug, course.title, course.time_zone, course.archived_at is not None, role)


@dataclass(frozen=True, slots=True)
class PageCourse:
    """The course of a page that its viewer may see. staff: whether the viewer is course staff."""

    slug: str
    staff: bool


def page_in(slug: str, *, staff: bool) -> None:
    """Note the course of this page, for the links at the top. Its address may not name the course."""
    setattr(g, _PAGE_COURSE, PageCourse(slug, staff))


def course_of_page() -> PageCourse | None:
    """The course of this page; None if the page has none, or before its access is decided."""
    found: PageCourse | None = g.get(_PAGE_COURSE)
    return found


def reader_of(course: str, assignment: str) -> Reader:
    """The reader of an assignment's page; raises Refused for a person who isn't in its course."""
    return Reader(viewer(), member_of(course), assignment, datetime.now(UTC))


def assignment_for(session: Session, reader: Reader) -> Assignment:
    """The reader's assignment; raises Refused if they may not see it. Students see it once it is open and listed."""
    found = find_assignment(session, f"{reader.course.slug}/{reader.slug}")
    if found is None or not is_shown(found, reader.course.role, reader.now):
        raise nothing_here()
    return found
