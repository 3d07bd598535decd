"""Groups of options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import click

from server.acts.field import Field, read
from server.commands.course_times import zone_of
from server.courses.models import Course
from server.courses.service import is_device_class
from server.grades.losses import CONFIRMED
from server.submissions.criteria import FIELDS, SubmissionCriteria
from worker.commands.root import WrongUse


def together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Combine options into one decorator. The command's help lists them in this order."""

    def given(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return given


even_if_lower = click.option(
    "--yes", "confirmed", is_flag=True, flag_value=CONFIRMED, default="",
    help="Go on, even if students lose points, or get more than the maximum.",
)  # fmt: skip
"""Add this option to a command that may lower grades. It gets `confirmed`, as for `losses_confirmed`."""


def filter_options(*without: str) -> Callable[[Any], Any]:
    """Options that a command passes to `criteria_from`. without: the fields that it sets itself."""
    return together(*(_option(field) for field in FIELDS if field.name not in without))


def criteria_from(course: Course, given: Mapping[str, Any]) -> SubmissionCriteria:
    """The criteria in these options. Raises WrongUse for an invalid time or device class."""
    return SubmissionCriteria(
        **{field.name: _value(field, given[field.name], course) for field in FIELDS if given[field.name] is not None}
    )


def _option(field: Field) -> Callable[[Any], Any]:
    asked = field.asked
    if asked.option:
        return click.option(asked.option, field.name, default=None, help=asked.help)
    chosen = click.Choice([value for value, _ in field.choices]) if field.choices else None
    metavar = "TIME" if field.kind == datetime else asked.metavar or None
    return click.option(field.option, type=chosen, metavar=metavar, help=asked.help)


def _value(field: Field, given: Any, course: Course) -> Any:
    if field.asked.option:
        return "yes" if given else "no"
    if field.name == "device" and given and not is_device_class(given):
        raise WrongUse(f"--device {given!r}: use a device class such as h200, or cpu.")
    if field.kind == datetime and not given:
        raise WrongUse(f"{field.option} is empty. Write a time such as 2026-03-01T23:59.")
    try:
        return read(field, given, zone_of(course))
    except ValueError as error:
        raise WrongUse(f"{field.option} {given!r}: {error}") from None


file_preview = click.option("--preview", is_flag=True, help="Only say what would change.")
