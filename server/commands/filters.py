"""The options that filter a course's submissions, shared by all verbs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import click

from kernels.verdict import Verdict
from server.commands.course_times import read_time
from server.commands.options import together
from server.courses.models import Course
from server.courses.service import is_device_class
from server.staff.submissions.queries import SubmissionCriteria
from server.submissions.models import Mode
from worker.commands.root import WrongUse

filter_options = together(
    click.option("--student", default="", help="Only people whose name or email contains this."),
    click.option("--verdict", type=click.Choice([verdict.value for verdict in Verdict]), help="Only this verdict."),
    click.option("--mode", type=click.Choice([mode.value for mode in Mode]), help="Only submissions (rank) or checks."),
    click.option("--device", default="", metavar="CLASS", help="Only this device class; cpu means not measured."),
    click.option("--worker", default="", metavar="NAME", help="Only graded by a worker whose name begins with this."),
    click.option("--since", metavar="TIME", help="Only submitted at or after this time."),
    click.option("--until", metavar="TIME", help="Only submitted up to this time."),
)  # fmt: skip
"""Add these options to a command, which passes them to `filtered`."""


def filtered(asked: SubmissionCriteria, course: Course, given: Mapping[str, Any]) -> SubmissionCriteria:
    """Narrow a query by these options. Raises WrongUse for an invalid time or device class."""
    times: dict[str, Any] = {
        name: _time(name, given[name], course) for name in ("since", "until") if given[name] is not None
    }
    if given["device"] and not is_device_class(given["device"]):
        raise WrongUse(f"--device {given['device']!r}: use a device class such as h200, or cpu.")
    return replace(
        asked, student=given["student"], verdict=given["verdict"] or "", mode=given["mode"] or "",
        device=given["device"], worker=given["worker"], **times,
    )  # fmt: skip


def _time(name: str, text: str, course: Course) -> datetime:
    moment = read_time(f"--{name}", text, course)
    if moment is None:  # the word none, which removes a time in other commands
        raise WrongUse(f"--{name} {text!r}: write a time such as 2026-03-01T23:59, or leave out the option.")
    return moment
