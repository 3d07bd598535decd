from __future__ import annotations

import itertools
from collections.abc import Sequence

from kernels.experiment.plot.model import Cell, Chart, Grid, HeatMap, Join, Kind, Panel, Plot, Series
from kernels.rendering.plot.axes import Axis, axes_of, colours_of
from kernels.rendering.plot.labels import (
    interval_of,
    kernels_of,
    left_out,
    limits_text,
    number_of,
    roofs_text,
    tick,
    title_of,
    value_of,
)
from kernels.rendering.text_safety import cut, safe, width
from kernels.rendering.text_style import BOLD, DIM, Style

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BRAILLE = 0x2800
_ACROSS, _DOWN = 2, 4

COLOURS = ("36", "33", "32", "35", "34", "31")
"""Of the series, as a terminal's codes."""

MARKS = ("●", "■", "▲", "◆", "○", "□", "△", "◇", "✚", "✖", "▼", "★", "◉", "▣", "▽", "✦")
PLAIN_MARKS = tuple("ox#*+@%&vsdzmnwk")


class Canvas:
    """Characters in rows, the first at the top. Positions are shares of width and height, from the lower left."""

    def __init__(self, width: int, height: int, style: Style) -> None:
        self._width, self._height, self._style = width, height, style
        self._dots: dict[tuple[int, int], int] = {}
        self._marks: dict[tuple[int, int], str] = {}
        self._colours: dict[tuple[int, int], str] = {}

    def mark(self, number: int, x: float, y: float) -> None:
        """The mark of a series. The first at a place stays."""
        marks = MARKS if self._style.unicode else PLAIN_MARKS
        place = round(y * (self._height - 1)), round(x * (self._width - 1))
        if place not in self._marks:
            self._marks[place] = marks[number % len(marks)]
            self._colours[place] = COLOURS[number % len(COLOURS)]

    def line(self, code: str, first: tuple[float, float], second: tuple[float, float]) -> None:
        """A line of dots. code: its colour, "" for none."""
        across = _ACROSS * (self._width - 1) * abs(second[0] - first[0])
        up = _DOWN * (self._height - 1) * abs(second[1] - first[1])
        count = max(1, round(max(across, up)))
        for number in range(count + 1):
            share = number / count
            self._dot(code, first[0] + share * (second[0] - first[0]), first[1] + share * (second[1] - first[1]))

    def rows(self) -> list[str]:
        return [self._row(row) for row in reversed(range(self._height))]

    def _dot(self, code: str, x: float, y: float) -> None:
        # A cell has 2 x 4 dots, and a mark is in its middle. So dots are shifted by half a cell.
        across = round(x * (self._width - 1) * _ACROSS)
        up = round(y * (self._height - 1) * _DOWN) + 1
        row, column = min(up // _DOWN, self._height - 1), min(across // _ACROSS, self._width - 1)
        self._dots[row, column] = self._dots.get((row, column), 0) | _DOTS[_DOWN - 1 - up % _DOWN][across % _ACROSS]
        self._colours.setdefault((row, column), code)

    def _row(self, row: int) -> str:
        said, code, run = "", "", ""
        for column in range(self._width):
            place = row, column
            char = self._marks.get(place) or self._dotted(self._dots.get(place, 0))
            colour = self._colours.get(place, "") if char != " " else code
            if colour != code:
                said, run, code = said + self._style.paint(run, code), "", colour
            run += char
        return (said + self._style.paint(run.rstrip(), code)).rstrip()

    def _dotted(self, dots: int) -> str:
        if not dots:
            return " "
        return chr(_BRAILLE + dots) if self._style.unicode else "."


_ROWS, _PANEL_ROWS = 16, 9
_SHORTEST = 20
"""Characters of a full bar; with fewer, its interval is left out."""
_SHADES, _PLAIN_SHADES = " ░▒▓█", " .:+#"
_GREYS = (255, 252, 249, 246, 243, 240, 237, 234)
"""Backgrounds of a terminal with 256 colours, darker for more."""
_BLACK, _WHITE, _LIGHT_UNTIL = 16, 231, 3


def plot_text(plot: Plot, style: Style) -> str:
    heading = style.paint(cut(safe(plot.title), style.width), BOLD)
    if isinstance(plot, HeatMap):
        lines = _heat_map(plot, style)
    elif plot.kind is Kind.BARS:
        lines = _bars(plot, style)
    else:
        lines = _chart(plot, style)
    for name in kernels_of(plot):
        lines += style.wrap(safe(name))
    return "\n".join([heading, *lines])


def _chart(chart: Chart, style: Style) -> list[str]:
    lines = [*style.wrap(safe(title_of(chart.y))), ""]
    for panel in chart.panels:
        if panel.name:
            lines.append(style.paint(safe(panel.name), BOLD))
        lines += _panel(chart, panel, style, _PANEL_ROWS if len(chart.panels) > 1 else _ROWS)
    lines += [_centred(safe(title_of(chart.x)), style.width)]
    if named := [each for each in chart.series if each.name]:
        lines += ["", *_wrapped([_key(each, style) for each in named], style)]
    if chart.roofs is not None:
        lines += style.wrap(f"The dotted roofs are {chart.roofs.device}: {limits_text(chart.roofs)}.")
        lines += style.wrap(roofs_text(chart.roofs))
    if chart.diagonal:
        lines += style.wrap("Points on the dotted diagonal have the same value in both.")
    return [*lines, *style.wrap(left_out(chart))]


def _panel(chart: Chart, panel: Panel, style: Style, height: int) -> list[str]:
    across, up = axes_of(chart)
    labels = [(up.share(value), tick(chart.y, value)) for value in up.ticks]
    left = max(len(label) for _, label in labels) + 1
    wide = style.width - left - 3
    canvas = Canvas(wide, height, style)
    if chart.diagonal:
        canvas.line(DIM, (0, 0), (1, 1))
    for line in chart.roofs.lines(across.low, across.high) if chart.roofs is not None else ():
        canvas.line(DIM, *((across.share(x), up.share(y)) for x, y in line))
    for series in panel.series:
        _draw(canvas, series, across, up)
    columns = [(across.share(x), tick(chart.x, x)) for x in across.ticks]
    return _framed(canvas.rows(), labels, columns, left, wide, style)


def _draw(canvas: Canvas, series: Series, across: Axis, up: Axis) -> None:
    places = [(across.share(spot.x), up.share(spot.y)) for spot in series.spots]
    code = COLOURS[series.number % len(COLOURS)]
    for place in places if series.marked else ():
        canvas.mark(series.number, *place)
    if series.join is not Join.NONE:
        for before, after in itertools.pairwise(places):
            corner = (after[0], before[1]) if series.join is Join.STEPS else after
            canvas.line(code, before, corner)
            canvas.line(code, corner, after)


def _framed(
    rows: Sequence[str],
    labels: Sequence[tuple[float, str]],
    columns: Sequence[tuple[float, str]],
    left: int,
    wide: int,
    style: Style,
) -> list[str]:
    upright, tee, corner, flat = ("│", "┤", "└", "─") if style.unicode else ("|", "+", "+", "-")
    at = {round((1 - share) * (len(rows) - 1)): label for share, label in labels}
    lines = []
    for number, row in enumerate(rows):
        label = at.get(number, "")
        lines.append(f"{label.rjust(left)} {tee if label else upright}{row}".rstrip())
    lines.append(f"{' ' * left} {corner}{flat * wide}")
    foot = [" "] * (wide + left + 3)
    free = left
    for share, label in columns:
        start = left + 2 + round(share * (wide - 1)) - len(label) // 2
        start = min(max(start, left), left + 3 + wide - len(label))
        if start >= free:
            foot[start : start + len(label)] = label
            free = start + len(label) + 1
    return [*lines, "".join(foot).rstrip()]


def _bars(chart: Chart, style: Style) -> list[str]:
    most = max(spot.y for spot in chart.spots)
    lines = style.wrap(safe(title_of(chart.y)))
    names = {spot.x: safe(value_of(chart.x, spot.x)) for spot in chart.spots}
    series = [safe(each.name) for each in chart.series]
    left = min(style.width // 3, max(map(width, [*names.values(), *(f"  {name}" for name in series)])))
    for x in sorted(names):
        inside = [(each, spot) for each in chart.panels[0].series for spot in each.spots if spot.x == x]
        if len(chart.series) > 1:
            lines += ["", style.paint(f"{chart.x.name} {names[x]}", BOLD)]
        for each, spot in inside:
            name = f"  {safe(each.name)}" if len(chart.series) > 1 else names[x]
            said, ends = value_of(chart.y, spot.y), interval_of(chart.y, spot.y_ends)
            if ends and style.width - left - width(f"{said} ({ends})") >= _SHORTEST:
                said += f" ({ends})"
            room = style.width - left - width(said) - 3
            bar = _bar(spot.y / most if most else 0.0, room, style)
            code = COLOURS[each.number % len(COLOURS)]
            lines.append(f"{cut(name, left).ljust(left)} {style.paint(bar, code)} {said}")
    return [*lines, "", f"{' ' * left} {safe(chart.x.name)}"] if len(chart.series) == 1 else lines


def _bar(share: float, room: int, style: Style) -> str:
    if not style.unicode:
        return "#" * max(1, round(share * room))
    eighths = max(1, round(8 * share * room))
    rest = eighths % 8
    return "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


def _heat_map(plot: HeatMap, style: Style) -> list[str]:
    lines = style.wrap(safe(title_of(plot.value)))
    for grid in plot.grids:
        lines += ["", *([style.paint(safe(grid.name), BOLD)] if grid.name else []), *_grid(plot, grid, style)]
    star = "★" if style.unicode else "*"
    ends = f"{value_of(plot.value, plot.low)} to {value_of(plot.value, plot.high)}"
    said = f"{'Darker' if style.colour else 'A fuller sign'} is more, from {ends}. {star} is the best."
    if any(cell.value is None for grid in plot.grids for cell in grid.cells):
        said += f" {'×' if style.unicode else 'x'} isn't accepted."
    return [*lines, "", *style.wrap(said)]


def _grid(plot: HeatMap, grid: Grid, style: Style) -> list[str]:
    """The cells as a table, in as many columns as the terminal has room for."""
    cells = {(cell.column, cell.row): cell for cell in grid.cells}
    left = max(map(width, [*plot.y.labels, plot.y.name]))
    widest = max(map(width, [*(_cell_text(plot, cell, style) for cell in grid.cells), *plot.x.labels]))
    wide = widest + 3
    fitting = max(1, (style.width - left - 2) // wide)
    lines = []
    for start in range(0, len(plot.x.labels), fitting):
        columns = range(start, min(start + fitting, len(plot.x.labels)))
        for row in reversed(range(len(plot.y.labels))):
            line = "".join(_cell(plot, cells.get((column, row)), wide, style) for column in columns)
            lines.append(f"{safe(plot.y.labels[row]).rjust(left)}  {line}".rstrip())
        labels = "".join(safe(plot.x.labels[column]).rjust(wide - 1) + " " for column in columns)
        lines.append(f"{safe(plot.y.name).rjust(left)}  {labels}".rstrip())
        lines.append(" " * (left + 2) + _centred(safe(plot.x.name), wide * len(columns)))
    return lines


def _cell_text(plot: HeatMap, cell: Cell, style: Style) -> str:
    return number_of(plot.value, cell.value) if cell.value is not None else "×" if style.unicode else "x"


def _cell(plot: HeatMap, cell: Cell | None, wide: int, style: Style) -> str:
    """A value with its shade; a star before the best."""
    if cell is None:
        return " " * wide
    text = _cell_text(plot, cell, style)
    if cell.value is None:
        return f"{text} ".rjust(wide)
    share = colours_of(plot).share(cell.value)
    best = ("★" if style.unicode else "*") if cell.value == plot.best else " "
    if style.colour:
        step = round(share * (len(_GREYS) - 1))
        ink = _BLACK if step <= _LIGHT_UNTIL else _WHITE
        return style.paint(f"{best}{text} ".rjust(wide), f"38;5;{ink};48;5;{_GREYS[step]}")
    shades = _SHADES if style.unicode else _PLAIN_SHADES
    return f"{best}{text}{shades[round(share * (len(shades) - 1))]}".rjust(wide)


def _key(series: Series, style: Style) -> tuple[str, str]:
    marks = MARKS if style.unicode else PLAIN_MARKS
    mark, name = marks[series.number % len(marks)], safe(series.name)
    return f"{style.paint(mark, COLOURS[series.number % len(COLOURS)])} {name}", f"{mark} {name}"


def _wrapped(keys: Sequence[tuple[str, str]], style: Style) -> list[str]:
    lines, used = [""], 0
    for painted, plain in keys:
        if used and used + width(plain) + 3 > style.width:
            lines.append("")
            used = 0
        lines[-1] += f"{'   ' if used else '  '}{painted}"
        used += width(plain) + 3
    return lines


def _centred(text: str, columns: int) -> str:
    return cut(text, columns).center(columns).rstrip()
