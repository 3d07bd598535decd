"""The plots and the table of an experiment's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernels.experiment.plot.chosen import default_plots
from kernels.experiment.plot.model import Request
from kernels.experiment.quantities import Quantity
from kernels.experiment.result import PointResult
from kernels.rendering.experiment import SPEED_UNITS, columns, interval_text, value_text
from kernels.rendering.page.experiment_page import PlotView, plot_views


@dataclass(frozen=True, slots=True)
class Column:
    """A column of numbers."""

    title: str
    unit: str
    basis: str


@dataclass(frozen=True, slots=True)
class Row:
    """A point in the table. numbers: each with its interval, "" for none."""

    number: int
    kernel: str
    values: tuple[str, ...]
    verdict: str
    accepted: bool
    why: str
    numbers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The points of a page. several: whether they differ in their kernel."""

    axes: tuple[str, ...]
    columns: tuple[Column, ...]
    several: bool
    rows: tuple[Row, ...]


def pictures(results: Sequence[PointResult], definition: Mapping[str, Any]) -> list[PlotView]:
    """The plot of the experiment's file, and others for its axes."""
    return plot_views(default_plots(results, Request.from_plain(definition.get("plot"))))


def table(results: Sequence[PointResult]) -> Table:
    """The numbers of all points."""
    shown, names = columns(results), list(results[0].params) if results else []
    return Table(
        tuple(names),
        tuple(Column(each.title, each.unit if each.unit in SPEED_UNITS else "", each.basis.value) for each in shown),
        len({each.kernel for each in results}) > 1,
        tuple(_row(each, names, shown) for each in results),
    )


def _row(result: PointResult, names: Sequence[str], shown: Sequence[Quantity]) -> Row:
    finding = result.finding
    line = f"Line {finding.line}: " if finding is not None and finding.line else ""
    return Row(
        number=result.number,
        kernel=result.kernel,
        values=tuple(f"{result.params[name]:,}" for name in names),
        verdict=result.verdict.words,
        accepted=result.verdict.value == "accepted",
        why=f"{line}{finding.message}" if finding is not None else "",
        numbers=tuple((value_text(each, each.of(result)) or "–", interval_text(each, result)) for each in shown),
    )
