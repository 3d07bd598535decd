"""A heat map: the value in each cell, darker for more, and a frame around the best."""

from __future__ import annotations

import math
from collections.abc import Iterator

from markupsafe import Markup

from kernels.experiment.plot.model import Cell, Grid, HeatMap
from kernels.rendering.page.charts import marks, svg
from kernels.rendering.plot.axes import colours_of
from kernels.rendering.plot.labels import cell_texts, description, kernels_of, number_of, short_name, title_of, value_of

_WIDTH = 720
_LEFT, _TOP, _RIGHT = 84, 34, 16
_LABELS, _LEGEND = 44, 34
_WIDEST, _HIGHEST, _LOWEST = 88.0, 40.0, 13.0
_LETTER = 7.2


def heat_map_svg(plot: HeatMap, identity: str) -> Markup:
    """The map; several grids are panels with the same colours."""
    columns = 1 if len(plot.grids) == 1 else 2 if len(plot.grids) in {2, 4} else 3
    panel = (_WIDTH - _RIGHT) / columns
    wide = min(_WIDEST, (panel - _LEFT) / max(1, len(plot.x.labels)))
    high = (
        min(_HIGHEST, max(_LOWEST, 360 / len(plot.y.labels))) if columns == 1 else min(30.0, max(_LOWEST, 0.6 * wide))
    )
    named = 22 if plot.grids[0].name else 0
    each_high = len(plot.y.labels) * high + _LABELS + named
    texts = cell_texts(plot)
    body = [svg.text(16, 18, title_of(plot.value))]
    for number, grid in enumerate(plot.grids):
        left, top = _LEFT + panel * (number % columns), _TOP + named + each_high * (number // columns)
        body += _grid(plot, grid, (left, top, wide, high), texts)
    bottom = _TOP + each_high * math.ceil(len(plot.grids) / columns)
    body.append(_legend(plot, bottom + 14))
    names, height = svg.lines(kernels_of(plot), round(bottom + _LEGEND), _WIDTH)
    return svg.figure(
        identity, plot.title, description(plot), "".join(body) + names, _WIDTH, height, kind="chart plot heat"
    )


def _grid(plot: HeatMap, grid: Grid, place: tuple[float, float, float, float], texts: Iterator[str]) -> list[str]:
    left, top, wide, high = place
    rows = len(plot.y.labels)
    bottom = top + rows * high
    body = []
    if grid.name:
        columns = 1 if len(plot.grids) == 1 else 2 if len(plot.grids) in {2, 4} else 3
        name = short_name(grid.name, int((_WIDTH - _RIGHT) / columns / _LETTER) - 2)
        body.append(svg.text(left + wide * len(plot.x.labels) / 2, top - 8, name, kind="strong", anchor="middle"))
    drawn: list[str] = [""] * rows
    framed = ""
    for cell in grid.cells:
        x, y = left + cell.column * wide, bottom - (cell.row + 1) * high
        drawn[cell.row] += marks.spot(next(texts), x + wide / 2, y + high / 2, _cell(plot, cell, (x, y, wide, high)))
        if cell.value == plot.best:
            framed += f'<rect class="best" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}"/>'
    body += [f'<g class="series">{row}</g>' for row in reversed(drawn)]
    body.append(framed)
    every = math.ceil(max(len(label) for label in plot.x.labels) * _LETTER / wide)
    for number, label in enumerate(plot.x.labels):
        if number % every == 0:
            body.append(svg.text(left + (number + 0.5) * wide, bottom + 17, _cut(label), anchor="middle"))
    for number, label in enumerate(plot.y.labels):
        body.append(svg.text(left - 7, bottom - (number + 0.5) * high + 4, _cut(label), anchor="end"))
    body.append(svg.text(left + wide * len(plot.x.labels) / 2, bottom + 36, plot.x.name, anchor="middle"))
    middle = (top + bottom) / 2
    upright = f'<text transform="translate({left - _LEFT + 24:.0f} {middle:.0f}) rotate(-90)" text-anchor="middle">'
    body.append(f"{upright}{svg.words(plot.y.name)}</text>")
    return body


def _cell(plot: HeatMap, cell: Cell, place: tuple[float, float, float, float]) -> str:
    x, y, wide, high = place
    box = f'x="{x + 0.5:.1f}" y="{y + 0.5:.1f}" width="{wide - 1:.1f}" height="{high - 1:.1f}"'
    middle = x + wide / 2, y + high / 2 + 4.5
    if cell.value is None:
        return f'<rect class="none" {box}/>' + svg.text(*middle, "×", anchor="middle")
    step, label = round(colours_of(plot).share(cell.value) * (len(marks.HEAT) - 1)), number_of(plot.value, cell.value)
    drawn = f'<rect class="h{step}" {box}/>'
    if _LETTER * len(label) + 4 <= wide and high >= 15:
        kind = "on-light" if step <= marks.LIGHT_UNTIL else "on-dark"
        drawn += svg.text(*middle, label, kind=kind, anchor="middle")
    return drawn


def _legend(plot: HeatMap, y: float) -> str:
    low, high = value_of(plot.value, plot.low), value_of(plot.value, plot.high)
    at = 16 + _LETTER * len(low) + 16
    parts = [svg.text(16, y + 4, low)]
    parts += [
        f'<rect class="h{step}" x="{at + 18 * step:.1f}" y="{y - 7:.1f}" width="18" height="14"/>'
        for step in range(len(marks.HEAT))
    ]
    parts.append(f'<rect class="frame" x="{at:.1f}" y="{y - 7:.1f}" width="{18 * len(marks.HEAT)}" height="14"/>')
    at += 18 * len(marks.HEAT) + 8
    parts.append(svg.text(at, y + 4, high))
    at += _LETTER * len(high) + 24
    if colours_of(plot).logarithmic:
        parts.append(svg.text(at, y + 4, "logarithmic"))
        at += _LETTER * 12 + 16
    parts.append(f'<rect class="best" x="{at:.1f}" y="{y - 7:.1f}" width="18" height="14"/>')
    parts.append(svg.text(at + 26, y + 4, "best"))
    if any(cell.value is None for grid in plot.grids for cell in grid.cells):
        parts.append(svg.text(at + 76, y + 4, "× not accepted"))
    return "".join(parts)


def _cut(label: str) -> str:
    return label if len(label) <= 10 else f"{label[:9]}…"
