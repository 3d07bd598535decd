"""Counts as bars with their table, drawn like the plots of an experiment."""

from __future__ import annotations

from collections.abc import Sequence

from kernels.experiment.plot.model import Chart, Kind, Panel, Scale, Series, Spot
from kernels.experiment.result import PointResult
from kernels.rendering.page.charts.plot import plot_svg
from kernels.rendering.page.experiment_page import PlotView
from kernels.verdict import Verdict


def histogram(key: str, title: str, x: str, y: str, rows: Sequence[tuple[str, int]]) -> PlotView:
    """The plot of these labels and counts. key: its ID on the page; x, y: titles of the axes."""
    labels = tuple(label for label, _ in rows)
    spots = tuple(
        Spot(float(place), float(count), _named(place, label)) for place, (label, count) in enumerate(rows)
    )
    panel = Panel("", (Series(0, "", spots),))
    chart = Chart(Kind.BARS, title, Scale(x, labels=labels), Scale(y), (panel,))
    table = tuple((label, f"{count:,}") for label, count in rows)
    return PlotView(key, title, (), plot_svg(chart, f"{key}-chart"), "", (x, y), table, 0)


def _named(place: int, label: str) -> PointResult:
    """A point of which the plot shows only the name."""
    return PointResult(place, {}, label, Verdict.ACCEPTED, "", "", 0, {}, "")
