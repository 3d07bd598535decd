"""A course's settings: title, time zone, archived."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any
from zoneinfo import available_timezones

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Course
from server.courses.service import CourseError
from server.staff.roster.csv_file import one_line

_LONGEST_TITLE = 200
_OLD_NAMES = ("Etc/", "posix/", "right/", "SystemV/")


@cache
def zones() -> Sequence[str]:
    """Names of time zones such as "Europe/Vienna", without obsolete ones."""
    return sorted(
        name for name in available_timezones() if ("/" in name or name == "UTC") and not name.startswith(_OLD_NAMES)
    )  # fmt: skip


def change_course(
    session: Session,
    course: Course,
    actor: Person | None,
    *,
    title: str,
    zone: str,
    archived: bool,
    now: datetime | None = None,
) -> bool:
    """Change the settings; returns whether anything changed. Raises CourseError."""
    moment = now or datetime.now(UTC)
    line = one_line(title)
    if not line or len(line) > _LONGEST_TITLE or not line.isprintable():
        raise CourseError(f"The title must be one line of 1 to {_LONGEST_TITLE} characters.")
    if zone != course.time_zone and zone not in available_timezones():
        raise CourseError("This is not a time zone. Enter one such as Europe/Vienna.")
    was_archived = course.archived_at is not None
    pairs = {
        "title": (course.title, line),
        "time_zone": (course.time_zone, zone),
        "archived": (was_archived, archived),
    }
    changed: dict[str, Any] = {name: [old, new] for name, (old, new) in pairs.items() if old != new}
    if not changed:
        return False
    course.title, course.time_zone = line, zone
    if archived != was_archived:
        course.archived_at = moment if archived else None
    session.flush()
    note(
        session, actor, "course.changed", f"course {course.slug}", now=moment, course_id=course.id, **changed
    )
    return True
