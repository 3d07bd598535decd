"""A plot of an experiment, a report or a course. Pages, pictures and the terminal draw it from this definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum

from kernels.experiment.quantities import Interval, Quantity
from kernels.experiment.result import PointResult

KERNEL = "kernel"
"""The name of the kernels, wherever a plot takes an axis."""


_FLOAT = 4


class NoPlot(ValueError):
    """Nothing can be drawn; the message is a sentence."""


class Kind(StrEnum):
    LINE = "line"
    HEATMAP = "heatmap"
    SCATTER = "scatter"
    ROOFLINE = "roofline"
    PARETO = "pareto"
    MULTIPLES = "multiples"
    BARS = "bars"


@dataclass(frozen=True, slots=True)
class Request:
    """What a plot has to show. A field that is "" gets a default that suits the results.

    x: an axis, or a quantity if the plot has two quantities
    y: a quantity
    by: the axis of the series, or the rows of a heat map
    panels: the axis with a panel for each of its values
    """

    kind: Kind | None = None
    x: str = ""
    y: str = ""
    by: str = ""
    panels: str = ""

    @classmethod
    def from_plain(cls, table: Mapping[str, str] | None) -> Request | None:
        """The request that an experiment's file has, from its checked table; None without one."""
        if not table:
            return None
        names = {name: table.get(name, "") for name in ("x", "y", "by", "panels")}
        return cls(Kind(table["kind"]) if "kind" in table else None, **names)

    def to_plain(self) -> dict[str, str]:
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: str(value) for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class Scale:
    """The meaning of one direction of a plot, or of a heat map's colours.

    name: of the axis or quantity
    quantity: None for an axis of the experiment
    origin: of a quantity, such as "measured on NVIDIA H200"
    labels: of an axis of names; the value n is the n-th name
    note: which points the values are from, such as "highest over BX"
    ticks: the numbers of an axis from end to end; by default, they suit the values
    """

    name: str
    quantity: Quantity | None = None
    origin: str = ""
    labels: tuple[str, ...] = ()
    note: str = ""
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Spot:
    """A point at its place in a plot.

    label: the text next to it, if there is room
    x_ends, y_ends: its 95 % intervals, if it has any
    """

    x: float
    y: float
    name: str
    label: str = ""
    x_ends: Interval | None = None
    y_ends: Interval | None = None


class Join(StrEnum):
    """How the spots of a series are joined."""

    LINE = "line"
    STEPS = "steps"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Series:
    """Spots that belong together.

    number: decides colour, dashes and mark
    name: "" for the only one
    marked: whether its spots have marks, besides its line
    leads: whether the plot is about it, and compares it with the others
    """

    number: int
    name: str
    spots: tuple[Spot, ...]
    join: Join = Join.LINE
    faint: bool = False
    marked: bool = True
    leads: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes with its series. name: "" for the only one."""

    name: str
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Roof:
    """What a memory or cache of a device delivers. source: of the figure, such as "the data sheet"."""

    name: str
    gbs: float
    source: str

    @property
    def slope(self) -> float:
        """GFLOPS for each operation per 4-byte access."""
        return self.gbs / _FLOAT


@dataclass(frozen=True, slots=True)
class Roofs:
    """The limits of a device. memories: the slowest first; peak: of the `cores`, in GFLOPS, from the data sheet."""

    device: str
    peak: float
    memories: tuple[Roof, ...]
    cores: str = "cores"

    @property
    def knee(self) -> float:
        """The ratio from which no memory is the limit."""
        return self.peak / self.memories[0].slope

    def lines(self, low: float, high: float) -> list[tuple[tuple[float, float], tuple[float, float]]]:
        """A line for each memory up to the peak, and the peak, between two ratios."""
        slanted = [((low, memory.slope * low), (self.peak / memory.slope, self.peak)) for memory in self.memories]
        return [*slanted, (slanted[-1][1], (high, self.peak))]


@dataclass(frozen=True, slots=True)
class Chart:
    """Values over an axis or another quantity.

    diagonal: whether x and y are the same unit, so that a line shows where they are equal
    left_out: spots that aren't drawn, because there are too many
    kernels: the full names of kernels that the plot calls A, B and so on
    """

    kind: Kind
    title: str
    x: Scale
    y: Scale
    panels: tuple[Panel, ...]
    diagonal: bool = False
    roofs: Roofs | None = None
    left_out: int = 0
    kernels: Mapping[str, str] = field(default_factory=dict)

    @property
    def series(self) -> list[Series]:
        """Each series once, from the first panel that has it."""
        found = {each.number: each for panel in reversed(self.panels) for each in panel.series}
        return [found[number] for number in sorted(found)]

    @property
    def spots(self) -> list[Spot]:
        return [spot for panel in self.panels for each in panel.series for spot in each.spots]

    @property
    def marked(self) -> list[Spot]:
        return [spot for panel in self.panels for each in panel.series if each.marked for spot in each.spots]


@dataclass(frozen=True, slots=True)
class Cell:
    """One field of a heat map.

    value: None if no point has one
    result: the point with the value; without a value, the first point that was tried
    """

    column: int
    row: int
    value: float | None
    result: PointResult
    ends: Interval | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """The fields of one panel. name: "" for the only one."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A quantity over two axes; both scales have labels, and rows go up.

    value: the meaning of the colours
    low, high, best: of all values
    kernels: as in a chart
    """

    kind: Kind
    title: str
    x: Scale
    y: Scale
    value: Scale
    grids: tuple[Grid, ...]
    low: float
    high: float
    best: float
    kernels: Mapping[str, str] = field(default_factory=dict)


Plot = Chart | HeatMap


def axis_value(result: PointResult, axis: str) -> int | str:
    """The point's value of an axis, or the name of its kernel."""
    return result.kernel if axis == KERNEL else result.params[axis]


def axis_values(results: Sequence[PointResult], axis: str) -> list[int | str]:
    """The values of an axis: numbers by size, names in the order of the points."""
    found = dict.fromkeys(axis_value(result, axis) for result in results)
    if all(isinstance(value, str) for value in found):
        return list(found)
    return sorted(found, key=lambda value: (isinstance(value, str), value if isinstance(value, int) else 0))
