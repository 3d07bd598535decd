"""Charts from results: over an axis, or of two quantities. Each raises NoPlot if nothing can be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernels.analysis.devices import Device, devices
from kernels.counters import HALF_WORK, Totals
from kernels.experiment.plot.model import (
    KERNEL,
    Chart,
    Join,
    Kind,
    NoPlot,
    Panel,
    Request,
    Roof,
    Roofs,
    Scale,
    Series,
    Spot,
    axis_value,
    axis_values,
)
from kernels.experiment.plot.series import (
    all_varied,
    by_effect,
    check_axes,
    check_values,
    front,
    full_name,
    lines,
    point_name,
)
from kernels.experiment.quantities import Quantity, origin, quantity, speed_of
from kernels.experiment.result import PointResult

MOST_SERIES = 16
MOST_PANELS = 12
MOST_BARS = 48
MOST_SPOTS = 1000
_LABELLED = 6
"""The most points of a front with their names."""

Results = Sequence[PointResult]


def y_quantity(results: Results, name: str) -> Quantity:
    """A quantity by its name; by default the measured speed, or the speed of light if nothing was measured."""
    return quantity(name) if name else speed_of(list(results)) or quantity("bound")


def axis_scale(results: Results, axis: str) -> Scale:
    """An axis of the experiment; one of names has labels."""
    values = axis_values(results, axis)
    named = any(isinstance(value, str) for value in values)
    return Scale(axis, labels=tuple(map(str, values)) if named else ())


def quantity_scale(results: Results, what: Quantity, used: Sequence[str] | None = None) -> Scale:
    """A quantity. used: the axes of the plot, if it shows the best of the others."""
    rest = set(all_varied(results)) - set(used) if used is not None else ()
    note = f"{'highest' if what.better == 'more' else 'lowest'} over the other axes" if rest else ""
    return Scale(what.title, what, origin(what, results), note=note)


def by_panel(results: Results, axis: str) -> list[tuple[str, list[PointResult]]]:
    """The points of each panel with its name; one panel without an axis."""
    if not axis:
        return [("", list(results))]
    values = axis_values(results, axis)
    if len(values) > MOST_PANELS:
        raise NoPlot(f"`{axis}` has {len(values)} values, which are too many panels. Choose another axis.")
    groups: dict[int | str, list[PointResult]] = {value: [] for value in values}
    for result in results:
        groups[axis_value(result, axis)].append(result)
    return [(point_name(group[0], [axis]), group) for group in groups.values()]


def line_chart(results: Results, request: Request) -> Chart:
    what = y_quantity(results, request.y)
    x = request.x or line_axes(results)[0]
    kind = Kind.MULTIPLES if request.panels else Kind.LINE
    check_axes(results, x, request.by, request.panels)
    by = _series_axis(results, x, request)
    used = None if by is None else [x, by, request.panels]
    scale, y = axis_scale(results, x), quantity_scale(results, what, used)
    panels, numbers = [], dict[str, int]()
    for name, points in by_panel(results, request.panels):
        if not any(what.of(point) is not None for point in points):
            continue
        found = lines(points, x, what, by)
        if len(found) > MOST_SERIES:
            raise NoPlot(f"{len(found)} lines are too many for a chart. Choose one axis with --by.")
        series = tuple(
            Series(
                numbers.setdefault(line.name, len(numbers)),
                line.name,
                tuple(_over_axis(point, scale, what) for point in line.points),
            )
            for line in found
        )
        panels.append(Panel(name, series))
    check_values(results, what)
    each = f", for each {request.panels}" if request.panels else ""
    return Chart(kind, f"{what.title} over {x}{each}", scale, y, tuple(panels))


def multiples(results: Results, request: Request) -> Chart:
    axes = [axis for axis in line_axes(results) if axis not in {request.x, request.by}]
    if not request.panels:
        x = request.x or (axes.pop(0) if axes else "")
        rest = sorted(axes, key=lambda axis: len(axis_values(results, axis)))
        chosen = next((axis for axis in rest if len(axis_values(results, axis)) <= MOST_PANELS), "")
        if not chosen:
            raise NoPlot("Small multiples need two axes with several values.")
        request = Request(Kind.MULTIPLES, x, request.y, request.by, chosen)
    return line_chart(results, request)


def bar_chart(results: Results, request: Request) -> Chart:
    """Groups of bars over an axis with few values, or over the kernels."""
    what = y_quantity(results, request.y)
    check_axes(results, request.x, request.by)
    few = sorted(all_varied(results), key=lambda axis: (axis != KERNEL, len(axis_values(results, axis))))
    x = request.x or next((axis for axis in few if axis != request.by), next(iter(results[0].params), KERNEL))
    by = request.by or next((axis for axis in few if axis != x and _few(results, axis)), "")
    check_values(results, what)
    values = axis_values(results, x)
    scale = Scale(x, labels=tuple(f"{value:,}" if isinstance(value, int) else value for value in values))
    found = lines(results, x, what, by)
    if len(values) * len(found) > MOST_BARS or len(found) > MOST_SERIES:
        raise NoPlot(f"{len(values) * len(found)} bars are too many. Choose axes with fewer values.")
    series = tuple(
        Series(number, line.name, tuple(_over_axis(point, scale, what, values) for point in line.points), Join.NONE)
        for number, line in enumerate(found)
    )
    y = quantity_scale(results, what, [x, by])
    return Chart(Kind.BARS, f"{what.title} by {x}", scale, y, (Panel("", series),))


def scatter_chart(results: Results, request: Request) -> Chart:
    """Two quantities of each point. By default, occupancy and speed."""
    x, y = quantity(request.x or "occupancy"), y_quantity(results, request.y)
    check_axes(results, request.by)
    check_values(results, x, y)
    found = [result for result in results if x.of(result) is not None and y.of(result) is not None]
    by = request.by or next((axis for axis in by_effect(found, y) if _few(found, axis)), "")
    series, left_out = _by_series(found, by, x, y)
    scales = quantity_scale(results, x), quantity_scale(results, y)
    return Chart(
        Kind.SCATTER,
        f"{y.title} against {x.title.lower()}",
        *scales,
        (Panel("", series),),
        diagonal=x.unit == y.unit and x.name != y.name,
        left_out=left_out,
    )


def roofline_chart(results: Results, request: Request) -> Chart:
    """All points under the roofs of the device that the speed of light is modelled for."""
    speed = quantity("gflops")
    default = "gflops" if any(speed.of(result) is not None for result in results) else "bound"
    x, y = quantity("compute_to_memory"), quantity(request.y or default)
    if y.unit != "GFLOPS":
        raise NoPlot(f"A roofline shows GFLOPS, and `{y.name}` is in {y.unit or 'no unit'}.")
    check_axes(results, request.by)
    check_values(results, x, y)
    found = [result for result in results if (x.of(result) or 0) > 0 and (y.of(result) or 0) > 0]
    names = {each.modelled.device for each in found if each.modelled is not None}
    device = next((device for device in devices().values() if device.title in names), None)
    if device is None:
        raise NoPlot("A roofline needs the speed of light, and no point has it.")
    by = request.by or next((axis for axis in by_effect(found, y) if _few(found, axis)), "")
    series, left_out = _by_series(found, by, x, y)
    scales = quantity_scale(results, x), quantity_scale(results, y)
    counted = [each.counted.totals for each in found if each.counted is not None]
    title, roofs = f"Roofline of {device.title}", roofs_of(device, counted)
    return Chart(Kind.ROOFLINE, title, *scales, (Panel("", series),), roofs=roofs, left_out=left_out)


def roofs_of(device: Device, counted: Sequence[Totals] = ()) -> Roofs:
    """The roofs of a device for kernels with these totals. None of these is measured by Tilelab."""
    memories = (
        Roof("memory", device.memory_gbs, "the data sheet"),
        Roof("L2", device.l2_gbs, "micro-benchmarks"),
        Roof("L1", device.l1_gbs, "its bytes a clock"),
    )
    peaks = [peak for totals in counted if (peak := _tensor_peak(device, totals)) is not None]
    if peaks:
        return Roofs(device.title, max(peaks), memories, "tensor cores")
    return Roofs(device.title, device.peak_gflops, memories)


def _tensor_peak(device: Device, totals: Totals) -> float | None:
    """The peak of tensor cores with a kernel's types; None if they do less than half of its operations."""
    if 2 * totals.tensor_flops <= totals.flops or not totals.tensor_work:
        return None
    return device.tensor_gflops * HALF_WORK * totals.tensor_flops / totals.tensor_work


