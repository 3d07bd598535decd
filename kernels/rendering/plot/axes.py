"""The axes of a plot: the place of each value, and which values have a number. Pages and terminals share them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernels.experiment.plot.model import Chart, HeatMap, Kind, Scale

WIDE = 50
"""From this ratio of the largest value to the smallest, an axis is logarithmic."""
_BY_RATIO = 4
"""The same for an axis of the experiment, such as a size."""
_HEADROOM = 1.1
"""Above bars, for their values."""
_TENS = 10.0


@dataclass(frozen=True, slots=True)
class Axis:
    """A map from values to shares of a length. A value beyond an end is drawn at that end.

    ticks: the values with a number
    """

    low: float
    high: float
    ticks: tuple[float, ...] = ()
    logarithmic: bool = False

    def share(self, value: float) -> float:
        if self.high <= self.low:
            return 0.5
        if self.logarithmic:
            share = math.log(max(value, 1e-9) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, share))


def axes_of(chart: Chart) -> tuple[Axis, Axis]:
    """The horizontal and the vertical axis of all panels."""
    xs = [spot.x for spot in chart.spots]
    ys = [end for spot in chart.spots for end in (spot.y, *(spot.y_ends or ()))]
    if chart.roofs is not None:
        across = decades(min(*xs, 0.5), max(*xs, 1.5 * chart.roofs.knee))
        low = min(*ys, chart.roofs.memories[0].slope * across.low)
        return across, decades(low, 1.2 * chart.roofs.peak)
    if chart.diagonal:
        xs = ys = [*xs, *ys]
    if chart.kind is Kind.BARS:
        ys = [*ys, _HEADROOM * max(ys)]
    up = _fixed_axis(chart.y) or quantity_axis(ys, whole=chart.y.quantity is None)
    if chart.kind is Kind.BARS:
        places = range(len(chart.x.labels))
        return Axis(-0.5, len(places) - 0.5, tuple(places)), up
    if chart.x.quantity is not None:
        return quantity_axis(xs), up
    return _fixed_axis(chart.x) or _varied_axis(xs, named=bool(chart.x.labels)), up


def colours_of(plot: HeatMap) -> Axis:
    return Axis(plot.low, plot.high, logarithmic=is_wide((plot.low, plot.high)))


def quantity_axis(values: Sequence[float], *, whole: bool = False) -> Axis:
    """Decades for very different values, else linear from 0."""
    if is_wide(values):
        return decades(min(values), max(values))
    lines = steps(max(values), whole=whole)
    return Axis(0, lines[-1], tuple(lines))


def decades(low: float, high: float) -> Axis:
    """A logarithmic axis over whole powers of ten, at least one."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    powers = tuple(10.0**power for power in range(first, max(last, first + 1) + 1))
    return Axis(powers[0], powers[-1], powers, logarithmic=True)


def _fixed_axis(scale: Scale) -> Axis | None:
    return Axis(scale.ticks[0], scale.ticks[-1], scale.ticks) if scale.ticks else None


def _varied_axis(values: Sequence[float], *, named: bool) -> Axis:
    """The values of an axis of the experiment, each with its number."""
    low, high, found = min(values), max(values), sorted(set(values))
    by_ratio = not named and len(found) > 2 and low > 0 and high / low >= _BY_RATIO
    return Axis(low, high, tuple(found), by_ratio)


def steps(most: float, *, whole: bool = False) -> list[float]:
    """Round values from 0 for 2 to 8 lines of a linear grid. The last is at least `most`.

    whole: whether only whole numbers make sense, such as on an axis of submissions
    """
    if most <= 0:
        return [0.0, 1.0]
    step = max(round_step(most / 6), 1.0 if whole else 0.0)
    return [number * step for number in range(math.ceil(most / step - 1e-9) + 1)]


def round_step(least: float) -> float:
    """The first round number from `least` on."""
    decade = 10.0 ** math.floor(math.log10(least))
    # A label of 2.5 or 2.5 % would be rounded.
    factors = (1, 2, 5, 10) if decade < _TENS else (1, 2, 2.5, 5, 10)
    return next(decade * factor for factor in factors if decade * factor >= (1 - 1e-9) * least)


def is_wide(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) >= WIDE
