"""A plot of an experiment as SVG."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kernels.experiment.plot.model import Chart, HeatMap, Join, Kind, Panel, Plot, Roofs, Series, Spot
from kernels.rendering.experiment import params_text
from kernels.rendering.page.charts import marks, svg
from kernels.rendering.page.charts.axes import Axes, Axis
from kernels.rendering.page.charts.bars import bars
from kernels.rendering.page.charts.heat_map import heat_map_svg
from kernels.rendering.plot.labels import (
    description,
    is_wide,
    left_out,
    roof_text,
    roofs_text,
    short_name,
    spot_text,
    steps,
    tick,
    title_of,
)

WIDTH = 720
_HEIGHT = 380
_LEFT, _RIGHT, _TOP, _FOOT = 76, 700, 34, 50
_NAMED = 540
"""The right end of an axis with names next to it."""
_LINE = 15
_LONGEST = 24
_BESIDE = 20
"""The longest name next to a plot, in letters."""
_LETTER = 7.2
_SLANTED = 70
"""What names need below that slant."""
_MARKED = 200
"""The most marks on a line, and below on all lines of a plot."""
_MOST_MARKS = 2000
_LABELLED = 6
"""The most points of a front with their names."""
_HEADROOM = 1.1
"""Above bars, for their values."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The place of a pair of axes."""

    left: float
    right: float
    top: float
    bottom: float


def plot_svg(plot: Plot, identity: str = "chart") -> Markup:
    """The plot with its title and description."""
    if isinstance(plot, HeatMap):
        return heat_map_svg(plot, identity)
    body, height = _panels(plot) if len(plot.panels) > 1 else _single(plot)
    said = " ".join(part for part in (description(plot), left_out(plot)) if part)
    return svg.figure(identity, plot.title, said, "".join(body), WIDTH, height, kind="chart plot")


def _single(chart: Chart) -> tuple[list[str], int]:
    """One pair of axes. The names of the series are at its right, or below it if they are long."""
    names = [each for each in chart.series if each.name]
    beside = bool(names) and all(len(each.name) <= _BESIDE for each in names)
    frame = Frame(_LEFT, _NAMED if beside else _RIGHT, _TOP, _HEIGHT - _FOOT)
    body = [svg.text(16, _TOP - 16, title_of(chart.y))]
    body += _panel(chart, chart.panels[0], frame)
    height = _HEIGHT + (_SLANTED if _slants(chart) else _LINE if chart.roofs is not None else 0)
    if beside or not names:
        return [*body, *_names(chart, frame)] if beside else body, height
    keys, height = _keys(names, height)
    return [*body, *keys], height


