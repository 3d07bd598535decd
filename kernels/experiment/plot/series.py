"""The points of a plot: grouped by axes, and the best where several are at one place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from string import ascii_uppercase

from kernels.experiment.plot.model import KERNEL, NoPlot, axis_value, axis_values
from kernels.experiment.quantities import Quantity
from kernels.experiment.result import PointResult

_LONGEST_NAME = 23
"""Of a kernel in a plot; a legend with longer names takes more room than the plot."""


@dataclass(frozen=True, slots=True)
class Line:
    """Points with growing values of one axis. name: what they have in common, "" for the only line."""

    name: str
    points: tuple[PointResult, ...]


def varied(results: Sequence[PointResult]) -> list[str]:
    names = list(results[0].params) if results else []
    return [name for name in names if len({result.params[name] for result in results}) > 1]


def all_varied(results: Sequence[PointResult]) -> list[str]:
    """The axes with more than one value, after the kernels if there are several."""
    several = len({result.kernel for result in results}) > 1
    return [KERNEL] * several + varied(results)


def short_kernels(results: Sequence[PointResult]) -> tuple[Sequence[PointResult], dict[str, str]]:
    """The results with a letter for each long name of a kernel, and the full name of each letter."""
    names = dict.fromkeys(result.kernel for result in results)
    if len(names) < 2 or max(map(len, names)) <= _LONGEST_NAME:
        return results, {}
    long = (name for name in names if len(name) > _LONGEST_NAME)
    words = {word for name in names for word in name.split()}  # `B a.cu` is of an experiment B
    letters = dict(zip(long, (letter for letter in _letters() if letter not in words), strict=False))
    found = [replace(each, kernel=letters.get(each.kernel, each.kernel)) for each in results]
    return found, {letter: name for name, letter in letters.items()}


def _letters() -> Iterator[str]:
    """A to Z, then AA to ZZ."""
    yield from ascii_uppercase
    yield from map("".join, product(ascii_uppercase, repeat=2))


def check_axes(results: Sequence[PointResult], *names: str) -> None:
    """Raise NoPlot for a name that isn't an axis; "" and "kernel" are fine."""
    known = list(results[0].params) if results else []
    for name in names:
        if name and name not in {KERNEL, *known}:
            raise NoPlot(f"`{name}` isn't an axis of this experiment. Its axes are {', '.join(known) or 'none'}.")


def check_values(results: Sequence[PointResult], *quantities: Quantity) -> None:
    """Raise NoPlot if no point has all of these."""
    if not any(all(what.of(result) is not None for what in quantities) for result in results):
        names = " and ".join(f"{what.title.lower()}, {what.basis}" for what in quantities)
        raise NoPlot(f"No accepted point has this: {names}.")


def lines(results: Sequence[PointResult], across: str, what: Quantity, by: str | None = None) -> list[Line]:
    """The lines of a quantity over an axis; raises NoPlot.

    by: the axis, or "kernel", that tells lines apart. Of points that differ in other axes the best is on the line.
        None for a line for each combination of the other axes
    """
    check_axes(results, across, by or "")
    check_values(results, what)
    others = [name for name in all_varied(results) if name != across] if by is None else [by]
    places = {value: place for place, value in enumerate(axis_values(results, across))}
    found: dict[str, dict[int, PointResult]] = {}
    for result in results:
        if what.of(result) is not None:
            line = found.setdefault(point_name(result, others), {})
            place = places[axis_value(result, across)]
            line[place] = better(line.get(place), result, what)
    return [Line(name, tuple(spots[x] for x in sorted(spots))) for name, spots in found.items()]


def point_name(result: PointResult, axes: Iterable[str]) -> str:
    """The point's values of some axes: `T=16, B=2`."""
    values = (result.kernel if name == KERNEL else f"{name}={result.params[name]}" for name in axes if name)
    return ", ".join(filter(None, values))


def full_name(result: PointResult) -> str:
    """The kernel and all values of a point: `tiled.cu, T=16, B=2`."""
    return point_name(result, [KERNEL, *result.params])


def better(known: PointResult | None, new: PointResult, what: Quantity) -> PointResult:
    """The better of two points, the first if they are equal."""
    if known is None:
        return new
    first, second = what.of(known) or 0, what.of(new) or 0
    return new if (second > first if what.better == "more" else second < first) else known


def by_effect(results: Sequence[PointResult], what: Quantity) -> list[str]:
    """The varied axes, the one with the largest effect on the quantity first.

    The effect is the share of the variance between the axis's values. Positive values are compared by their logarithms.
    """
    values = [(result, value) for result in results if (value := what.of(result)) is not None]
    if all(value > 0 for _, value in values):
        values = [(each, math.log(value)) for each, value in values]
    axes = all_varied(results)
    effects = {axis: _effect(values, axis) for axis in axes}
    return sorted(axes, key=lambda axis: -effects[axis])


def _effect(values: Sequence[tuple[PointResult, float]], axis: str) -> float:
    groups: dict[int | str, list[float]] = {}
    for each, value in values:
        groups.setdefault(axis_value(each, axis), []).append(value)
    degrees = len(values) - len(groups)
    total = _squares([value for _, value in values])
    if degrees <= 0 or not total:
        return 0.0
    within = sum(_squares(group) for group in groups.values()) / degrees
    return 1 - within / (total / len(values))


def _squares(values: Sequence[float]) -> float:
    """The sum of squared distances from the mean. `statistics` is exact, and slow for many values."""
    mean = math.fsum(values) / len(values) if values else 0.0
    return math.fsum((value - mean) ** 2 for value in values)


def front(results: Sequence[PointResult], x: Quantity, y: Quantity) -> list[PointResult]:
    """The points that no other point beats in both quantities, by growing x."""

    def cost(what: Quantity, each: PointResult) -> float:
        return (what.of(each) or 0.0) * (-1 if what.better == "more" else 1)

    best, found = math.inf, []
    for result in sorted(results, key=lambda result: (cost(x, result), cost(y, result))):
        if cost(y, result) < best:
            best = cost(y, result)
            found.append(result)
    return sorted(found, key=lambda each: x.of(each) or 0.0)
