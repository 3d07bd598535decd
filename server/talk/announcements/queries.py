"""Announcements for their readers, and for course staff with the number of readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, true
from sqlalchemy.orm import Session, contains_eager, joinedload

from server.courses.models import Assignment, Course, Membership, Role
from server.courses.service import shown_at
from server.talk.models import Announcement, SeenAnnouncement


@dataclass(frozen=True, slots=True)
class Line:
    """An announcement for one reader. course: its short name; new: whether the reader hasn't seen it."""

    announcement: Announcement
    course: str
    new: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a list of announcements, the newest first. more: whether there are earlier ones."""

    lines: Sequence[Line] = ()
    more: bool = False

    @property
    def unseen(self) -> list[int]:
        return [line.announcement.id for line in self.lines if line.new]


@dataclass(frozen=True, slots=True)
class StaffLine:
    """An announcement for course staff. seen: how many students of the course saw it."""

    announcement: Announcement
    seen: int


@dataclass(frozen=True, slots=True)
class StaffPart:
    """A part of the list for course staff. students: how many are in the course."""

    lines: Sequence[StaffLine]
    more: bool
    students: int


def announcements_in(
    session: Session,
    course_id: int,
    role: Role,
    person_id: int,
    now: datetime,
    limit: int,
    *,
    assignment: str = "",
    before: int = 0,
) -> Part:
    """The newest announcements of a course that a person with this role sees.

    assignment: only of the assignment with this short name; "" for all
    before: only those before the announcement with this ID; 0 for all
    """
    query = _seen_by(person_id).where(Announcement.course_id == course_id, _readable(role, now))
    if assignment:
        query = query.where(Assignment.slug == assignment)
    if before:
        query = query.where(Announcement.id < before)
    return _part(session, query, limit)


def announcements_everywhere(session: Session, person_id: int, now: datetime, limit: int, before: int) -> Part:
    """The newest announcements of a member's active courses."""
    query = _seen_by(person_id).join(Membership, _member(person_id)).where(*_for_members(now))
    return _part(session, query.where(Announcement.id < before) if before else query, limit)


def unseen_by_course(session: Session, person_id: int, now: datetime) -> Mapping[str, int]:
    """How many announcements a member hasn't seen, by the short name of each active course with some."""
    unseen = (
        select(Course.slug, func.count().label("number"))
        .select_from(Announcement)
        .join(Course, Course.id == Announcement.course_id)
        .outerjoin(Announcement.assignment)
        .outerjoin(SeenAnnouncement, _by(person_id))
        .join(Membership, _member(person_id))
        .where(SeenAnnouncement.person_id.is_(None), *_for_members(now))
        .group_by(Course.slug)
    )
    return {row.slug: row.number for row in session.execute(unseen)}


def staff_announcements(session: Session, course_id: int, limit: int, before: int = 0) -> StaffPart:
    """The announcements of a course, withdrawn ones too, the newest first."""
    query = (
        select(Announcement)
        .where(Announcement.course_id == course_id)
        .options(joinedload(Announcement.author), joinedload(Announcement.assignment))
        .order_by(Announcement.id.desc())
        .limit(limit + 1)
    )
    found = session.scalars(query.where(Announcement.id < before) if before else query).all()
    seen = _seen_by_students(session, course_id, [each.id for each in found[:limit]])
    lines = tuple(StaffLine(each, seen.get(each.id, 0)) for each in found[:limit])
    students = session.scalar(select(func.count()).select_from(Membership).where(*_students(course_id)))
    return StaffPart(lines, len(found) > limit, students or 0)


def find_announcement(session: Session, course_id: int, number: int) -> Announcement | None:
    """An announcement of this course, also a withdrawn one; None for none."""
    return session.scalar(select(Announcement).where(Announcement.id == number, Announcement.course_id == course_id))


def _seen_by(person_id: int) -> Select[Announcement, str, int]:
    return (
        select(Announcement, Course.slug, SeenAnnouncement.person_id)
        .select_from(Announcement)
        .join(Course, Course.id == Announcement.course_id)
        .outerjoin(Announcement.assignment)
        .outerjoin(SeenAnnouncement, _by(person_id))
        .options(contains_eager(Announcement.assignment), joinedload(Announcement.author))
        .order_by(Announcement.id.desc())
    )


def _by(person_id: int) -> ColumnElement[bool]:
    return and_(SeenAnnouncement.announcement_id == Announcement.id, SeenAnnouncement.person_id == person_id)


def _readable(role: Role, now: datetime) -> ColumnElement[bool]:
    """Students see published ones of the course and of the assignments that they see; staff see all published."""
    return and_(Announcement.withdrawn_at.is_(None), _place_shown(now) if role is Role.STUDENT else true())


def _member(person_id: int) -> ColumnElement[bool]:
    """The condition that joins a course with a person's membership."""
    return and_(Membership.course_id == Course.id, Membership.person_id == person_id, Membership.dropped_at.is_(None))


def _for_members(now: datetime) -> tuple[ColumnElement[bool], ...]:
    return (
        Course.archived_at.is_(None),
        Announcement.withdrawn_at.is_(None),
        or_(Membership.role != Role.STUDENT, _place_shown(now)),
    )


def _place_shown(now: datetime) -> ColumnElement[bool]:
    return or_(Announcement.assignment_id.is_(None), shown_at(now))


def _part(session: Session, query: Select[Announcement, str, int], limit: int) -> Part:
    rows = session.execute(query.limit(limit + 1)).all()
    lines = tuple(Line(found, course, seen is None) for found, course, seen in rows[:limit])
    return Part(lines, len(rows) > limit)


def _students(course_id: int) -> tuple[ColumnElement[bool], ...]:
    return (Membership.course_id == course_id, Membership.role == Role.STUDENT, Membership.dropped_at.is_(None))


def _seen_by_students(session: Session, course_id: int, numbers: Sequence[int]) -> Mapping[int, int]:
    query = (
        select(SeenAnnouncement.announcement_id, func.count().label("number"))
        .join(Membership, Membership.person_id == SeenAnnouncement.person_id)
        .where(SeenAnnouncement.announcement_id.in_(numbers), *_students(course_id))
        .group_by(SeenAnnouncement.announcement_id)
    )
    return {row.announcement_id: row.number for row in session.execute(query)}
