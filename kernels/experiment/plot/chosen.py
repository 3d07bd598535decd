"""The plot for a request, and the plots that an experiment gets without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from kernels.counters import COUNTERS
from kernels.experiment.plot.charts import (
    bar_chart,
    line_axes,
    line_chart,
    multiples,
    pareto_chart,
    roofline_chart,
    scatter_chart,
    y_quantity,
)
from kernels.experiment.plot.heat_map import heat_map
from kernels.experiment.plot.model import KERNEL, Kind, NoPlot, Plot, Request, axis_values
from kernels.experiment.plot.series import all_varied, check_axes, check_values, short_kernels
from kernels.experiment.quantities import QUANTITIES, NoSuchQuantity, Quantity, quantity
from kernels.experiment.result import PointResult
from kernels.verdict import Verdict

Results = Sequence[PointResult]

_CHARTS: Mapping[Kind, Callable[[Results, Request], Plot]] = {
    Kind.LINE: line_chart,
    Kind.MULTIPLES: multiples,
    Kind.BARS: bar_chart,
    Kind.SCATTER: scatter_chart,
    Kind.ROOFLINE: roofline_chart,
    Kind.PARETO: pareto_chart,
}
_FEW = 3
"""An axis with at most so many values gets bars."""
_LOOKED_AT = 100
"""Results in which a quantity must have a value to be offered."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What a plot of some results can show. axes: the kernels among them, if there are several."""

    axes: tuple[str, ...]
    quantities: tuple[Quantity, ...]


def choices(results: Results) -> Choices:
    """The axes and quantities to choose from. A quantity that is 0 at all points isn't offered."""
    accepted = _accepted(results)
    some = accepted[:: max(1, len(accepted) // _LOOKED_AT)]
    counters = (name for name in COUNTERS if not name.startswith("ptx_") and name != "global_load_requests")
    every = map(quantity, (*QUANTITIES, "energy", *counters))
    return Choices(tuple(all_varied(results)), tuple(what for what in every if any(map(what.of, some))))


def plot(results: Results, request: Request) -> Plot:
    """The plot of accepted points; raises NoPlot, or NoSuchQuantity for a quantity's name."""
    results, kernels = short_kernels(results)
    accepted = _accepted(results)
    if not accepted:
        raise NoPlot("No point of this experiment is accepted, so there is nothing to draw.")
    kind = request.kind or _kind(results, request)
    if kind is Kind.HEATMAP:
        return replace(heat_map(results, request), kernels=kernels)
    if kind is Kind.LINE and request.panels:
        kind = Kind.MULTIPLES
    return replace(_CHARTS[kind](accepted, request), kernels=kernels)


def default_plots(results: Results, wanted: Request | None = None) -> Iterator[Plot]:
    """The wanted plot, then others that suit the axes and the quantities, the most telling first."""
    accepted = _accepted(results)
    first = [wanted] if wanted is not None else []
    titles: set[str] = set()
    for request in chain(first, _requests(accepted)) if accepted else ():
        try:
            made = plot(results, request)
        except NoPlot:
            continue
        if made.title not in titles:
            titles.add(made.title)
            yield made


def _accepted(results: Results) -> list[PointResult]:
    return [result for result in results if result.verdict is Verdict.ACCEPTED]


def _kind(results: Results, request: Request) -> Kind:
    if request.x:
        try:
            check_axes(results, request.x)
        except NoPlot:
            with_quantity = _is_quantity(request.x)
            return Kind.SCATTER if with_quantity else Kind.LINE
        return Kind.BARS if request.x == KERNEL else Kind.LINE
    if request.by:
        return Kind.LINE
    return _first_kind(_accepted(results))


def _is_quantity(name: str) -> bool:
    try:
        quantity(name)
    except NoSuchQuantity:
        return False
    return True


def _first_kind(results: Results) -> Kind:
    axes = all_varied(results)
    if len(axes) >= 2:
        return Kind.LINE if line_axes(results)[0] in results[0].sizes else Kind.HEATMAP
    few = not axes or axes == [KERNEL] or len(axis_values(results, axes[0])) <= _FEW
    return Kind.BARS if few else Kind.LINE


def _requests(results: Results) -> Iterator[Request]:
    """What a page shows without a choice; a plot that isn't possible is left out."""
    axes, speed = all_varied(results), y_quantity(results, "")
    if not axes:
        return
    first = _first_kind(results)
    yield Request(first)
    if len(axes) >= 2:
        yield Request(Kind.LINE if first is Kind.HEATMAP else Kind.HEATMAP)
    if len(axes) >= 3:
        yield Request(Kind.MULTIPLES)
    over = Request(first if len(axes) == 1 else Kind.LINE)
    for name in ("bound", "occupancy", "loads"):
        if name != speed.name and _differs(results, name):
            yield replace(over, y=name)
    if len(results) > 2:
        measured = speed.name != "bound"
        if measured and speed.unit == "GFLOPS":
            yield Request(Kind.SCATTER, "bound")
        if (measured or len(axes) > 1) and _differs(results, "occupancy"):
            yield Request(Kind.SCATTER, "occupancy")
        yield Request(Kind.ROOFLINE)
        if _has(results, "energy"):
            yield Request(Kind.PARETO)


def _differs(results: Results, name: str) -> bool:
    what = quantity(name)
    return len({value for result in results if (value := what.of(result)) is not None}) > 1


def _has(results: Results, name: str) -> bool:
    try:
        check_values(results, quantity(name))
    except NoPlot:
        return False
    return True