def pareto_chart(results: Results, request: Request) -> Chart:
    """Two quantities, with the points that no other beats in both. By default, speed and energy or loads."""
    y = y_quantity(results, request.y)
    energy = any(quantity("energy").of(result) is not None for result in results)
    x = quantity(request.x or ("energy" if energy else "loads"))
    check_values(results, x, y)
    found = [result for result in results if x.of(result) is not None and y.of(result) is not None]
    best = front(found, x, y)
    numbers = {each.number for each in best}
    rest, left_out = _thinned([each for each in found if each.number not in numbers], y)
    spots = [_of_two(each, x, y) for each in best]
    if len(best) <= _LABELLED:
        labels = (point_name(each, each.params) or each.kernel for each in best)
        spots = [replace(spot, label=label) for spot, label in zip(spots, labels, strict=True)]
    series = [Series(0, "not beaten", tuple(spots), Join.STEPS)]
    if rest:
        series.append(Series(1, "beaten", tuple(_of_two(each, x, y) for each in rest), Join.NONE, faint=True))
    scales = quantity_scale(results, x), quantity_scale(results, y)
    title = f"Best of {y.title.lower()} and {x.title.lower()}"
    return Chart(Kind.PARETO, title, *scales, (Panel("", tuple(series)),), left_out=left_out)


