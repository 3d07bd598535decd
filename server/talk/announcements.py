"""Announcements: written, changed and withdrawn by course staff, and read. The audit records each, without the text."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from sqlalchemy import ColumnElement, Select, and_, delete, func, or_, select, true
from sqlalchemy.orm import Session, contains_eager, joinedload

from server.accounts.models import Person
from server.acts.act import Act, Nothing, Target
from server.acts.field import Asked
from server.audit.service import note
from server.courses.handouts import render_text
from server.courses.models import Assignment, Course, Membership, Role
from server.courses.service import SHORT_NAME, CourseError, find_assignment, shown_at
from server.database.upsert import insert_into
from server.exercises.stored import given_code
from server.fields import Range, Text
from server.talk.asker import Asker, found_of
from server.talk.models import LONGEST_TITLE, Announcement, Comment, SeenAnnouncement
from server.talk.questions import question_of
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
    unseen = unseen_announcements(person_id, now, Course.slug, func.count().label("number")).group_by(Course.slug)
    return {row.slug: row.number for row in session.execute(unseen)}


def unseen_announcements(person_id: int, now: datetime, *columns: Any) -> Select[*tuple[Any, ...]]:
    """These columns of the announcements of a member's active courses that the member hasn't seen."""
    return (
        select(*columns)
        .select_from(Announcement)
        .join(Course, Course.id == Announcement.course_id)
        .outerjoin(Announcement.assignment)
        .outerjoin(SeenAnnouncement, _by(person_id))
        .join(Membership, _member(person_id))
        .where(SeenAnnouncement.person_id.is_(None), *_for_members(now))
    )


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


def _title(text: str) -> str:
    return composed(" ".join(storable(text[: 2 * LONGEST_TITLE]).split()), LONGEST_TITLE)


def markdown(text: str) -> str:
    """A typed text as it is stored. A too long one stays too long."""
    return storable(text[: 2 * LONGEST_TEXT]).replace("\r\n", "\n").strip()


@dataclass(frozen=True, slots=True)
class Written:
    """What an announcement says."""

    title: Annotated[str, Text(longest=LONGEST_TITLE), Asked("Title", needed=True, clean=_title)] = ""
    text: Annotated[str, Text(longest=LONGEST_TEXT), Asked("Text", needed=True, clean=markdown)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAnnouncement(Written):
    """A new announcement.

    title: one line
    text: Markdown
    assignment: the short name of the assignment that it is about; "" for the whole course
    answers: the ID of a student's question that it answers, for everyone
    confirm: the value of `confirm` in the problem `names_student`
    """

    assignment: Annotated[str, Text(f"({SHORT_NAME})?"), Asked("About", form="place")] = ""
    answers: Annotated[int | None, Range(1, 10**18 - 1), Asked("Question")] = None
    confirm: Annotated[str, Text("[0-9a-f]{64}|"), Asked("Publish anyway")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedAnnouncement(Written):
    """A changed announcement.

    title: one line
    text: Markdown
    again: show it as new to everyone
    """

    again: bool = False


def announce(
    session: Session,
    course_id: int,
    assignment: Assignment | None,
    author: Person | None,
    given: Written,
    now: datetime | None = None,
) -> Announcement:
    """Publish an announcement on a course, or on one of its assignments. It is no news for its author."""
    moment = now or datetime.now(UTC)
    made = Announcement(
        course_id=course_id, assignment_id=None if assignment is None else assignment.id,
        author_id=None if author is None else author.id, title=given.title, text=given.text, created_at=moment,
    )  # fmt: skip
    session.add(made)
    session.flush()
    _seen_by_writer(session, author, made, moment)
    more = {} if assignment is None else {"assignment": assignment.slug}
    _note(session, author, "published", made, moment, **more)
    return made


def withdraw(session: Session, found: Announcement, actor: Person | None, now: datetime | None = None) -> None:
    """Hide an announcement from students, unless it is hidden already."""
    moment = now or datetime.now(UTC)
    if found.withdrawn_at is None:
        found.withdrawn_at = moment
        _note(session, actor, "withdrawn", found, moment)


def _announce(session: Session, on: Target, actor: Person | None, given: NewAnnouncement) -> Announcement:
    _active(on)
    names = asker_in(session, on.course.id, given)
    if names is not None and given.confirm != names.digest:
        raise names
    return announce(session, on.course.id, _about(session, on, given), actor, given)


def _change(session: Session, on: Target, actor: Person | None, given: ChangedAnnouncement) -> bool:
    found, moment = on.item, datetime.now(UTC)
    _active(on)
    if (found.title, found.text) == (given.title, given.text) and not given.again:
        return False
    found.title, found.text, found.changed_at = given.title, given.text, moment
    if given.again:
        session.execute(delete(SeenAnnouncement).where(SeenAnnouncement.announcement_id == found.id))
        _seen_by_writer(session, actor, found, moment)
    _note(session, actor, "changed", found, moment, **({"again": True} if given.again else {}))
    return True


def _publish_again(session: Session, on: Target, actor: Person | None, _: Nothing) -> None:
    _active(on)
    if on.item.withdrawn_at is not None:
        on.item.withdrawn_at = None
        _note(session, actor, "published", on.item, datetime.now(UTC), again=True)


def _wrong(session: Session, on: Target, given: Written) -> dict[str, str]:
    found: dict[str, str] = {}
    if not given.title or not given.title.isprintable():
        found["title"] = f"The title must be one line of 1 to {LONGEST_TITLE} printable characters."
    if not given.text:
        found["text"] = "Enter a text."
    elif len(given.text) <= LONGEST_TEXT and len(render_text(given.text)) > LONGEST_PAGE:
        found["text"] = "This text makes too large a page. Use smaller tables."
    if isinstance(given, NewAnnouncement) and given.answers and not question_of(session, on.course.id, given.answers):
        found["text"] = "This question doesn’t exist any more. Write a new announcement."
    if isinstance(given, NewAnnouncement) and given.assignment and _about(session, on, given) is None:
        found["assignment"] = "This assignment doesn’t exist. Choose another one."
    return found


class NamesAskerError(CourseError):
    """The announcement may show who asked, and the author hasn't confirmed that. digest: confirms exactly this text."""

    def __init__(self, found: Sequence[str], digest: str) -> None:
        super().__init__(f"This text has {', '.join(found)}. Change the text, or confirm to publish it.", ["confirm"])
        self.digest = digest


