"""The words and numbers of a plot, for the page, the picture and the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kernels.evidence import Basis
from kernels.experiment.plot.model import Chart, HeatMap, Plot, Roof, Roofs, Scale, Spot
from kernels.experiment.quantities import Interval
from kernels.rendering.experiment import SPEED_UNITS, params_text, value_text
from kernels.rendering.table import percent, short
from kernels.wording import plural

WIDE = 50
"""From this ratio of the largest value to the smallest, a scale is logarithmic."""


_TENS = 10.0
_MILLION = 1e6


def title_of(scale: Scale) -> str:
    """What a scale shows: `Speed, GFLOPS, measured on NVIDIA H200, highest over the other axes`."""
    if scale.quantity is None:
        return scale.name
    unit = scale.quantity.unit if scale.quantity.unit in SPEED_UNITS else ""
    return ", ".join(part for part in (scale.name, unit, scale.origin, scale.note) if part)


def bases_of(plot: Plot) -> list[Basis]:
    """What the plot's numbers are, each once."""
    scales = (plot.value,) if isinstance(plot, HeatMap) else (plot.y, plot.x)
    return list(dict.fromkeys(each.quantity.basis for each in scales if each.quantity is not None))


def value_of(scale: Scale, value: float) -> str:
    """A value with its unit: `8,154 GFLOPS`, `50 %`, `16`."""
    if scale.quantity is None:
        return scale.labels[round(value)] if scale.labels else f"{value:,.0f}"
    unit = f" {scale.quantity.unit}" if scale.quantity.unit in SPEED_UNITS else ""
    return f"{value_text(scale.quantity, value)}{unit}"


def number_of(scale: Scale, value: float) -> str:
    """A value without its unit, for a cell or a bar."""
    return value_text(scale.quantity, value) if scale.quantity is not None else value_of(scale, value)


def interval_of(scale: Scale, ends: Interval | None) -> str:
    """An interval: `8,150 to 8,160`; "" for none."""
    if ends is None or scale.quantity is None:
        return ""
    return " to ".join(value_text(scale.quantity, end) for end in ends)


def tick(scale: Scale, value: float) -> str:
    """A number at a line of the grid."""
    if scale.quantity is None:
        return value_of(scale, value)
    if scale.quantity.unit.startswith("share"):
        return percent(value)
    if value < _MILLION:
        return short(value) if value >= 10 else f"{value:g}"
    return short(value) if value >= 10 * _MILLION else f"{value / _MILLION:.4g} M"


def spot_text(chart: Chart, spot: Spot) -> str:
    """All about a point: its values, what is drawn, and the intervals."""
    said = [_measure(chart.y, spot.y, spot.y_ends)]
    if chart.x.quantity is not None:
        said.append(_measure(chart.x, spot.x, spot.x_ends))
    return f"{point_text(spot)}: {'; '.join(said)}"


def point_text(spot: Spot) -> str:
    """The kernel and the values of a point."""
    return ", ".join(part for part in (spot.result.kernel, params_text(spot.result.params)) if part)


def cell_texts(plot: HeatMap) -> Iterator[str]:
    """All about each cell, grid by grid."""
    for grid in plot.grids:
        for cell in grid.cells:
            place = f"{plot.x.name}={plot.x.labels[cell.column]}, {plot.y.name}={plot.y.labels[cell.row]}"
            if cell.value is None:
                yield f"{place}: {cell.result.verdict.value.replace('_', ' ')}"
            else:
                at = params_text(cell.result.params)
                yield f"{cell.result.kernel}, {at}: {_measure(plot.value, cell.value, cell.ends)}"


def short_name(name: str, most: int) -> str:
    """The name without its middle if it is too long: the ends tell names apart."""
    if len(name) <= most:
        return name
    kept = most - 1
    return f"{name[: kept - kept // 2]}…{name[len(name) - kept // 2 :]}"


def left_out(chart: Chart) -> str:
    """How many points aren't drawn; "" if all are."""
    drawn = len(chart.spots)
    return f"{drawn:,} of {plural(drawn + chart.left_out, 'point')} are drawn." if chart.left_out else ""