def _panels(chart: Chart) -> tuple[list[str], int]:
    """A pair of axes for each panel, all with the same scales, and the names below."""
    columns = 2 if len(chart.panels) in {2, 4} else 3
    wide, high = (WIDTH - 20) / columns, 210
    body = [svg.text(16, 18, title_of(chart.y))]
    for number, panel in enumerate(chart.panels):
        left, top = 10 + wide * (number % columns), 30 + high * (number // columns)
        frame = Frame(left + 54, left + wide - 14, top + 22, top + high - 48)
        body.append(
            svg.text(
                (frame.left + frame.right) / 2,
                top + 14,
                short_name(panel.name, int(wide / _LETTER)),
                kind="strong",
                anchor="middle",
            )
        )
        body += _panel(chart, panel, frame)
    below = 30 + high * math.ceil(len(chart.panels) / columns)
    keys, height = _keys([each for each in chart.series if each.name], below)
    return [*body, *keys], height


def _keys(names: Sequence[Series], top: int) -> tuple[list[str], int]:
    """The names below a plot, in as many columns as fit, and where they end. A long name takes several lines."""
    if not names:
        return [], top + 10
    longest = max(len(each.name) for each in names)
    columns = max(1, min(4, int((WIDTH - 24) / (_LETTER * longest + 34))))
    wide, y, body = (WIDTH - 24) / columns, top + 14, list[str]()
    for row in (names[start : start + columns] for start in range(0, len(names), columns)):
        lines = [textwrap.wrap(each.name, int((wide - 34) / _LETTER)) for each in row]
        for place, (each, said) in enumerate(zip(row, lines, strict=True)):
            body.append(_key(each, 24 + wide * place, y, said))
        y += _LINE * max(map(len, lines)) + 4
    return body, y


def _panel(chart: Chart, panel: Panel, frame: Frame) -> list[str]:
    axes = _axes(chart, frame)
    body = [_grid(axes, chart, frame)]
    if chart.diagonal:
        ends = max(axes.across.low, axes.up.low), min(axes.across.high, axes.up.high)
        body.append(svg.line("equal", axes.place(ends[0], ends[0]), axes.place(ends[1], ends[1])))
        x, y = axes.place(ends[1], ends[1])
        body.append(svg.text(x - 26, y + 14, "equal", anchor="end"))
    if chart.roofs is not None:
        body += _roofs(chart.roofs, axes)
    if chart.kind is Kind.BARS:
        return [*body, *bars(chart, panel, axes)]
    size = 1.0 if len(chart.spots) <= 60 else 0.75 if len(chart.spots) <= 400 else 0.5
    return [*body, *(_series(chart, each, axes, size) for each in reversed(panel.series))]


def _roofs(roofs: Roofs, axes: Axes) -> list[str]:
    """The lines of a device with their names, and where the figures are from."""
    lines = [tuple(axes.place(*point) for point in line) for line in roofs.lines(axes.across.low, axes.across.high)]
    first, *_, flat = lines
    body = [svg.line("roof" if line in (first, flat) else "roof second", *line) for line in lines]
    for roof, ((x, y), (far, top)) in zip(roofs.memories, lines, strict=False):
        angle = math.degrees(math.atan2(top - y, far - x))
        turned = f'<text class="halo" transform="translate({x:.0f} {y:.0f}) rotate({angle:.1f})" x="12"'
        below = roof is roofs.memories[0]
        body.append(f'{turned} y="{15 if below else -6}">{svg.words(roof_text(roof))}</text>')
    body.append(svg.text(flat[1][0], flat[1][1] - 7, f"cores {roofs.peak:,.0f} GFLOPS", anchor="end"))
    body.append(svg.text(16, _HEIGHT + 8, roofs_text(roofs)))
    return body


def _series(chart: Chart, series: Series, axes: Axes, size: float) -> str:
    places = [axes.place(spot.x, spot.y) for spot in series.spots]
    body = ""
    if series.join is Join.LINE:
        body = marks.joined(series.number, places)
    elif series.join is Join.STEPS:
        corners = [(after[0], before[1]) for before, after in itertools.pairwise(places)]
        steps_ = [point for pair in zip(places, [*corners, places[-1]], strict=True) for point in pair]
        body = marks.joined(series.number, steps_)
    lines = series.join is Join.LINE
    every = math.ceil(max(len(places) / _MARKED, len(chart.spots) / _MOST_MARKS, 1)) if lines else 1
    for spot, (x, y) in list(zip(series.spots, places, strict=True))[::every]:
        drawn = _whiskers(axes, spot, x, y) + marks.mark(series.number, x, y, size)
        body += marks.spot(spot_text(chart, spot), x, y, drawn)
    if series.join is Join.STEPS and len(places) <= _LABELLED:
        body += "".join(_label(spot, axes, *place) for spot, place in zip(series.spots, places, strict=True))
    return marks.group(series.number, series.name, body, faint=series.faint)


def _label(spot: Spot, axes: Axes, x: float, y: float) -> str:
    """The name of a point, on the side with more room."""
    left = x > (axes.across.start + axes.across.end) / 2
    name = params_text(spot.result.params) or spot.result.kernel
    return svg.text(x - 8 if left else x + 8, y - 8, name, kind="strong halo", anchor="end" if left else "start")


def _whiskers(axes: Axes, spot: Spot, x: float, y: float) -> str:
    drawn = ""
    if spot.y_ends is not None and spot.y_ends[1] > spot.y_ends[0]:
        drawn += marks.whisker(*((x, axes.up.place(end)) for end in spot.y_ends))
    if spot.x_ends is not None and spot.x_ends[1] > spot.x_ends[0]:
        drawn += marks.whisker(*((axes.across.place(end), y) for end in spot.x_ends))
    return drawn


def _axes(chart: Chart, frame: Frame) -> Axes:
    ys = [end for spot in chart.spots for end in (spot.y, *(spot.y_ends or ()))]
    xs = [spot.x for spot in chart.spots]
    if chart.roofs is not None:
        across = Axis.of_decades(min(*xs, 0.5), max(*xs, 1.5 * chart.roofs.knee), frame.left, frame.right)
        low = min(*ys, chart.roofs.memories[0].slope * across.low)
        return Axes(across, Axis.of_decades(low, 1.2 * chart.roofs.peak, frame.bottom, frame.top))
    if chart.diagonal:
        xs = ys = [*xs, *ys]
    if chart.kind is Kind.BARS:
        ys = [*ys, _HEADROOM * max(ys)]
    up = _of_values(ys, frame.bottom, frame.top, whole=chart.y.quantity is None)
    if chart.x.quantity is not None:
        return Axes(_of_values(xs, frame.left, frame.right), up)
    if chart.kind is Kind.BARS:
        return Axes(Axis(-0.5, len(chart.x.labels) - 0.5, frame.left, frame.right, logarithmic=False), up)
    by_ratio = not chart.x.labels and len(set(xs)) > 2 and min(xs) > 0 and max(xs) / min(xs) >= 4
    return Axes(Axis(min(xs), max(xs), frame.left + 14, frame.right - 14, logarithmic=by_ratio), up)


def _of_values(values: Sequence[float], start: float, end: float, *, whole: bool = False) -> Axis:
    """An axis of a quantity: decades for very different values, else linear from 0."""
    if is_wide(values):
        return Axis.of_decades(min(values), max(values), start, end)
    return Axis(0, steps(max(values), whole=whole)[-1], start, end, logarithmic=False)


def _grid(axes: Axes, chart: Chart, frame: Frame) -> str:
    whole = chart.y.quantity is None
    ys = axes.up.decades() if axes.up.logarithmic else steps(axes.up.high, whole=whole)
    rows = [(y, tick(chart.y, y)) for y in ys]
    if chart.x.labels:
        return _named(axes, chart, rows)
    if chart.x.quantity is not None:
        xs = axes.across.decades() if axes.across.logarithmic else steps(axes.across.high)
    else:
        xs = sorted({spot.x for spot in chart.spots})
        widest = max(len(tick(chart.x, x)) for x in xs)
        if not _apart(axes.across, xs, 8 * widest + 8):
            xs = xs[:: math.ceil(len(xs) * (8 * widest + 8) / (frame.right - frame.left))]
    columns = [(x, tick(chart.x, x)) for x in xs]
    narrow = frame.right - frame.left < 300
    foot = chart.x.name if narrow and chart.x.quantity is not None else title_of(chart.x)
    return axes.grid(_thinner(columns, axes.across), rows, foot)


def _named(axes: Axes, chart: Chart, rows: list[tuple[float, str]]) -> str:
    """A grid with names below; they slant if they wouldn't fit."""
    slanted, low = _slants(chart), axes.up.start
    body = [axes.grid([], rows, "" if slanted else chart.x.name)]
    for number, label in enumerate(chart.x.labels):
        x, name = axes.across.place(number), _short(label)
        if slanted:
            turned = f'<text transform="translate({x + 4:.0f} {low + 15:.0f}) rotate(-35)" text-anchor="end">'
            body.append(f"{turned}{svg.words(name)}</text>")
        else:
            body.append(svg.text(x, low + 17, name, anchor="middle"))
    return "".join(body)


def _slants(chart: Chart) -> bool:
    """Whether the names of an axis are too long for their places."""
    room = (_NAMED - _LEFT) / max(1, len(chart.panels[0:3]) * len(chart.x.labels))
    return any(_LETTER * len(_short(label)) > room for label in chart.x.labels)


def _short(name: str) -> str:
    return short_name(name, _LONGEST)


def _apart(axis: Axis, xs: Sequence[float], room: float) -> bool:
    places = [axis.place(x) for x in xs]
    return all(after - before >= room for before, after in itertools.pairwise(places))


def _thinner(columns: list[tuple[float, str]], axis: Axis) -> list[tuple[float, str]]:
    """Without labels where two would overlap; the lines stay."""
    free, shown = -math.inf, []
    for value, label in columns:
        half = 3.6 * len(label) + 4
        place = axis.place(value)
        fits = place - half >= free
        shown.append((value, label if fits else ""))
        free = place + half if fits else free
    return shown


def _key(series: Series, x: float, y: float, lines: Sequence[str] = ()) -> str:
    """A name of the legend with its mark. lines: of a name that takes several."""
    body = marks.mark(series.number, x, y)
    body += "".join(svg.text(x + 12, y + 4 + _LINE * place, line) for place, line in enumerate(lines or [series.name]))
    return marks.group(series.number, series.name, body, kind="key")


def _names(chart: Chart, frame: Frame) -> list[str]:
    """The names one below the other; of lines, each as near to its line's end as there is room."""
    series = [each for each in chart.panels[0].series if each.name]
    if chart.kind not in {Kind.LINE, Kind.MULTIPLES}:
        return [_key(each, frame.right + 16, frame.top + 8 + 19 * place) for place, each in enumerate(series)]
    axes = _axes(chart, frame)
    ends = sorted((axes.place(each.spots[-1].x, each.spots[-1].y)[1], each.number, each) for each in series)
    drawn = []
    free: float = frame.top
    for place, (y, _, each) in enumerate(ends):
        at = min(max(y, free), frame.bottom - _LINE * (len(ends) - place - 1))
        free = at + _LINE
        drawn.append(_key(each, frame.right + 12, at))
    return drawn
