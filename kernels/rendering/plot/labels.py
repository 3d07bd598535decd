"""The words and numbers of a plot, for the page, the picture and the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from kernels.evidence import Basis
from kernels.experiment.plot.model import Cell, Chart, HeatMap, Plot, Roof, Roofs, Scale, Spot
from kernels.experiment.plot.series import full_name
from kernels.experiment.quantities import Interval
from kernels.rendering.experiment import value_text
from kernels.rendering.table import short
from kernels.wording import percent, plural

_MILLION = 1e6


def title_of(scale: Scale) -> str:
    """What a scale shows: `Speed, GFLOPS, measured on NVIDIA H200, highest over the other axes`."""
    if scale.quantity is None:
        return scale.name
    return ", ".join(part for part in (scale.name, scale.quantity.speed_unit, scale.origin, scale.note) if part)


def bases_of(plot: Plot) -> list[Basis]:
    """What the plot's numbers are, each once."""
    scales = (plot.value,) if isinstance(plot, HeatMap) else (plot.y, plot.x)
    return list(dict.fromkeys(scale.quantity.basis for scale in scales if scale.quantity is not None))


def value_of(scale: Scale, value: float) -> str:
    """A value with its unit: `8,154 GFLOPS`, `50 %`, `16`."""
    if scale.quantity is None:
        return scale.labels[round(value)] if scale.labels else f"{value:,.0f}"
    return f"{value_text(scale.quantity, value)} {scale.quantity.speed_unit}".rstrip()


def number_of(scale: Scale, value: float) -> str:
    return value_text(scale.quantity, value) if scale.quantity is not None else value_of(scale, value)


def interval_of(scale: Scale, ends: Interval | None) -> str:
    if ends is None or scale.quantity is None:
        return ""
    return " to ".join(value_text(scale.quantity, end) for end in ends)


def tick(scale: Scale, value: float) -> str:
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
    return f"{spot.name}: {'; '.join(said)}"


def cell_texts(plot: HeatMap) -> Iterator[str]:
    """All about each cell, grid by grid."""
    for grid in plot.grids:
        for cell in grid.cells:
            place = f"{plot.x.name}={plot.x.labels[cell.column]}, {plot.y.name}={plot.y.labels[cell.row]}"
            if cell.value is None:
                yield f"{place}: {cell_text(plot, cell)}"
            else:
                yield f"{full_name(cell.result)}: {_measure(plot.value, cell.value, cell.ends)}"


def cell_text(plot: HeatMap, cell: Cell) -> str:
    """A cell's value, or the verdict instead of one."""
    return value_of(plot.value, cell.value) if cell.value is not None else cell.result.verdict.words


def short_name(name: str, most: int) -> str:
    """The name without its middle if it is too long: the ends tell names apart."""
    if len(name) <= most:
        return name
    kept = most - 1
    return f"{name[: kept - kept // 2]}…{name[len(name) - kept // 2 :]}"


def kernels_of(plot: Plot) -> list[str]:
    """The full names of kernels that the plot calls by a letter: `A: best-ece408-f26-tiled.cu`."""
    return [f"{letter}: {name}" for letter, name in plot.kernels.items()]


def left_out(chart: Chart) -> str:
    """How many points aren't drawn; "" if all are."""
    drawn = len(chart.marked)
    return f"{drawn:,} of {plural(drawn + chart.left_out, 'point')} are drawn." if chart.left_out else ""


def roof_text(roof: Roof) -> str:
    """A roof's name with its figure: `memory 4,800 GB/s`."""
    return f"{roof.name} {roof.gbs:,.0f} GB/s"


def peak_text(roofs: Roofs) -> str:
    """The roof of the cores: `cores 66,908 GFLOPS`."""
    return f"{roofs.cores} {roofs.peak:,.0f} GFLOPS"


def limits_text(roofs: Roofs) -> str:
    return ", ".join([*map(roof_text, roofs.memories), peak_text(roofs)])


def roofs_text(roofs: Roofs) -> str:
    first, *others = roofs.memories
    said = [
        f"{first.name} and {roofs.cores} from {first.source}",
        *(f"{each.name} from {each.source}" for each in others),
    ]
    return f"Roofs: {', '.join(said)}."


def description(plot: Plot) -> str:
    """The plot in words, for people who don't see it."""
    if isinstance(plot, HeatMap):
        ends = f"{value_of(plot.value, plot.low)} to {value_of(plot.value, plot.high)}"
        best = value_of(plot.value, plot.best)
        return f"{title_of(plot.value)}, over {plot.x.name} and {plot.y.name}: {ends}. The best is {best}."
    spots = sorted(plot.marked, key=lambda spot: spot.y)
    ends = f"{value_of(plot.y, spots[0].y)} to {value_of(plot.y, spots[-1].y)}"
    names = ", ".join(each.name for each in plot.series if each.name)
    said = f"{title_of(plot.y)}, over {title_of(plot.x)}: {ends}, {plural(len(spots), 'point')}."
    said += f" Roofs of {plot.roofs.device}: {limits_text(plot.roofs)}." if plot.roofs is not None else ""
    return said + (f" Series: {names}." if names else "")


def numbers_of(plot: Plot) -> tuple[list[str], list[list[str]]]:
    """The plotted numbers as a table: its titles and its rows."""
    if isinstance(plot, HeatMap):
        titles = [plot.x.name, plot.y.name, title_of(plot.value), "95 % interval", "point"]
        rows = [
            [
                plot.x.labels[cell.column],
                plot.y.labels[cell.row],
                cell_text(plot, cell),
                interval_of(plot.value, cell.ends),
                full_name(cell.result),
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
                spot.name,
            ]
            for panel in plot.panels
            for each in panel.series
            for spot in each.spots
        ]
    used = [place for place in range(len(titles)) if any(row[place] for row in rows)]
    return [titles[place] for place in used], [[row[place] for place in used] for row in rows]


def _measure(scale: Scale, value: float, ends: Interval | None) -> str:
    name = scale.name.lower() if scale.quantity is not None else scale.name
    interval = interval_of(scale, ends)
    return f"{name} {value_of(scale, value)}" + (f" (95 % interval {interval})" if interval else "")