def roof_text(roof: Roof) -> str:
    """A roof's name with its figure: `memory 4,800 GB/s`."""
    return f"{roof.name} {roof.gbs:,.0f} GB/s"


def roofs_text(roofs: Roofs) -> str:
    """The sources of the roofs' figures."""
    first, *others = roofs.memories
    said = [f"{first.name} and cores from {first.source}", *(f"{each.name} from {each.source}" for each in others)]
    return f"Roofs: {', '.join(said)}."


def description(plot: Plot) -> str:
    """The plot in words, for people who don't see it."""
    if isinstance(plot, HeatMap):
        ends = f"{value_of(plot.value, plot.low)} to {value_of(plot.value, plot.high)}"
        best = value_of(plot.value, plot.best)
        return f"{title_of(plot.value)}, over {plot.x.name} and {plot.y.name}: {ends}. The best is {best}."
    spots = sorted(plot.spots, key=lambda spot: spot.y)
    ends = f"{value_of(plot.y, spots[0].y)} to {value_of(plot.y, spots[-1].y)}"
    names = ", ".join(each.name for each in plot.series if each.name)
    over = f"{title_of(plot.y)}, over {title_of(plot.x)}: {ends}, {plural(len(spots), 'point')}."
    return over + (f" Series: {names}." if names else "")


def numbers_of(plot: Plot) -> tuple[list[str], list[list[str]]]:
    """The plotted numbers as a table: its titles and its rows."""
    if isinstance(plot, HeatMap):
        titles = [plot.x.name, plot.y.name, title_of(plot.value), "95 % interval", "point"]
        rows = [
            [
                plot.x.labels[cell.column],
                plot.y.labels[cell.row],
                value_of(plot.value, cell.value) if cell.value is not None else _verdict(cell.result.verdict.value),
                interval_of(plot.value, cell.ends),
                f"{cell.result.kernel}, {params_text(cell.result.params)}",
            ]
            for grid in plot.grids
            for cell in grid.cells
        ]
    else:
        titles = ["panel", "series", title_of(plot.x), title_of(plot.y), "95 % interval", "point"]
        rows = [
            [
                panel.name,
                each.name,
                value_of(plot.x, spot.x),
                value_of(plot.y, spot.y),
                interval_of(plot.y, spot.y_ends),
                point_text(spot),
            ]
            for panel in plot.panels
            for each in panel.series
            for spot in each.spots
        ]
    used = [place for place in range(len(titles)) if any(row[place] for row in rows)]
    return [titles[place] for place in used], [[row[place] for place in used] for row in rows]


def steps(most: float, *, whole: bool = False) -> list[float]:
    """Round values from 0 for 2 to 8 lines of a linear grid. The last is at least `most`.

    whole: whether only whole numbers make sense, such as on an axis of submissions
    """
    if most <= 0:
        return [0.0, 1.0]
    decade = 10.0 ** math.floor(math.log10(most / 4))
    if whole:
        decade = max(1.0, decade)
    # A label of 2.5 or 2.5 % would be rounded.
    factors = (1, 2, 5, 10) if decade < _TENS else (1, 2, 2.5, 5, 10)
    step = next(decade * factor for factor in factors if most / (decade * factor) <= 6 + 1e-9)
    return [number * step for number in range(math.ceil(most / step - 1e-9) + 1)]


def share_of(plot: HeatMap, value: float) -> float:
    """The position of a value between the lowest and the highest of a heat map, from 0 to 1."""
    if plot.high <= plot.low:
        return 0.5
    if is_wide((plot.low, plot.high)):
        return math.log(value / plot.low) / math.log(plot.high / plot.low)
    return (value - plot.low) / (plot.high - plot.low)


def is_wide(values: Sequence[float]) -> bool:
    """Whether the values need a logarithmic scale."""
    return min(values) > 0 and max(values) / min(values) >= WIDE


def _measure(scale: Scale, value: float, ends: Interval | None) -> str:
    name = scale.quantity.title.lower() if scale.quantity is not None else scale.name
    interval = interval_of(scale, ends)
    return f"{name} {value_of(scale, value)}" + (f" (95 % interval {interval})" if interval else "")


def _verdict(name: str) -> str:
    return name.replace("_", " ")
