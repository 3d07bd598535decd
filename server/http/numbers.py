"""Numbers and times as every page writes them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from flask import Flask, current_app
from markupsafe import Markup, escape

from kernels.rendering.page import numbers
from kernels.rendering.text_safety import safe
from kernels.wording import rounded_points

_FROM_REPORTS = (
    "count", "short", "ratio", "percent", "milliseconds", "gflops", "times", "size", "departure",
)  # fmt: skip
_DEFAULT = "UTC"
_NEAR = {-1: "yesterday", 0: "today", 1: "tomorrow"}
_KEY = "tilelab.reader_zone"


def attach_numbers(app: Flask, reader_zone: Callable[[], str]) -> None:
    """Add the template filters, and escape control characters in every text of a page.

    reader_zone: the time zone that the reader chose; "" for none
    """
    app.extensions[_KEY] = reader_zone
    environment = app.jinja_env
    environment.filters |= {name: getattr(numbers, name) for name in _FROM_REPORTS}
    environment.filters |= {
        "moment": moment,
        "deadline": deadline,
        "course_time": course_time,
        "both": both,
        "weekday": weekday,
        "day": day,
        "clock": clock,
        "duration": duration,
        "points": rounded_points,
        "signed": lambda points: f"{'+' if points > 0 else ''}{rounded_points(points)}",
        "verbatim": verbatim,
    }
    environment.finalize = _shown
    environment.trim_blocks = environment.lstrip_blocks = True


def moment(at: datetime, course_zone: str = "") -> Markup:
    """A time in the reader's time zone, otherwise the course's, with its exact form for programs."""
    shown = at.astimezone(zone_of(course_zone))
    return _time(at, _whole(shown))


def deadline(at: datetime, course_zone: str = "") -> Markup:
    """A deadline as people say it, such as "tomorrow, 23:59 CET"; the full time on hover, and the course's."""
    shown = at.astimezone(zone_of(course_zone))
    today = datetime.now(shown.tzinfo).date()
    away = (shown.date() - today).days
    if away in _NEAR:
        text = _NEAR[away]
    elif 1 < away < 7:
        text = f"{shown:%A}"
    else:
        text = f"{shown:%a %d %b}" if shown.year == today.year else f"{shown:%a %d %b %Y}"
    there = course_time(at, course_zone)
    return _time(at, f"{text}, {shown:%H:%M %Z}", f"{_whole(shown)}; {there}" if there else _whole(shown))


def course_time(at: datetime, course_zone: str) -> str:
    """The same time on the course's clock; "" if the reader's clock shows the same."""
    shown, there = at.astimezone(zone_of(course_zone)), at.astimezone(_known(course_zone))
    if shown.utcoffset() == there.utcoffset():
        return ""
    return f"{there:%a %H:%M %Z} in the course’s time zone"


def both(at: datetime, course_zone: str) -> Markup:
    """A deadline with its weekday, and the course's time behind it where the clocks differ; in one line of a table."""
    shown, there = at.astimezone(zone_of(course_zone)), at.astimezone(_known(course_zone))
    year = "" if shown.year == datetime.now(shown.tzinfo).year else f"{shown: %Y}"
    here = _time(at, f"{shown:%a %d %b}{year}, {shown:%H:%M %Z}", _whole(shown))
    if shown.utcoffset() == there.utcoffset():
        return here
    other = f"{there:%H:%M %Z}" if shown.date() == there.date() else f"{there:%a %H:%M %Z}"
    return Markup('<span class="one">{} <span class="soft">(course: {})</span></span>').format(here, other)


def weekday(at: datetime, zone: str) -> str:
    """A time with its weekday, in this time zone and no other."""
    return f"{at.astimezone(_known(zone)):%a %d %b %Y, %H:%M}"


def day(at: datetime, course_zone: str = "") -> Markup:
    """A short time for tables: the year only if it isn't this one; the full time on hover."""
    shown = at.astimezone(zone_of(course_zone))
    this_year = shown.year == datetime.now(shown.tzinfo).year
    return _time(at, f"{shown:%d %b %H:%M}" if this_year else f"{shown:%d %b %Y, %H:%M}", _whole(shown))


def clock(at: datetime, course_zone: str = "") -> Markup:
    """A time of day to the second, with the full time on hover."""
    shown = at.astimezone(zone_of(course_zone))
    return _time(at, f"{shown:%H:%M:%S}", _whole(shown))


def duration(seconds: float, tenths_below: float = 10) -> str:
    """A length of time, as precisely as people need it. tenths_below: with tenths below so many seconds."""
    if seconds < tenths_below:
        return f"{seconds:.1f}{numbers.SPACE}s"
    if seconds < 120:
        return f"{seconds:.0f}{numbers.SPACE}s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes}{numbers.SPACE}min"
    hours = round(minutes / 60)
    return f"{hours}{numbers.SPACE}h" if hours < 48 else f"{round(hours / 24)}{numbers.SPACE}days"


def verbatim(text: str) -> Markup:
    """A text exactly as typed, for a field in which it can be edited."""
    return Markup(escape(text))  # noqa: S704 - escaped


def zone_of(course_zone: str = "") -> ZoneInfo:
    """The reader's time zone, otherwise the course's, otherwise UTC."""
    return _known(current_app.extensions[_KEY](), course_zone)


def _known(*names: str) -> ZoneInfo:
    """The first of these time zones that this machine knows, otherwise UTC."""
    for name in names:
        if name:
            try:
                return ZoneInfo(name)
            except (ZoneInfoNotFoundError, ValueError):
                continue
    return ZoneInfo(_DEFAULT)


def _whole(shown: datetime) -> str:
    return f"{shown:%a %d %b %Y, %H:%M} {shown:%Z}"


def _time(at: datetime, text: str, title: str = "") -> Markup:
    more = f' title="{escape(title)}"' if title else ""
    return Markup(f'<time datetime="{escape(at.isoformat())}"{more}>{escape(text)}</time>')  # noqa: S704 - escaped


def _shown(value: object) -> object:
    """Escape control and bidi characters in a text that isn't markup."""
    return safe(value) if isinstance(value, str) and not isinstance(value, Markup) else value
