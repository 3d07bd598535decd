"""An experiment as one HTML page: the plots that suit it, and the table of its points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from kernels.experiment.plot.chosen import default_plots
from kernels.experiment.plot.model import Chart, Plot, Request
from kernels.experiment.result import PointResult
from kernels.rendering.experiment import columns, nothing_measured, point_table, verdicts_text
from kernels.rendering.page.charts.plot import plot_svg
from kernels.rendering.page.render import environment, whole_page
from kernels.rendering.plot.labels import bases_of, left_out, numbers_of

MOST_ROWS = 2000
_MOST_NUMBERS = 200


@dataclass(frozen=True, slots=True)
class PlotView:
    """A plot with its numbers.

    left_out: a sentence on the points that aren't drawn; "" if all are
    rows_left_out: of its table
    """

    key: str
    title: str
    bases: tuple[str, ...]
    drawing: Markup
    left_out: str
    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    rows_left_out: int


def render_experiment(
    definition: Mapping[str, Any],
    results: Sequence[PointResult],
    facts: Mapping[str, str],
    plots: Sequence[Plot] | None = None,
) -> str:
    """The page. facts: of the run, by title. plots: by default, the file's own and others for the axes."""
    wanted = Request.from_plain(definition.get("plot"))
    return whole_page(
        "experiment.html",
        {
            "name": definition["experiment"]["name"],
            "question": definition["experiment"].get("question", ""),
            "expect": definition["experiment"].get("expect", ""),
            "facts": {title: value for title, value in facts.items() if value},
            "verdicts": verdicts_text(results) if results else "",
            "measured": any(column.basis == "measured" for column in columns(results)),
            "nothing_measured": nothing_measured(results),
            "plots": plot_views(default_plots(results, wanted) if plots is None else plots),
            "whole": True,
            "table": point_table(results, MOST_ROWS, wanted.y if wanted is not None else ""),
            "points": len(results),
            "left_out": max(0, len(results) - MOST_ROWS),
        },
        f"{definition['experiment']['name']}",
    )


def plot_views(plots: Iterable[Plot]) -> list[PlotView]:
    """The plots for a page, with keys that are unique on it."""
    return [_view(each, f"plot-{number}") for number, each in enumerate(plots, 1)]


def plots_part(plots: Iterable[Plot], *, whole: bool = True) -> Markup:
    """Plots as a part of another page.

    whole: with their numbers, and with what the page's script needs; a page that is replaced now and then has neither
    """
    part = environment().get_template("plots.html").render(plots=plot_views(plots), whole=whole)
    return Markup(part)  # noqa: S704 - the environment escapes


def _view(plot: Plot, key: str) -> PlotView:
    titles, rows = numbers_of(plot)
    return PlotView(
        key,
        plot.title,
        tuple(basis.value for basis in bases_of(plot)),
        plot_svg(plot, f"{key}-picture"),
        left_out(plot) if isinstance(plot, Chart) else "",
        tuple(titles),
        tuple(map(tuple, rows[:_MOST_NUMBERS])),
        max(0, len(rows) - _MOST_NUMBERS),
    )
