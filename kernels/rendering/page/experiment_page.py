"""An experiment as one HTML page: charts over the longest axis, and the table of all points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from kernels.experiment.quantities import Quantity
from kernels.experiment.result import PointResult
from kernels.experiment.series import NoLines, lines, varied
from kernels.rendering.experiment import (
    NOTHING_MEASURED,
    SPEED_UNITS,
    columns,
    interval_text,
    value_text,
    verdicts_text,
)
from kernels.rendering.page.charts.series import MOST_SERIES, Series, Spot, Titles, series_chart
from kernels.rendering.page.render import whole_page

MOST_ROWS = 2000


class TooManySeries(NoLines):
    """More lines than a chart can show."""


@dataclass(frozen=True, slots=True)
class _Row:
    kernel: str
    values: tuple[str, ...]
    verdict: str
    accepted: bool
    numbers: tuple[tuple[str, str], ...]
    finding: str
    line: int | None


def render_experiment(
    definition: Mapping[str, Any], results: Sequence[PointResult], facts: Mapping[str, str]
) -> str:
    """The page.

    facts: of the run, by title
    """
    shown = columns(results)
    names = list(results[0].params) if results else []
    return whole_page(
        "experiment.html",
        {
            "name": definition["experiment"]["name"],
            "facts": {title: value for title, value in facts.items() if value},
            "verdicts": verdicts_text(results) if results else "",
            "measured": any(each.basis == "measured" for each in shown),
            "nothing_measured": NOTHING_MEASURED,
            "charts": _charts(results, shown),
            "axes": names,
            "several": len({each.kernel for each in results}) > 1,
            "columns": shown,
            "speed_units": SPEED_UNITS,
            "rows": [_row(each, names, shown) for each in results[:MOST_ROWS]],
            "left_out": max(0, len(results) - MOST_ROWS),
        },
        f"{definition['experiment']['name']}",
    )


def chart(
    results: Sequence[PointResult],
    across: str,
    what: Quantity,
    by: str | None = None,
    identity: str = "chart",
) -> Markup:
    """One quantity over one axis; raises NoLines."""
    found = lines(results, across, what, by)
    if len(found) > MOST_SERIES:
        raise TooManySeries(f"{len(found)} lines are too many for a chart. Choose one axis with --by.")
    unit = f"{what.title}{f', {what.unit}' if what.unit in SPEED_UNITS else ''}, {what.basis}"
    if by is not None and set(varied(results)) - {across, by}:
        unit += f", {'highest' if what.better == 'more' else 'lowest'} over the other axes"
    titles = Titles(f"{what.title} over {across}", across, unit, share=what.name == "occupancy")
    return series_chart([_series(each.name, each.points, across, what) for each in found], titles, identity)


def _series(name: str, points: Sequence[PointResult], across: str, what: Quantity) -> Series:
    spots = []
    for each in points:
        value = what.of(each) or 0.0
        low, high = what.interval(each) or (value, value)
        spots.append(Spot(each.params[across], value, low, high))
    return Series(name, tuple(spots))


def _charts(results: Sequence[PointResult], shown: Sequence[Quantity]) -> list[tuple[Quantity, Markup]]:
    """Of each quantity that can be drawn, over the axis with the most values."""
    axes = sorted(varied(results), key=lambda name: -len({each.params[name] for each in results}))
    if not axes:
        return []
    drawn = []
    for what in shown:
        try:
            drawn.append((what, chart(results, axes[0], what, identity=f"chart-{what.name}")))
        except TooManySeries:
            by = axes[1] if len(axes) > 1 else "kernel"
            if len({each.params.get(by) for each in results}) <= MOST_SERIES:
                drawn.append((what, chart(results, axes[0], what, by, f"chart-{what.name}")))
        except NoLines:
            continue
    return drawn


def _row(result: PointResult, names: Sequence[str], shown: Sequence[Quantity]) -> _Row:
    finding = result.finding
    return _Row(
        kernel=result.kernel,
        values=tuple(f"{result.params[name]:,}" for name in names),
        verdict=result.verdict.value.replace("_", " "),
        accepted=result.verdict.value == "accepted",
        numbers=tuple(
            (value_text(each, each.of(result)) or "–", interval_text(each, result)) for each in shown
        ),
        finding=finding.message if finding is not None else "",
        line=finding.line if finding is not None else None,
    )
