"""The options for an assignment's settings: definition, values and confirmation text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import click

from server.commands.course_times import METAVAR, read_time, time_text
from server.commands.options import together
from server.courses.models import Counts, Course, SpeedBy
from server.staff.assignments.assignment_settings import AssignmentSettings, mistakes
from server.text import typed_number
from worker.commands.root import WrongUse

_ANY, _NONE = "any", "none"
_TIMES = {"opens_at": "opens", "due_at": "due", "closes_at": "closes", "board_frozen_at": "freeze"}
_NAMES = {
    **_TIMES,
    "slug": "name",
    "device_class": "device-class",
    "late_percent_per_day": "late-percent",
    "late_percent_most": "late-most",
    "goals_percent": "goals-percent",
    "speed_by": "speed-by",
    "speed_tiers": "speed-tiers",
    "min_interval_seconds": "interval",
    "checks_per_hour": "checks",
    "grades_held": "hold-grades",
    "board_columns": "columns",
    "board_sort": "sort",
}
"""Names of options that differ from the setting's name."""
_UNCHOSEN = {"board_columns": "usual", "board_sort": "rank"}

setting_options = together(
    click.option("--title", help="The assignment's title for students."),
    click.option("--points", type=float, help="Points if accepted and on time.  [default for a new one: 10]"),
    click.option("--opens", "opens_at", metavar=METAVAR, help="Students see the assignment from this time."),
    click.option("--due", "due_at", metavar=METAVAR, help="Deadline: later submissions are late."),
    click.option("--closes", "closes_at", metavar=METAVAR, help="No submissions after this time."),
    click.option(
        "--late-percent", "late_percent_per_day", type=float, help="Late penalty per day, in % of the points."
    ),
    click.option("--late-most", "late_percent_most", type=float, help="Highest late penalty, in % of the points."),
    click.option(
        "--goals-percent", type=float, help="Points of an accepted kernel that misses a goal of the exercise, in %."
    ),
    click.option(
        "--speed-by", type=click.Choice([*(each.value for each in SpeedBy), _NONE]), help="What the tiers compare."
    ),
    click.option(
        "--speed-tiers", metavar="TIERS", help='Percentages by speed, such as "0:60 2000:80 5000:100".'
    ),
    click.option("--attempts", metavar="NUMBER|any", help="Attempts per student."),
    click.option(
        "--interval", "min_interval_seconds", type=int, help="Minimum seconds between a student's submissions."
    ),
    click.option("--checks", "checks_per_hour", type=int, help="Checks per student and hour."),
    click.option("--counts", type=click.Choice([counts.value for counts in Counts]), help="Which submission counts."),
    click.option("--freeze", "board_frozen_at", metavar=METAVAR, help="Freeze leaderboards for students at this time."),
    click.option("--listed/--unlisted", default=None, help="Show it to students once it opens, or hide it."),
    click.option(
        "--hold-grades/--release-grades", "grades_held", default=None, help="Hide points from students, or show them."
    ),
    click.option(
        "--columns", "board_columns", metavar="NAMES|usual", help='Leaderboard columns, such as "speed,time,date".'
    ),
    click.option(
        "--sort", "board_sort", metavar="COLUMN|rank", help="Column that first sorts the leaderboard; -COLUMN reverses."
    ),
)  # fmt: skip
"""Add these options to a command, which passes them to `asked_for`."""


def asked_for(given: Mapping[str, Any], course: Course) -> dict[str, Any]:
    """The given options as values of a setting. Raises WrongUse."""
    context = click.get_current_context()
    source = click.core.ParameterSource.DEFAULT
    found = {name: value for name, value in given.items() if context.get_parameter_source(name) is not source}
    for name in _TIMES.keys() & found.keys():
        found[name] = read_time(f"--{_TIMES[name]}", found[name], course)
    if "counts" in found:
        found["counts"] = Counts(found["counts"])
    if found.get("speed_by") == _NONE:
        found |= {"speed_by": None, "speed_tiers": ""}
    elif "speed_by" in found:
        found["speed_by"] = SpeedBy(found["speed_by"])
    if "board_columns" in found:
        names = found["board_columns"].replace(",", " ").split()
        found["board_columns"] = "" if names == ["usual"] else " ".join(names)
    if found.get("board_sort") == "rank":
        found["board_sort"] = ""
    if "attempts" in found:
        found["attempts"] = _attempts(found["attempts"])
    return found


def with_asked(
    setting: AssignmentSettings, asked: Mapping[str, Any], wrong: Mapping[str, str] | None = None
) -> AssignmentSettings:
    """Apply the given options to a setting. Raises WrongUse with all mistakes.

    wrong: mistakes in other options, by field
    """
    made = replace(setting, **asked)
    new = not setting.title  # without a title it gets the exercise's own
    every = {**(wrong or {}), **mistakes(replace(made, title=made.title or _ANY) if new else made)}
    if every:
        raise WrongUse(" ".join(f"--{_NAMES.get(name, name)}: {text}" for name, text in every.items()))
    return made


def told(asked: Mapping[str, Any], course: Course) -> str:
    """The given options as text. Times show their zone, so that you can check them."""
    return ", ".join(f"{_NAMES.get(name, name)} {_value(name, value, course)}" for name, value in asked.items())


def _value(name: str, value: Any, course: Course) -> str:
    if name == "attempts" and value is None:
        return _ANY
    if name == "speed_by" and value is None:
        return _NONE
    if not value and name in _UNCHOSEN:
        return _UNCHOSEN[name]
    if value is None or isinstance(value, datetime):
        return time_text(value, course)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return typed_number(value) if isinstance(value, float) else str(value)


def _attempts(text: str) -> int | None:
    if text == _ANY:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise WrongUse(f"--attempts {text!r}: use a number, or any.")
    return int(text)
