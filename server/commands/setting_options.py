"""The options that say how an assignment is set, reading what was given of them, and telling it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import click

from server.commands.moments import METAVAR, read_time, time_text
from server.commands.options import together
from server.courses.models import Counts, Course
from server.staff.assignments.setting import Setting, mistakes
from worker.commands.root import WrongUse

_ANY = "any"
_TIMES = {"opens_at": "opens", "due_at": "due", "closes_at": "closes", "board_frozen_at": "freeze"}
_NAMES = {
    **_TIMES,
    "slug": "name",
    "device_class": "device-class",
    "late_percent_per_day": "late-percent",
    "min_interval_seconds": "interval",
    "checks_per_hour": "checks",
}
"""What the options are called where that is not the setting's own name."""

setting_options = together(
    click.option("--title", help="What students see above it."),
    click.option("--points", type=float, help="For a correct submission in time.  [default of a new assignment: 10]"),
    click.option("--opens", "opens_at", metavar=METAVAR, help="When students see it."),
    click.option("--due", "due_at", metavar=METAVAR, help="Until when it is in time."),
    click.option("--closes", "closes_at", metavar=METAVAR, help="Until when late ones are taken."),
    click.option(
        "--late-percent", "late_percent_per_day", type=float, help="Of the points, lost for each day late."
    ),
    click.option("--attempts", metavar="NUMBER|any", help="How often one student may hand in for the ranking."),
    click.option(
        "--interval", "min_interval_seconds", type=int, help="Seconds between two submissions of one student."
    ),
    click.option("--checks", "checks_per_hour", type=int, help="How often one student may check in an hour."),
    click.option("--counts", type=click.Choice([counts.value for counts in Counts]), help="Which submission counts."),
    click.option("--freeze", "board_frozen_at", metavar=METAVAR, help="From when boards stand still for students."),
    click.option("--listed/--unlisted", default=None, help="Whether students see it, once it has opened."),
)  # fmt: skip
"""Give a command these options; it hands them on to `asked_for`."""


def asked_for(given: Mapping[str, Any], course: Course) -> dict[str, Any]:
    """What was given at all, as a setting has it; raises WrongUse."""
    context = click.get_current_context()
    source = click.core.ParameterSource.DEFAULT
    found = {name: value for name, value in given.items() if context.get_parameter_source(name) is not source}
    for name in _TIMES.keys() & found.keys():
        found[name] = read_time(f"--{_TIMES[name]}", found[name], course)
    if "counts" in found:
        found["counts"] = Counts(found["counts"])
    if "attempts" in found:
        found["attempts"] = _attempts(found["attempts"])
    return found


def with_asked(setting: Setting, asked: Mapping[str, Any], wrong: Mapping[str, str] | None = None) -> Setting:
    """The setting with what was asked for; raises WrongUse with all that cannot be.

    wrong: what cannot be of what is asked for beside it, by field
    """
    made = replace(setting, **asked)
    new = not setting.title  # without a title it gets the exercise's own
    every = {**(wrong or {}), **mistakes(replace(made, title=made.title or _ANY) if new else made)}
    if every:
        raise WrongUse(" ".join(f"--{_NAMES.get(name, name)}: {text}" for name, text in every.items()))
    return made


def told(asked: Mapping[str, Any], course: Course) -> str:
    """What was asked for, in the words of the options; a moment so that whoever typed it sees which it is."""
    return ", ".join(
        f"{_NAMES.get(name, name)} {_value(name, value, course)}" for name, value in asked.items()
    )


def _value(name: str, value: Any, course: Course) -> str:
    if name == "attempts" and value is None:
        return _ANY
    if value is None or isinstance(value, datetime):
        return time_text(value, course)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _attempts(text: str) -> int | None:
    if text == _ANY:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise WrongUse(f"--attempts is {text!r}; a number is needed, or any.")
    return int(text)
