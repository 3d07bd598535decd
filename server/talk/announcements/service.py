"""Write, change and withdraw announcements. The audit records each, without the text."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.courses.handouts import render_text
from server.courses.models import Assignment, Course
from server.courses.service import CourseError, hold_course
from server.database.upsert import insert_into
from server.talk.models import LONGEST_TITLE, Announcement, SeenAnnouncement
from server.text import composed, storable

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
