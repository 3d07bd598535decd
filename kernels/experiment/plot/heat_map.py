from __future__ import annotations

from collections.abc import Sequence

from kernels.experiment.plot.charts import by_panel, quantity_scale, y_quantity
from kernels.experiment.plot.model import (
    KERNEL,
    Cell,
    Grid,
    HeatMap,
    Kind,
    NoPlot,
    Request,
    Scale,
    axis_value,
    axis_values,
)
from kernels.experiment.plot.series import all_varied, better, by_effect, check_axes, check_values
from kernels.experiment.quantities import Quantity
from kernels.experiment.result import PointResult
from kernels.verdict import Verdict

MOST_VALUES = 40
"""The most columns, and the most rows."""


def heat_map(results: Sequence[PointResult], request: Request) -> HeatMap:
    """A quantity over two axes, by default over those with the largest effect; raises NoPlot."""
    check_axes(results, request.x, request.by, request.panels)
    accepted = [result for result in results if result.verdict is Verdict.ACCEPTED]
    what = y_quantity(accepted, request.y)
    check_values(accepted, what)
    x, y = _two_axes(results, accepted, request, what)
    for axis in (x, y):
        if (count := len(axis_values(results, axis))) > MOST_VALUES:
            raise NoPlot(f"`{axis}` has {count} values, which are too many for a heat map. Choose another axis.")
    columns, rows = _scale(results, x), _scale(results, y)
    grids = tuple(Grid(name, _cells(inside, results, x, y, what)) for name, inside in by_panel(results, request.panels))
    value = quantity_scale(results, what, [x, y, request.panels])
    found = [cell.value for grid in grids for cell in grid.cells if cell.value is not None]
    low, high = min(found), max(found)
    each = f", for each {request.panels}" if request.panels else ""
    title = f"{what.title} over {x} and {y}{each}"
    best = low if what.better == "less" else high
    return HeatMap(Kind.HEATMAP, title, columns, rows, value, grids, low, high, best)


def _two_axes(
    results: Sequence[PointResult], accepted: Sequence[PointResult], request: Request, what: Quantity
) -> tuple[str, str]:
    """The horizontal and the vertical axis; without a choice, the axis with more values is horizontal."""
    free = [axis for axis in by_effect(accepted, what) if axis not in {request.x, request.by, request.panels}]
    free += [axis for axis in all_varied(results) if axis not in {*free, request.x, request.by, request.panels}]
    free = [axis for axis in free if len(axis_values(results, axis)) <= MOST_VALUES] or free
    free.sort(key=lambda axis: axis == KERNEL)
    wanted = 2 - bool(request.x) - bool(request.by)
    if len(free) < wanted:
        raise NoPlot("A heat map needs two axes with several values.")
    chosen = sorted(free[:wanted], key=lambda axis: (axis == KERNEL, -len(axis_values(results, axis))))
    return request.x or chosen.pop(0), request.by or chosen.pop(0)


def _scale(results: Sequence[PointResult], axis: str) -> Scale:
    return Scale(axis, labels=tuple(str(value) for value in axis_values(results, axis)))


def _cells(
    point_results: Sequence[PointResult], results: Sequence[PointResult], x: str, y: str, what: Quantity
) -> tuple[Cell, ...]:
    columns, rows = ({value: n for n, value in enumerate(axis_values(results, axis))} for axis in (x, y))
    tried: dict[tuple[int, int], PointResult] = {}
    best: dict[tuple[int, int], PointResult] = {}
    for each in point_results:
        place = columns[axis_value(each, x)], rows[axis_value(each, y)]
        tried.setdefault(place, each)
        if each.verdict is Verdict.ACCEPTED and what.of(each) is not None:
            best[place] = better(best.get(place), each, what)
    cells = []
    for (column, row), first in sorted(tried.items()):
        result = best.get((column, row), first)
        value = what.of(result) if (column, row) in best else None
        cells.append(Cell(column, row, value, result, what.interval(result) if value is not None else None))
    return tuple(cells)
