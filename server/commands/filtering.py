"""The options with which submissions are chosen, the same wherever a verb takes some of a course."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from kernels.verdict import Verdict
from server.commands.moments import read_time
from server.courses.models import Course
from server.staff.submissions import Asked
from server.submissions.models import Mode

_OPTIONS = (
    click.option("--student", default="", help="Only of those whose name or email holds this."),
    click.option("--verdict", type=click.Choice([verdict.value for verdict in Verdict]), help="Only with this."),
    click.option("--mode", type=click.Choice([mode.value for mode in Mode]), help="Only those for that."),
    click.option("--device", default="", metavar="CLASS", help="Only what is measured on that, or cpu: checked only."),
    click.option("--worker", default="", metavar="NAME", help="Only where a worker whose name begins so had a part."),
    click.option("--since", metavar="TIME", help="Only what was handed in from then on."),
    click.option("--until", metavar="TIME", help="Only what was handed in until then."),
)  # fmt: skip


def filter_options(command: Any) -> Any:
    """Give a command these options; it hands them on to `filtered`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def filtered(asked: Asked, course: Course, given: Mapping[str, Any]) -> Asked:
    """What was asked for, narrowed by these options; raises WrongUse for a time that is none."""
    times: dict[str, Any] = {
        name: read_time(f"--{name}", given[name], course)
        for name in ("since", "until")
        if given[name] is not None
    }
    return replace(
        asked, student=given["student"], verdict=given["verdict"] or "", mode=given["mode"] or "",
        device=given["device"], worker=given["worker"], **times,
    )  # fmt: skip
