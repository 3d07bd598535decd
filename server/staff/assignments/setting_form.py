"""The form for an assignment's settings."""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from server.courses.local_time import MomentError, read_moment, typed
from server.courses.models import Counts, SpeedBy
from server.courses.titles import title_line
from server.http.forms import Form
from server.staff.assignments.assignment_settings import MOMENTS, AssignmentSettings, mistakes
from server.staff.roster.csv_file import one_line
from server.text import typed_number

_LONGEST_NUMBER = 40
_THOUSANDS = re.compile(r"[1-9]\d{0,2},\d{3}")


def read_setting(form: Form, zone: ZoneInfo, was: AssignmentSettings) -> AssignmentSettings:
    """Read the settings from a form; adds mistakes to it."""
    given: dict[str, Any] = {
        "title": title_line(form["title"]),
        "points": number(form, "points"),
        "late_percent_per_day": number(form, "late_percent_per_day"),
        "late_percent_most": number(form, "late_percent_most") if form["late_percent_most"] else 100.0,
        "goals_percent": number(form, "goals_percent") if form["goals_percent"] else 100.0,
        "speed_by": _speed_by(form),
        "speed_tiers": one_line(form["speed_tiers"]),
        "attempts": whole(form, "attempts") if form["attempts"] else None,
        "min_interval_seconds": whole(form, "min_interval_seconds"),
        "checks_per_hour": whole(form, "checks_per_hour"),
        "counts": _counts(form),
        "listed": form.checked("listed"),
        "grades_held": form.checked("grades_held"),
        "board_columns": " ".join(form["board_columns"].replace(",", " ").split()),
        "board_sort": form["board_sort"],
    }
    for name in MOMENTS:
        given[name] = moment(form, name, zone, getattr(was, name))
    setting = AssignmentSettings(**given)
    for name, text in mistakes(setting).items():
        form.mistake(name, text)
    return setting


def as_typed(setting: AssignmentSettings, zone: ZoneInfo) -> dict[str, str]:
    """The settings as the form shows them."""
    return {
        "title": setting.title,
        "points": typed_number(setting.points),
        "late_percent_per_day": typed_number(setting.late_percent_per_day),
        "late_percent_most": typed_number(setting.late_percent_most),
        "goals_percent": typed_number(setting.goals_percent),
        "speed_by": setting.speed_by.value if setting.speed_by else "",
        "speed_tiers": setting.speed_tiers,
        "attempts": "" if setting.attempts is None else str(setting.attempts),
        "min_interval_seconds": str(setting.min_interval_seconds),
        "checks_per_hour": str(setting.checks_per_hour),
        "counts": setting.counts.value,
        "listed": "yes" if setting.listed else "",
        "grades_held": "yes" if setting.grades_held else "",
        "board_columns": setting.board_columns,
        "board_sort": setting.board_sort,
        **{name: typed(getattr(setting, name), zone) for name in MOMENTS},
    }


def moment(form: Form, name: str, zone: ZoneInfo, was: datetime | None) -> datetime | None:
    """Read a time field; adds mistakes to the form."""
    try:
        return read_moment(form[name], zone, was)
    except MomentError as error:
        form.mistake(name, str(error))
        return None


def number(form: Form, name: str) -> float:
    """Read a number field; an empty one is 0. A comma is a decimal point, unless it may separate thousands."""
    if _THOUSANDS.fullmatch(form[name]):
        plain, point = form[name].replace(",", ""), form[name].replace(",", ".")
        form.mistake(name, f"This number is ambiguous. Write {plain} or {point}.")
        return 0.0
    try:
        value = float(form[name].replace(",", ".") or 0)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        form.mistake(name, f"“{form[name][:_LONGEST_NUMBER]}” is not a number.")
        return 0.0
    return value


def whole(form: Form, name: str) -> int:
    """Read a whole-number field; an empty one is 0."""
    text = form[name] or "0"
    if not (text.isascii() and text.removeprefix("-").isdigit()) or len(text) > 12:
        form.mistake(name, f"“{form[name][:_LONGEST_NUMBER]}” is not a whole number.")
        return 1
    return int(text)


def _speed_by(form: Form) -> SpeedBy | None:
    try:
        return SpeedBy(form["speed_by"]) if form["speed_by"] else None
    except ValueError:
        form.mistake("speed_by", "Choose what the tiers compare.")
        return None


def _counts(form: Form) -> Counts:
    try:
        return Counts(form["counts"])
    except ValueError:
        form.mistake("counts", "Choose which submission counts.")
        return Counts.BEST
