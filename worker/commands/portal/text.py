"""The portal's answers as text for people, made safe for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from kernels.rendering.measured_numbers import UNITS
from kernels.rendering.report import render
from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from kernels.rendering.text_style import BOLD, DIM, GREEN, RED, YELLOW, Style
from kernels.wording import percent, rounded_points
from worker.client.answers import Submission
from worker.client.errors import Unreadable
from worker.client.phases import phase
from worker.commands.device import DEFAULT_ARCH
from worker.commands.portal.connection import moment
from worker.contract.answers import Measured
from worker.contract.architectures import of_capability

USUAL_EXERCISE = "tiled"
"""The default exercise of `tilelab grade`."""

_COLOURS = {"accepted": GREEN, "system_error": YELLOW}


def report_text(submission: Submission, source: str, file: str, style: Style, page: str) -> str:
    """The report in the form of `tilelab grade`, or why there is none."""
    try:
        report = submission.report()
    except Unreadable as error:
        return f"{_verdict(submission.verdict, style)}\n{error}\nSee its page: {page}"
    if report is None:
        return f"{phase(submission).capitalize()}, so there is no report. See its page: {page}"
    options = [
        *(["--exercise", report.exercise] if report.exercise != USUAL_EXERCISE else []),
        *(["--arch", arch] if (arch := of_capability(report.arch)) != DEFAULT_ARCH else []),
    ]
    shown = f"{render(report, source, file, style, options)}{next_hint(submission)}"
    return f"{shown}\n{_worth(submission, style)}" if submission.worth else shown


def next_hint(submission: Submission) -> str:
    """How to see more about the mistake; "" if nothing is hidden."""
    more = {"finding": "what is wrong and where", "edit": "the edit"}.get(submission.following_hint)
    return f"\n`tilelab log {safe(submission.id)} --hint` shows {more}." if more else ""


def title(submission: Submission, style: Style) -> str:
    """The submission's id, its assignment, and whether it is a check."""
    return f"{style.paint(safe(submission.id), BOLD)}  {safe(submission.assignment)}, {_kind(submission.mode)}"


def submission_text(found: Submission, style: Style, page: str) -> str:
    """A submission's state or verdict, its steps, and its page."""
    lines = [
        title(found, style),
        _verdict(found.verdict, style) if found.over and found.verdict else phase(found).capitalize(),
        *([_worth(found, style)] if found.worth else []),
    ]
    if isinstance(found.result, dict) and isinstance(message := found.result.get("message"), str):
        lines += style.wrap(safe(message[:2000]), "  ")
    rows = [
        (safe(step.name), _word(step.state), "" if step.seconds is None else f"{step.seconds:.2f} s")
        for step in found.steps
    ]
    return "\n".join([*lines, *table(rows, "<<>"), page])


def lines_text(submissions: Sequence[Submission], style: Style) -> str:
    """A table of submissions. If no assignment has points, there is no column for them."""
    rows = [
        (
            safe(line.id),
            safe(line.assignment),
            _kind(line.mode),
            moment(line.created_at),
            _word(line.verdict or line.state),
            "" if line.points is None else f"{rounded_points(line.points)}/{rounded_points(line.most_points)}",
            "" if line.measured is None else _measured(line.measured),
        )
        for line in submissions
    ]
    points = "points" if any(line.most_points for line in submissions) else ""
    head = ("id", "assignment", "kind", "submitted", "verdict", points, "measured")
    first, *rest = table([head, *rows], "<<<<<>>", indent=0)
    return "\n".join([style.paint(first, DIM), *rest])


def _verdict(verdict: str | None, style: Style) -> str:
    text = safe((verdict or "no verdict").replace("_", " "))
    return style.paint(text, _COLOURS.get(verdict or "", RED))


def _worth(submission: Submission, style: Style) -> str:
    return style.paint(safe(submission.worth[:200]), BOLD)


def _kind(mode: str) -> str:
    return "submission" if mode == "rank" else safe(mode)


def _word(state: str) -> str:
    return safe(state.replace("_", " "))


def _measured(measured: Measured) -> str:
    share = "" if measured.cublas_share is None else f", {percent(measured.cublas_share)} of cuBLAS"
    if measured.metric == "elements" and measured.melements is not None:
        return f"{figures(measured.melements)} {UNITS[measured.metric]}"
    if measured.gflops is not None:
        return f"{figures(measured.gflops)} GFLOPS{share}"
    if measured.gbps is not None:
        return f"{figures(measured.gbps)} GB/s"
    return "" if measured.ms_median is None else f"{figures(measured.ms_median)} ms"


def figures(value: float) -> str:
    """A number with four significant digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
