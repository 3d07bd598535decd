from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from kernels.experiment.plot.model import Chart, HeatMap, Join, Kind, Panel, Plot, Roofs, Series, Spot
from kernels.rendering.page.charts import marks, svg
from kernels.rendering.page.charts.heat_map import heat_map_svg
from kernels.rendering.plot.axes import Axis, axes_of
from kernels.rendering.plot.labels import (
    description,
    kernels_of,
    left_out,
    number_of,
    peak_text,
    roof_text,
    roofs_text,
    short_name,
    spot_text,
    tick,
    title_of,
)

WIDTH = 720
_HEIGHT = 380
_LEFT, _RIGHT, _TOP, _FOOT, _INSET = 76, 26, 34, 50, 14
_NAMES, _BESIDE = 180, 480
"""The least room for names next to a plot, and the least for the plot."""
_LINE = 15
_LONGEST = 24
_LETTER = 7.2
_SLANTED = 70
"""What names need below that slant."""
_BARS = 0.76
"""Of a group's room, the part with bars."""
_MARKED = 200
"""The most marks on a line, and below on all lines of a plot."""
_MOST_MARKS = 2000


Marks = Iterable[tuple[float, str]]
"""Values with their labels."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The place of a pair of axes."""

    left: float
    right: float
    top: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left


@dataclass(frozen=True, slots=True)
class Axes:
    """A horizontal and a vertical axis in a frame."""

    across: Axis
    up: Axis
    frame: Frame

    def x(self, value: float) -> float:
        return self.frame.left + self.across.share(value) * self.frame.width

    def y(self, value: float) -> float:
        return self.frame.bottom - self.up.share(value) * (self.frame.bottom - self.frame.top)

    def place(self, x: float, y: float) -> tuple[float, float]:
        return self.x(x), self.y(y)

    def grid(self, columns: Marks, rows: Marks, foot: str) -> str:
        """Lines with their numbers. foot: the title of the horizontal axis."""
        left, right, top, bottom = self.frame.left, self.frame.right, self.frame.top, self.frame.bottom
        parts = []
        for value, label in columns:
            x = self.x(value)
            parts.append(svg.line("grid", (x, top), (x, bottom)))
            if label:
                parts.append(svg.text(x, bottom + 17, label, anchor="middle"))
        for value, label in rows:
            y = self.y(value)
            parts += [svg.line("grid", (left, y), (right, y)), svg.text(left - 7, y + 4, label, anchor="end")]
        parts.append(svg.text((left + right) / 2, bottom + 38, foot, anchor="middle"))
        return "".join(parts)


def plot_svg(plot: Plot, identity: str = "chart", width: int = WIDTH) -> Markup:
    """The plot with its title and description. width: of a chart with one panel."""
    if isinstance(plot, HeatMap):
        return heat_map_svg(plot, identity)
    body, height = _panels(plot) if len(plot.panels) > 1 else _single(plot, width)
    said = " ".join(part for part in (description(plot), left_out(plot)) if part)
    names, height = svg.lines(kernels_of(plot), height, width)
    return svg.figure(identity, plot.title, said, "".join(body) + names, width, height, kind="chart plot")


def _single(chart: Chart, width: int) -> tuple[list[str], int]:
    """One pair of axes. The names of the series are at its right, or below it if they would take too much room."""
    names = [each for each in chart.series if each.name]
    room = max(_NAMES, _LETTER * max((len(name.name) for name in names), default=0) + 24)
    beside = bool(names) and width - room >= _BESIDE
    high = round(min(_HEIGHT, 0.6 * width))
    right = width - (room if beside else _RIGHT)
    axes = _axes(chart, Frame(_LEFT, right, _TOP, high - _FOOT))
    body = [svg.text(16, _TOP - 16, title_of(chart.y)), *_panel(chart, chart.panels[0], axes)]
    height = high + (_SLANTED if _slants(chart, axes) else _LINE if chart.roofs is not None else 0)
    if beside or not names:
        return [*body, *_names(chart, axes, right)] if beside else body, height
    keys, height = _keys(names, height, width)
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
        body += _panel(chart, panel, _axes(chart, frame))
    below = 30 + high * math.ceil(len(chart.panels) / columns)
    keys, height = _keys([each for each in chart.series if each.name], below, WIDTH)
    return [*body, *keys], height


def _keys(names: Sequence[Series], top: int, width: int) -> tuple[list[str], int]:
    """The names below a plot, in as many columns as fit, and where they end. A long name takes several lines."""
    if not names:
        return [], top + 10
    longest = max(len(name.name) for name in names)
    columns = max(1, min(4, int((width - 24) / (_LETTER * longest + 34))))
    wide, y, body = (width - 24) / columns, top + 14, list[str]()
    for row in (names[start : start + columns] for start in range(0, len(names), columns)):
        lines = [textwrap.wrap(each.name, int((wide - 34) / _LETTER)) for each in row]
        for place, (each, said) in enumerate(zip(row, lines, strict=True)):
            body.append(_key(each, 24 + wide * place, y, said))
        y += _LINE * max(map(len, lines)) + 4
    return body, y