def asker_in(session: Session, course_id: int, given: NewAnnouncement) -> NamesAskerError | None:
    """What the announcement has of the student whose question it answers; None for nothing."""
    question = None if given.answers is None else question_of(session, course_id, given.answers)
    if question is None:
        return None
    submission = question.submission
    comments = select(Comment.text).where(
        Comment.submission_id == submission.id, Comment.by_staff.is_(False), Comment.removed_at.is_(None)
    )
    common = [line for code in given_code(session, submission.assignment.exercise) for line in code.split("\n")]
    source = submission.source.content.decode("utf-8", "replace")
    person = submission.person
    asker = Asker(person.name, person.email, source, common, session.scalars(comments).all())
    found = found_of(asker, f"{given.title}\n{given.text}")
    digest = hashlib.sha256(repr((found, given.title, given.text)).encode()).hexdigest()
    return NamesAskerError(found, digest) if found else None


def _about(session: Session, on: Target, given: NewAnnouncement) -> Assignment | None:
    return find_assignment(session, f"{on.course.slug}/{given.assignment}")


def _active(on: Target) -> None:
    if on.course.archived_at is not None:
        raise CourseError("This course is archived. You can’t announce anything in it.")


ANNOUNCE = Act(asks=NewAnnouncement, do=_announce, wrong=_wrong, assistants=True)
CHANGE = Act(
    asks=ChangedAnnouncement,
    do=_change,
    present=lambda _, on: ChangedAnnouncement(title=on.item.title, text=on.item.text),
    wrong=_wrong,
    assistants=True,
)
WITHDRAW = Act(asks=Nothing, do=lambda session, on, actor, _: withdraw(session, on.item, actor), assistants=True)
PUBLISH_AGAIN = Act(asks=Nothing, do=_publish_again, assistants=True)


def mark_seen(session: Session, person_id: int, announcements: Collection[int], now: datetime) -> None:
    """Note that a person saw these announcements."""
    rows = [{"announcement_id": each, "person_id": person_id, "seen_at": now} for each in announcements]
    if rows:
        session.execute(insert_into(session, SeenAnnouncement).values(rows).on_conflict_do_nothing())


def _seen_by_writer(session: Session, writer: Person | None, which: Announcement, now: datetime) -> None:
    if writer is not None:
        mark_seen(session, writer.id, [which.id], now)


def _note(
    session: Session, actor: Person | None, what: str, which: Announcement, now: datetime, **detail: str | bool
) -> None:
    subject = f"announcement {which.id}"
    note(session, actor, f"announcement.{what}", subject, now=now, course_id=which.course_id, **detail)
