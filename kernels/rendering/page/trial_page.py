"""The result of a trial: its verdict, and small matrices with their incorrect elements marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kernels.exercise.trial import RunValues, ValueTable
from kernels.rendering.page.charts.incorrect_map import incorrect_view
from kernels.rendering.page.render import environment
from kernels.report import Report
from kernels.report.model import first_error
from kernels.verdict import Finding, Severity, Verdict, errors_of
from kernels.wording import part_of

_MOST_ERRORS = 10
_MOST_CELLS = 1024
_PRINTED_LINES = 100
_BEFORE_RUN = frozenset({Verdict.REJECTED, Verdict.COMPILE_ERROR, Verdict.RESOURCE_LIMIT, Verdict.UNSUPPORTED})
"""They say nothing that a hint would give away."""


@dataclass(frozen=True, slots=True)
class Cell:
    """An element. expected: "" unless it is incorrect."""

    text: str
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A matrix to show. rows: of cells; wrong: how many are incorrect; is_output: whether the kernel computed it."""

    name: str
    rows: Sequence[Sequence[Cell]]
    wrong: int
    is_output: bool


def render_trial(report: Report, *, hides_lines: bool) -> Markup:
    """The sections, for a page of the portal. hides_lines: whether mistakes are named without line and edit."""
    values = report.values or RunValues()
    errors = errors_of(report.findings) if report.verdict in _BEFORE_RUN else ()
    given = {
        "name": report.verdict.words,
        "state": {Verdict.ACCEPTED: "good", Verdict.SYSTEM_ERROR: "fair"}.get(report.verdict, "poor"),
        "sentence": _sentence(report),
        "finding": None if hides_lines or errors else _leading(report),
        "errors": errors[:_MOST_ERRORS],
        "more_errors": max(0, len(errors) - _MOST_ERRORS),
        "notes": [
            each for each in report.findings if each.kind is Verdict.REJECTED and each.severity is Severity.WARNING
        ],
        "outputs": [*_grids(values.outputs, is_output=True)],
        "inputs": [*_grids(values.inputs, is_output=False)],
        "large": values.large,
        "differences": values.differences,
        "incorrect": None if _all_shown(values) else incorrect_view(report),
        "printed": report.printed.removesuffix("\n").split("\n")[:_PRINTED_LINES] if report.printed else [],
    }
    return Markup(environment().get_template("trial.html").render(given))  # noqa: S704 - our own template


def _all_shown(values: RunValues) -> bool:
    inputs = {each.name for each in values.inputs}
    return not any(name not in inputs for name in values.large)


def _sentence(report: Report) -> str:
    check = next(iter(report.checks), None)
    if report.verdict is Verdict.WRONG_ANSWER and check is not None:
        is_one = check.incorrect == 1
        return f"{part_of(check.incorrect, check.elements, 'element')} {'is' if is_one else 'are'} incorrect."
    if report.verdict is Verdict.ACCEPTED:
        compared = report.values is not None and (report.values.outputs or report.values.large)
        return "Every element is correct at these sizes and values." if compared else "It ran without a fault."
    return report.verdict.headline


def _leading(report: Report) -> Finding | None:
    """The finding to name; an incorrect result has its values instead."""
    return None if report.verdict is Verdict.WRONG_ANSWER else first_error(report.findings, report.verdict)


def _grids(tables: Sequence[ValueTable], *, is_output: bool) -> Iterator[Grid]:
    """The tables that are whole: a process that ran hostile source made them."""
    for table in tables:
        cells = table.rows * table.columns
        if not 0 < cells <= _MOST_CELLS or len(table.values) != cells or len(table.expected) not in {0, cells}:
            continue
        wrong = set(table.wrong) if table.expected else set()
        made = [Cell(text, table.expected[at] if at in wrong else "") for at, text in enumerate(table.values)]
        rows = [made[start : start + table.columns] for start in range(0, cells, table.columns)]
        yield Grid(table.name, rows, sum(bool(cell.expected) for cell in made), is_output)
