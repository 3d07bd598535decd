"""A quantity over an axis of an experiment: a line for each series, named at its right end.

Series differ in colour, in the shape of their marks and in their dashes. A print without colour can be read too.
Colours are attributes and not styles, because the page allows no style inside a picture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kernels.rendering.page import numbers
from kernels.rendering.page.charts import svg
from kernels.rendering.page.charts.axes import Axes, Axis

WIDTH, HEIGHT = 720, 380
MOST_SERIES = 12

_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 540, 34, 330
_LINE = 15
_LONGEST = 24
_COLOURS = ("#1f77b4", "#c85a11", "#12805c", "#a84e93", "#7d6f1b", "#6a5fc1")
_DASHES = ("", "7 4", "2 3", "9 3 2 3")
_WIDE = 50
"""From this ratio of the largest value to the smallest, an axis is logarithmic."""

_STYLE = (
    ".chart{font:13px system-ui,sans-serif;background:#fff;color:#1e2125;fill:currentColor}"
    ".chart text{fill:#575c63;font-variant-numeric:tabular-nums}.chart .strong{fill:#1e2125;font-weight:650}"
    ".chart .grid{stroke:#dcd8d1;fill:none}"
)


@dataclass(frozen=True, slots=True)
class Spot:
    """A value at a place of the axis.

    low, high: its interval, equal to y if there is none
    """

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Series:
    """Spots that belong together.

    name: "" for the only one
    """

    name: str
    spots: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class Titles:
    """What a chart says of itself. unit: the values' name and what they are, such as "Speed, GFLOPS, measured"."""

    chart: str
    across: str
    unit: str
    share: bool = False


def series_chart(series: Sequence[Series], titles: Titles, identity: str) -> Markup:
    """The chart; at least one series has a spot."""
    axes = _axes_around(series)
    body = [_grid(axes, series, titles)]
    for number, each in enumerate(series):
        colour, dashes = _COLOURS[number % len(_COLOURS)], _DASHES[number % len(_DASHES)]
        places = [axes.place(spot.x, spot.y) for spot in each.spots]
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        body.append(
            f'<polyline points="{svg.path(places)}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>'
        )
        body += [_whisker(axes, spot, colour) for spot in each.spots if spot.high > spot.low]
        body += [_mark(number, colour, *place) for place in places]
    body += _names(series, axes)
    return svg.figure(identity, titles.chart, _description(series, titles), "".join(body), WIDTH, HEIGHT)


def standalone(chart: Markup) -> str:
    """The chart as an SVG file of its own, on white."""
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" class="chart"'
    head, _, rest = str(chart).replace('<svg class="chart"', opening, 1).partition(">")
    return f"{head}><style>{_STYLE}</style>{rest}\n"


def _axes_around(series: Sequence[Series]) -> Axes:
    xs = [spot.x for each in series for spot in each.spots]
    lows = [spot.low for each in series for spot in each.spots]
    highs = [spot.high for each in series for spot in each.spots]
    by_ratio = len(set(xs)) > 2 and min(xs) > 0 and max(xs) / min(xs) >= 4
    across = Axis(min(xs), max(xs), _LEFT + 14, _RIGHT - 14, logarithmic=by_ratio)
    if min(lows) > 0 and max(highs) / min(lows) >= _WIDE:
        return Axes(across, Axis.of_decades(min(lows), max(highs), _BOTTOM, _TOP))
    step = _step(max(highs))
    top = step * max(1, math.ceil(max(highs) / step))
    return Axes(across, Axis(0, top, _BOTTOM, _TOP, logarithmic=False))


def _step(most: float) -> float:
    """A round distance between the lines of a linear axis, of which there are 3 to 7."""
    if most <= 0:
        return 1.0
    decade = 10.0 ** math.floor(math.log10(most / 4))
    return next(decade * factor for factor in (1, 2, 2.5, 5, 10) if most / (decade * factor) <= 6)


def _grid(axes: Axes, series: Sequence[Series], titles: Titles) -> str:
    xs = sorted({spot.x for each in series for spot in each.spots})
    room = (_RIGHT - _LEFT) // 46
    shown = xs[:: math.ceil(len(xs) / room)]
    up = axes.up
    ys = (
        up.decades()
        if up.logarithmic
        else [n * _step(up.high) for n in range(round(up.high / _step(up.high)) + 1)]
    )
    rows = (
        (y, numbers.percent(y) if titles.share else numbers.short(y) if y >= 10 else f"{y:g}") for y in ys
    )
    grid = axes.grid(((x, f"{x:,.0f}") for x in shown), rows, titles.across)
    return grid + svg.text(_LEFT - 60, _TOP - 16, titles.unit)


def _whisker(axes: Axes, spot: Spot, colour: str) -> str:
    """The interval as an upright line."""
    ends = [axes.place(spot.x, spot.low), axes.place(spot.x, spot.high)]
    return f'<polyline points="{svg.path(ends)}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _mark(number: int, colour: str, x: float, y: float) -> str:
    """A disc, a square, a triangle or a diamond."""
    shapes = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>',
        f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>',
        f'<polygon points="{svg.path([(x, y - 5.5), (x + 5, y + 4), (x - 5, y + 4)])}" fill="{colour}"/>',
        f'<polygon points="{svg.path([(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)])}" fill="{colour}"/>',
    )
    return shapes[number % len(shapes)]


def _names(series: Sequence[Series], axes: Axes) -> list[str]:
    """The names one below the other, each as near to its line's end as there is room."""
    ends = sorted(
        (axes.place(each.spots[-1].x, each.spots[-1].y)[1], n) for n, each in enumerate(series) if each.name
    )
    drawn = []
    free: float = _TOP
    for place, (y, number) in enumerate(ends):
        at = min(max(y, free), _BOTTOM - _LINE * (len(ends) - place - 1))
        free = at + _LINE
        name = series[number].name
        drawn.append(_mark(number, _COLOURS[number % len(_COLOURS)], _RIGHT + 12, at))
        drawn.append(
            svg.text(_RIGHT + 24, at + 4, name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…")
        )
    return drawn


def _description(series: Sequence[Series], titles: Titles) -> str:
    said = []
    for each in series:
        values = ", ".join(f"{spot.x:,.0f}: {numbers.count(spot.y)}" for spot in each.spots)
        said.append(f"{each.name}: {values}" if each.name else values)
    return f"{titles.unit} by {titles.across}. {'; '.join(said)}."
