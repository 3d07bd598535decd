"""Announcements: written, changed and withdrawn by course staff, and read. The audit records each, without the text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Select, and_, delete, func, or_, select, true
from sqlalchemy.orm import Session, contains_eager, joinedload

from server.accounts.models import Person
from server.audit.service import note
from server.courses.handouts import render_text
from server.courses.models import Assignment, Course, Membership, Role
from server.courses.service import CourseError, hold_course, shown_at
from server.database.upsert import insert_into
from server.talk.models import LONGEST_TITLE, Announcement, SeenAnnouncement
from server.text import composed, storable


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


LONGEST_TEXT = 8_000
LONGEST_PAGE = 200_000
"""In characters of HTML: a short text can have a table of very many empty cells."""


@dataclass(frozen=True, slots=True)
class Written:
    """What an announcement says. title: one line; text: Markdown."""

    title: str
    text: str


def written(title: str, text: str) -> Written:
    """Prepare a title and a text for storage. Too long ones stay too long, so `wrong_announcement` refuses them."""
    line = composed(" ".join(storable(title[: 2 * LONGEST_TITLE]).split()), LONGEST_TITLE)
    return Written(line, storable(text[: 2 * LONGEST_TEXT]).replace("\r\n", "\n").strip())


def wrong_announcement(given: Written) -> dict[str, str]:
    """Mistakes by field."""
    found: dict[str, str] = {}
    if not given.title or len(given.title) > LONGEST_TITLE or not given.title.isprintable():
        found["title"] = f"The title must be one line of 1 to {LONGEST_TITLE} printable characters."
    if not given.text:
        found["text"] = "Enter a text."
    elif len(given.text) > LONGEST_TEXT:
        found["text"] = f"This text is too long. The limit is {LONGEST_TEXT:,} characters."
    elif len(render_text(given.text)) > LONGEST_PAGE:
        found["text"] = "This text makes too large a page. Use smaller tables."
    return found


def announce(
    session: Session,
    course_id: int,
    assignment: Assignment | None,
    author: Person | None,
    given: Written,
    now: datetime | None = None,
) -> Announcement:
    """Publish an announcement on a course, or on one of its assignments; raises CourseError."""
    moment = now or datetime.now(UTC)
    _check(session, course_id, given)
    made = Announcement(
        course_id=course_id, assignment_id=None if assignment is None else assignment.id,
        author_id=None if author is None else author.id, title=given.title, text=given.text, created_at=moment,
    )  # fmt: skip
    session.add(made)
    session.flush()
    more = {} if assignment is None else {"assignment": assignment.slug}
    _note(session, author, "published", made, moment, **more)
    return made


def change_announcement(
    session: Session,
    found: Announcement,
    actor: Person | None,
    given: Written,
    *,
    again: bool = False,
    now: datetime | None = None,
) -> bool:
    """Change an announcement; returns whether anything changed. Raises CourseError.

    again: show it as new to everyone
    """
    moment = now or datetime.now(UTC)
    _check(session, found.course_id, given)
    if (found.title, found.text) == (given.title, given.text) and not again:
        return False
    found.title, found.text, found.changed_at = given.title, given.text, moment
    if again:
        session.execute(delete(SeenAnnouncement).where(SeenAnnouncement.announcement_id == found.id))
    _note(session, actor, "changed", found, moment, **({"again": True} if again else {}))
    return True


def withdraw(session: Session, found: Announcement, actor: Person | None, now: datetime | None = None) -> None:
    """Hide an announcement from students, unless it is hidden already."""
    moment = now or datetime.now(UTC)
    if found.withdrawn_at is None:
        found.withdrawn_at = moment
        _note(session, actor, "withdrawn", found, moment)


def publish_again(session: Session, found: Announcement, actor: Person | None, now: datetime | None = None) -> None:
    """Show a withdrawn announcement to students again; raises CourseError."""
    moment = now or datetime.now(UTC)
    _active(session, found.course_id)
    if found.withdrawn_at is not None:
        found.withdrawn_at = None
        _note(session, actor, "published", found, moment, again=True)


def mark_seen(session: Session, person_id: int, announcements: Collection[int], now: datetime) -> None:
    """Note that a person saw these announcements."""
    rows = [{"announcement_id": each, "person_id": person_id, "seen_at": now} for each in announcements]
    if rows:
        session.execute(insert_into(session, SeenAnnouncement).values(rows).on_conflict_do_nothing())


def _check(session: Session, course_id: int, given: Written) -> None:
    wrong = wrong_announcement(given)
    if wrong:
        raise CourseError(" ".join(wrong.values()), wrong)
    _active(session, course_id)


def _active(session: Session, course_id: int) -> None:
    hold_course(session, course_id)
    if session.scalar(select(Course.archived_at).where(Course.id == course_id)) is not None:
        raise CourseError("This course is archived. You can’t announce anything in it.")


def _note(
    session: Session, actor: Person | None, what: str, which: Announcement, now: datetime, **detail: str | bool
) -> None:
    subject = f"announcement {which.id}"
    note(session, actor, f"announcement.{what}", subject, now=now, course_id=which.course_id, **detail)
