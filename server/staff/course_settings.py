"""A course's settings: title, time zone, late days, archived."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any
from zoneinfo import available_timezones

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import MOST_LATE_DAYS, Course
from server.courses.service import CourseError, title_of

_OLD_NAMES = ("Etc/", "posix/", "right/", "SystemV/")


@cache
def zones() -> Sequence[str]:
    """Names of time zones such as "Europe/Vienna", without obsolete ones."""
    return sorted(
        name for name in available_timezones() if ("/" in name or name == "UTC") and not name.startswith(_OLD_NAMES)
    )  # fmt: skip


def check_zone(name: str) -> None:
    """Raise CourseError if this is not a time zone."""
    if name not in available_timezones():
        raise CourseError("This is not a time zone. Enter one such as Europe/Vienna.", ["zone"])


def change_course(
    session: Session,
    course: Course,
    actor: Person | None,
    *,
    title: str,
    zone: str,
    archived: bool,
    late_days: int | None = None,
    now: datetime | None = None,
) -> bool:
    """Change the settings; returns whether anything changed. Raises CourseError.

    late_days: of each student; None for no change. Fewer late days take no spent ones away.
    """
    moment = now or datetime.now(UTC)
    line = title_of(title)
    if zone != course.time_zone:
        check_zone(zone)
    days = course.late_days if late_days is None else late_days
    if not 0 <= days <= MOST_LATE_DAYS:
        raise CourseError(f"Late days must be between 0 and {MOST_LATE_DAYS}.", ["late_days"])
    was_archived = course.archived_at is not None
    pairs = {
        "title": (course.title, line),
        "time_zone": (course.time_zone, zone),
        "archived": (was_archived, archived),
        "late_days": (course.late_days, days),
    }
    changed: dict[str, Any] = {name: [old, new] for name, (old, new) in pairs.items() if old != new}
    if not changed:
        return False
    course.title, course.time_zone, course.late_days = line, zone, days
    if archived != was_archived:
        course.archived_at = moment if archived else None
    session.flush()
    note(session, actor, "course.changed", f"course {course.slug}", now=moment, course_id=course.id, **changed)
    return True