def _panel(chart: Chart, panel: Panel, axes: Axes) -> list[str]:
    body = [_grid(axes, chart)]
    if chart.diagonal:
        ends = max(axes.across.low, axes.up.low), min(axes.across.high, axes.up.high)
        body.append(svg.line("equal", axes.place(ends[0], ends[0]), axes.place(ends[1], ends[1])))
        x, y = axes.place(ends[1], ends[1])
        body.append(svg.text(x - 26, y + 14, "equal", anchor="end"))
    if chart.roofs is not None:
        body += _roofs(chart.roofs, axes)
    if chart.kind is Kind.BARS:
        return [*body, *_bars(chart, panel, axes)]
    size = 1.0 if len(chart.marked) <= 60 else 0.75 if len(chart.marked) <= 400 else 0.5
    return [*body, *(_series(chart, each, axes, size) for each in reversed(panel.series))]


def _roofs(roofs: Roofs, axes: Axes) -> list[str]:
    """The lines of a device with their names, and where the figures are from."""
    lines = [tuple(axes.place(*point) for point in line) for line in roofs.lines(axes.across.low, axes.across.high)]
    flat = lines[-1]
    body = [svg.line("roof" if line in (lines[0], flat) else "roof second", *line) for line in lines]
    for roof, ((x, y), (far, top)) in zip(roofs.memories, lines, strict=False):
        angle = math.degrees(math.atan2(top - y, far - x))
        turned = f'<text class="halo" transform="translate({x:.0f} {y:.0f}) rotate({angle:.1f})" x="12"'
        below = roof is roofs.memories[0]
        body.append(f'{turned} y="{15 if below else -6}">{svg.words(roof_text(roof))}</text>')
    body.append(svg.text(flat[1][0], flat[1][1] - 7, peak_text(roofs), anchor="end"))
    body.append(svg.text(16, axes.frame.bottom + 58, roofs_text(roofs)))
    return body


def _bars(chart: Chart, panel: Panel, axes: Axes) -> list[str]:
    """All bars with their values and intervals. Series differ in colour and in the mark at the foot of the bar."""
    room = axes.frame.width / max(1, len(chart.x.labels)) * _BARS
    several = len(panel.series) > 1
    wide = min(72.0, room / len(panel.series))
    longest = max(len(number_of(chart.y, spot.y)) for spot in chart.spots)
    drawn = []
    for place, series in enumerate(panel.series):
        body = ""
        for spot in series.spots:
            middle = axes.x(spot.x) + (place - (len(panel.series) - 1) / 2) * wide
            top, bottom = axes.y(spot.y), axes.frame.bottom
            bar = f'<rect x="{middle - 0.46 * wide:.1f}" y="{top:.1f}" width="{0.92 * wide:.1f}"'
            bar += f' height="{bottom - top:.1f}" fill="currentColor" class="column"/>'
            if spot.y_ends is not None:
                ends = [(middle, axes.y(end)) for end in spot.y_ends]
                bar += f'<polyline class="over" points="{svg.path(ends)}"/>'
            if _LETTER * longest <= wide:
                highest = min(top, *map(axes.y, spot.y_ends or (spot.y,)))
                bar += svg.text(middle, highest - 6, number_of(chart.y, spot.y), kind="strong", anchor="middle")
            if several and bottom - top > 22:
                bar += f'<g class="in">{marks.mark(series.number, middle, bottom - 11, 0.9)}</g>'
            body += marks.spot(spot_text(chart, spot), middle, top, bar)
        drawn.append(marks.group(series.number, series.name, body))
    return drawn


def _series(chart: Chart, series: Series, axes: Axes, size: float) -> str:
    places = [axes.place(spot.x, spot.y) for spot in series.spots]
    body = ""
    if series.join is Join.LINE:
        body = marks.joined(series.number, places, 3 if series.leads else 2)
    elif series.join is Join.STEPS:
        corners = [(after[0], before[1]) for before, after in itertools.pairwise(places)]
        steps_ = [point for pair in zip(places, [*corners, places[-1]], strict=True) for point in pair]
        body = marks.joined(series.number, steps_)
    lines = series.join is Join.LINE
    every = math.ceil(max(len(places) / _MARKED, len(chart.marked) / _MOST_MARKS, 1)) if lines else 1
    for spot, (x, y) in list(zip(series.spots, places, strict=True))[::every] if series.marked else ():
        drawn = _whiskers(axes, spot, x, y) + marks.mark(series.number, x, y, size)
        body += marks.spot(spot_text(chart, spot), x, y, drawn) + _label(spot, axes, x, y)
    return marks.group(series.number, series.name, body, faint=series.faint)


