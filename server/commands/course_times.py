"""Times in commands' options: in the course's time zone unless they name another."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from server.courses.local_time import MomentError, read_moment, zone_named
from server.courses.models import Course
from worker.commands.root import WrongUse

NONE = "none"
METAVAR = "TIME|none"


def zone_of(course: Course) -> ZoneInfo:
    return zone_named(course.time_zone)


def clock_text(moment: datetime, zone: ZoneInfo) -> str:
    """A time to the second, for a table whose head names the zone."""
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M:%S}"


def read_time(option: str, text: str, course: Course) -> datetime | None:
    """The time in an option; None for the word `none`. Raises WrongUse."""
    if text == NONE:
        return None
    try:
        moment = read_moment(text, zone_of(course))
    except MomentError as error:
        raise WrongUse(f"{option} {text!r}: {error}") from error
    if moment is None:
        raise WrongUse(f"{option} is empty. Write a time such as 2026-03-01T23:59, or none.")
    return moment


def time_text(moment: datetime | None, course: Course) -> str:
    """A time in the course's zone, with the zone's name; "none" for None."""
    if moment is None:
        return NONE
    return f"{moment.astimezone(zone_of(course)):%Y-%m-%d %H:%M %Z}"
