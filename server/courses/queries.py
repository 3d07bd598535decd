"""The courses of a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.courses.models import Course, Membership, Role
from server.courses.service import find_course


@dataclass(frozen=True, slots=True)
class Attended:
    """A course of a person, with their role."""

    slug: str
    title: str
    role: Role
    archived: bool


def attended(session: Session, person_id: int) -> Sequence[Attended]:
    """A person's courses, active ones before archived ones, each the newest first."""
    query = (
        select(Course, Membership.role)
        .join(Membership, Membership.course_id == Course.id)
        .where(Membership.person_id == person_id, Membership.dropped_at.is_(None))
        .order_by(Course.archived_at.is_not(None), Course.created_at.desc(), Course.slug)
    )
    return [
        Attended(course.slug, course.title, role, course.archived_at is not None)
        for course, role in session.execute(query)
    ]


def all_courses(session: Session) -> Sequence[Attended]:
    """All courses, for an operator, who is an instructor everywhere."""
    query = select(Course).order_by(Course.archived_at.is_not(None), Course.created_at.desc(), Course.slug)
    return [
        Attended(course.slug, course.title, Role.INSTRUCTOR, course.archived_at is not None)
        for course in session.scalars(query)
    ]


def find_attended(session: Session, slug: str) -> Attended | None:
    """One course, for an operator; None for none."""
    course = find_course(session, slug)
    if course is None:
        return None
    return Attended(course.slug, course.title, Role.INSTRUCTOR, course.archived_at is not None)
