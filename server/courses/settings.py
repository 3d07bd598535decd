"""A course's settings, each declared once: the form, the verb's options and the audit follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Annotated
from zoneinfo import available_timezones

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.acts.act import Act, Target
from server.acts.field import Asked
from server.courses.models import MOST_LATE_DAYS, Course
from server.courses.service import CourseError
from server.courses.titles import title_line, title_mistake
from server.fields import Range

_OLD_NAMES = ("Etc/", "posix/", "right/", "SystemV/")


# fmt: off
@dataclass(frozen=True, slots=True, kw_only=True)
class CourseSettings:
    """The changeable parts of a course; see server.courses.models.Course."""

    title: Annotated[str, Asked("Title", needed=True, clean=title_line, help="The course's title.")] = ""
    time_zone: Annotated[str, Asked(
        "Time zone",
        "Deadlines are entered and shown in this time zone. Existing deadlines keep their moment.", form="zone",
        option="--zone", help="The course's time zone, such as Europe/Vienna.",
    )] = "UTC"
    late_days: Annotated[int, Range(0, MOST_LATE_DAYS), Asked(
        "Late days for each student",
        "Each pays for one late day at any assignment with a late penalty. Students confirm before one is spent. "
        "Empty: none.",
        help="Late days of each student, for all assignments.",
    )] = 0
    archived: Annotated[bool, Asked(
        "Archived", "Everything stays readable. Students can’t submit any more.",
        option="--archived/--open", help="Archive or reopen it; nothing is deleted.",
    )] = False
# fmt: on


@cache
def zones() -> Sequence[str]:
    """Names of time zones such as "Europe/Vienna", without obsolete ones."""
    return sorted(
        name for name in available_timezones() if ("/" in name or name == "UTC") and not name.startswith(_OLD_NAMES)
    )  # fmt: skip


def check_zone(name: str) -> None:
    """Raise CourseError if this is not a time zone."""
    if name not in available_timezones():
        raise CourseError(_NO_ZONE, ["zone"])


def settings_of(course: Course) -> CourseSettings:
    """The current settings."""
    return CourseSettings(
        title=course.title,
        time_zone=course.time_zone,
        late_days=course.late_days,
        archived=course.archived_at is not None,
    )


def _wrong(_session: Session, on: Target, given: CourseSettings) -> dict[str, str]:
    known = given.time_zone == on.course.time_zone or given.time_zone in available_timezones()
    found = {"title": title_mistake(given.title), "time_zone": "" if known else _NO_ZONE}
    return {name: text for name, text in found.items() if text}


def _change(session: Session, on: Target, _: Person | None, given: CourseSettings) -> bool:
    """Change the settings; returns whether anything changed. Fewer late days take no spent ones away."""
    course, was = on.course, settings_of(on.course)
    course.title, course.time_zone, course.late_days = given.title, given.time_zone, given.late_days
    if given.archived != was.archived:
        course.archived_at = datetime.now(UTC) if given.archived else None
    session.flush()
    return given != was


_NO_ZONE = "This is not a time zone. Enter one such as Europe/Vienna."

COURSE_SETTINGS = Act(
    asks=CourseSettings,
    do=_change,
    audit="course.changed",
    present=lambda _session, on: settings_of(on.course),
    wrong=_wrong,
)
