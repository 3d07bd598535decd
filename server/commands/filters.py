"""The options with which submissions are chosen, the same wherever a verb takes some of a course."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import click

from kernels.verdict import Verdict
from server.commands.moments import read_time
from server.commands.options import together
from server.courses.models import Course
from server.courses.service import is_device_class
from server.staff.submissions.queries import Asked
from server.submissions.models import Mode
from worker.commands.root import WrongUse

filter_options = together(
    click.option("--student", default="", help="Only of who has this email, or of all whose name or email holds it."),
    click.option("--verdict", type=click.Choice([verdict.value for verdict in Verdict]), help="Only with this."),
    click.option("--mode", type=click.Choice([mode.value for mode in Mode]), help="Only those for that."),
    click.option("--device", default="", metavar="CLASS", help="Only what is measured on that, or cpu: checked only."),
    click.option("--worker", default="", metavar="NAME", help="Only where a worker whose name begins so had a part."),
    click.option("--since", metavar="TIME", help="Only what was handed in from then on."),
    click.option("--until", metavar="TIME", help="Only what was handed in until then."),
)  # fmt: skip
"""Give a command these options; it hands them on to `filtered`."""


def filtered(asked: Asked, course: Course, given: Mapping[str, Any]) -> Asked:
    """What was asked for, narrowed by these options; raises WrongUse for what can be no time or no device class."""
    times: dict[str, Any] = {
        name: _time(name, given[name], course) for name in ("since", "until") if given[name] is not None
    }
    if given["device"] and not is_device_class(given["device"]):
        raise WrongUse(f"--device is {given['device']!r}. Give a device class, such as h200, or cpu.")
    return replace(
        asked, student=given["student"], verdict=given["verdict"] or "", mode=given["mode"] or "",
        device=given["device"], worker=given["worker"], **times,
    )  # fmt: skip


def _time(name: str, text: str, course: Course) -> datetime:
    moment = read_time(f"--{name}", text, course)
    if moment is None:  # the word none, which takes a time away elsewhere
        raise WrongUse(f"--{name} is {text!r}. Write a time like 2026-03-01T23:59, or leave the option out.")
    return moment