def _label(spot: Spot, axes: Axes, x: float, y: float) -> str:
    """The text of a point, on the side with more room."""
    if not spot.label:
        return ""
    left = x > (axes.frame.left + axes.frame.right) / 2
    at, anchor = (x - 8, "end") if left else (x + 8, "start")
    return svg.text(at, y - 8, spot.label, kind="strong halo", anchor=anchor)


def _whiskers(axes: Axes, spot: Spot, x: float, y: float) -> str:
    drawn = ""
    if spot.y_ends is not None and spot.y_ends[1] > spot.y_ends[0]:
        drawn += marks.whisker(*((x, axes.y(end)) for end in spot.y_ends))
    if spot.x_ends is not None and spot.x_ends[1] > spot.x_ends[0]:
        drawn += marks.whisker(*((axes.x(end), y) for end in spot.x_ends))
    return drawn


def _axes(chart: Chart, frame: Frame) -> Axes:
    """The axes; the marks of an experiment's values stay clear of the frame."""
    across, up = axes_of(chart)
    if chart.x.quantity is None and chart.kind is not Kind.BARS:
        frame = replace(frame, left=frame.left + _INSET, right=frame.right - _INSET)
    return Axes(across, up, frame)


def _grid(axes: Axes, chart: Chart) -> str:
    rows = [(y, tick(chart.y, y)) for y in axes.up.ticks]
    if chart.x.labels:
        return _named(axes, chart, rows)
    xs = axes.across.ticks
    if chart.x.quantity is None:
        room = 8 * max(len(tick(chart.x, x)) for x in xs) + 8
        if any(axes.x(after) - axes.x(before) < room for before, after in itertools.pairwise(xs)):
            xs = xs[:: math.ceil(len(xs) * room / axes.frame.width)]
    columns = [(x, tick(chart.x, x)) for x in xs]
    narrow = axes.frame.width < 300
    foot = chart.x.name if narrow and chart.x.quantity is not None else title_of(chart.x)
    # Without labels where two would overlap; the lines stay
    free, shown = -math.inf, []
    for value, label in columns:
        half, place = 3.6 * len(label) + 4, axes.x(value)
        fits = place - half >= free
        shown.append((value, label if fits else ""))
        free = place + half if fits else free
    return axes.grid(shown, rows, foot)


def _named(axes: Axes, chart: Chart, rows: list[tuple[float, str]]) -> str:
    """A grid with names below; they slant if they wouldn't fit."""
    slanted, low = _slants(chart, axes), axes.frame.bottom
    body = [axes.grid([], rows, "" if slanted else chart.x.name)]
    for number, label in enumerate(chart.x.labels):
        x, name = axes.x(number), _short(label)
        if slanted:
            turned = f'<text transform="translate({x + 4:.0f} {low + 15:.0f}) rotate(-35)" text-anchor="end">'
            body.append(f"{turned}{svg.words(name)}</text>")
        else:
            body.append(svg.text(x, low + 17, name, anchor="middle"))
    return "".join(body)


def _slants(chart: Chart, axes: Axes) -> bool:
    room = axes.frame.width / max(1, len(chart.x.labels))
    return any(_LETTER * len(_short(label)) > room for label in chart.x.labels)


def _short(name: str) -> str:
    return short_name(name, _LONGEST)


def _key(series: Series, x: float, y: float, lines: Sequence[str] = ()) -> str:
    """A name of the legend with its mark. lines: of a name that takes several."""
    body = marks.mark(series.number, x, y)
    kind = "strong" if series.leads else ""
    for place, line in enumerate(lines or [series.name]):
        body += svg.text(x + 12, y + 4 + _LINE * place, line, kind=kind)
    return marks.group(series.number, series.name, body, kind="key")


def _names(chart: Chart, axes: Axes, right: float) -> list[str]:
    """The names one below the other; of lines, each as near to its line's end as there is room."""
    series = [each for each in chart.panels[0].series if each.name]
    if chart.kind not in {Kind.LINE, Kind.MULTIPLES}:
        return [_key(each, right + 12, axes.frame.top + 8 + 19 * place) for place, each in enumerate(series)]
    ends = sorted((axes.place(each.spots[-1].x, each.spots[-1].y)[1], each.number, each) for each in series)
    drawn = []
    free: float = axes.frame.top
    for place, (y, _, each) in enumerate(ends):
        at = min(max(y, free), axes.frame.bottom - _LINE * (len(ends) - place - 1))
        free = at + _LINE
        drawn.append(_key(each, right + 12, at))
    return drawn