def line_axes(results: Results) -> list[str]:
    """The axes for the horizontal direction, the most suitable first: a size, then the most values."""

    def suits(axis: str) -> tuple[bool, bool, int]:
        values = axis_values(results, axis)
        return axis == KERNEL, not (axis in results[0].sizes and len(values) > 2), -len(values)

    axes = sorted(all_varied(results), key=suits)
    return axes or list(results[0].params)[:1] or [KERNEL]


def _few(results: Results, axis: str) -> bool:
    return len(axis_values(results, axis)) <= MOST_SERIES


def _series_axis(results: Results, x: str, request: Request) -> str | None:
    """The axis of the series; None for a series for each combination of the other axes."""
    rest = [axis for axis in all_varied(results) if axis not in {x, request.panels}]
    combinations = len({tuple(axis_value(result, axis) for axis in rest) for result in results})
    if request.by or combinations <= MOST_SERIES or (request.x and not request.panels):
        return request.by or None
    return next((axis for axis in line_axes(results) if axis in rest and _few(results, axis)), "")


def _by_series(results: Results, by: str, x: Quantity, y: Quantity) -> tuple[tuple[Series, ...], int]:
    """Points without lines, in a series for each value of an axis; and how many were left out."""
    kept, left_out = _thinned(results, y)
    groups: dict[str, list[PointResult]] = {}
    for value in axis_values(results, by) if by else [""]:
        groups[f"{by}={value}" if by not in {"", KERNEL} else str(value)] = []
    if len(groups) > MOST_SERIES:
        raise NoPlot(f"`{by}` has {len(groups)} values, which are too many series. Choose another axis.")
    for each in kept:
        groups[point_name(each, [by])].append(each)
    series = (
        Series(number, name, tuple(_of_two(each, x, y) for each in found), Join.NONE)
        for number, (name, found) in enumerate(groups.items())
        if found
    )
    return tuple(series), left_out


def _thinned(results: Results, what: Quantity) -> tuple[list[PointResult], int]:
    """At most so many points as a picture shows, evenly by their value with both ends."""
    if len(results) <= MOST_SPOTS:
        return list(results), 0
    ordered = sorted(results, key=lambda result: what.of(result) or 0.0)
    kept = [ordered[round(n * (len(ordered) - 1) / (MOST_SPOTS - 1))] for n in range(MOST_SPOTS)]
    return kept, len(results) - MOST_SPOTS


def _over_axis(result: PointResult, scale: Scale, what: Quantity, values: Sequence[int | str] | None = None) -> Spot:
    value = axis_value(result, scale.name)
    if values is not None:
        place = values.index(value)
    else:
        place = value if isinstance(value, int) and not scale.labels else scale.labels.index(str(value))
    return Spot(place, what.of(result) or 0.0, full_name(result), y_ends=what.interval(result))


def _of_two(result: PointResult, x: Quantity, y: Quantity) -> Spot:
    place = x.of(result) or 0.0, y.of(result) or 0.0
    return Spot(*place, full_name(result), x_ends=x.interval(result), y_ends=y.interval(result))
