"""Two experiments compared point by point: a ratio for each pair, and one for all with a bootstrap interval.

A pair's interval follows from the 95 % intervals of its two medians. The medians are independent, so the halves of
their intervals add up as squares on a logarithmic scale. The ratio of all pairs is their geometric mean. Its interval
is a bootstrap over pairs, each drawn within its own interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kernels.experiment.quantities import Interval, Quantity
from kernels.experiment.result import PointResult
from kernels.verdict import Verdict

_ROUNDS = 2000
_HALF_WIDTH = 1.96
_SEED = 20_000


@dataclass(frozen=True, slots=True)
class Pair:
    """The same point in two experiments.

    ratio: the second's value over the first's; None where one has none
    interval: of a measured ratio; None where the values are exact
    """

    kernel: str
    params: Mapping[str, int]
    first: float | None
    second: float | None
    ratio: float | None
    interval: Interval | None

    @property
    def complete(self) -> bool:
        """Whether both have a value."""
        return self.first is not None and self.second is not None

    @property
    def in_mean(self) -> bool:
        """Whether the mean of all ratios has this one. It leaves out pairs with a value of 0."""
        return self.ratio is not None and self.ratio > 0

    @property
    def differs(self) -> bool:
        """Whether a difference is shown: the interval doesn't hold 1, or exact values differ."""
        if self.interval is not None:
            return not self.interval[0] <= 1 <= self.interval[1]
        return self.complete and self.first != self.second


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two experiments. only_first, only_second: points without a partner."""

    quantity: Quantity
    pairs: tuple[Pair, ...]
    ratio: float | None
    interval: Interval | None
    only_first: int
    only_second: int

    @property
    def differs(self) -> bool:
        """Whether the mean's interval doesn't hold 1, or exact values differ that the mean leaves out."""
        if self.interval is not None and not self.interval[0] <= 1 <= self.interval[1]:
            return True
        return any(pair.differs and not pair.in_mean for pair in self.pairs)


def compare(first: Iterable[PointResult], second: Iterable[PointResult], what: Quantity) -> Comparison:
    """The second over the first. Kernels of other names are compared where each side has one kernel."""
    ones, others = list(first), list(second)
    names = {each.kernel for each in ones}, {each.kernel for each in others}
    by_kernel = not all(len(name) == 1 for name in names)
    left, right = _by_key(ones, by_kernel), _by_key(others, by_kernel)
    pairs = tuple(_pair(one, right[key], what) for key, one in left.items() if key in right)
    ratio, interval = _all_pairs(pairs)
    return Comparison(what, pairs, ratio, interval, len(left.keys() - right), len(right.keys() - left))


@dataclass(frozen=True, slots=True)
class Repeated:
    """A point in the first run and in its repeat. differences: what doesn't agree, in words."""

    kernel: str
    params: Mapping[str, int]
    differences: tuple[str, ...]


def repeated(first: Iterable[PointResult], second: Iterable[PointResult], speed: Quantity | None) -> list[Repeated]:
    """Each point of both runs, and what differs: the verdict, counts, or speeds with intervals apart."""
    again = {each.key: each for each in second}
    pairs = [(one, again[one.key]) for one in first if one.key in again]
    return [Repeated(one.kernel, one.params, tuple(_differences(one, other, speed))) for one, other in pairs]


def _differences(one: PointResult, other: PointResult, speed: Quantity | None) -> Iterable[str]:
    if one.verdict is not other.verdict:
        yield f"verdict {one.verdict}, then {other.verdict}"
    if one.verdict is other.verdict is Verdict.ACCEPTED:
        if one.counted != other.counted:
            yield "other counts"
        ends = (speed.interval(one), speed.interval(other)) if speed is not None else (None, None)
        if ends[0] is not None and ends[1] is not None and not _overlap(ends[0], ends[1]):
            yield "speeds with intervals that don't overlap"


def _overlap(one: Interval, other: Interval) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _by_key(results: Iterable[PointResult], by_kernel: bool) -> dict[tuple[object, ...], PointResult]:
    return {(result.kernel if by_kernel else "", *sorted(result.params.items())): result for result in results}


def _pair(one: PointResult, other: PointResult, what: Quantity) -> Pair:
    values = what.of(one), what.of(other)
    ratio = values[1] / values[0] if values[0] and values[1] is not None else None
    ends = what.interval(one), what.interval(other)
    interval = None
    if ratio is not None and ratio > 0 and ends[0] is not None and ends[1] is not None:
        apart = math.exp(math.hypot(_half(ends[0]), _half(ends[1])))
        interval = ratio / apart, ratio * apart
    return Pair(one.kernel, one.params, *values, ratio, interval)


def _half(interval: Interval) -> float:
    return math.log(interval[1] / interval[0]) / 2


def _all_pairs(pairs: Sequence[Pair]) -> tuple[float | None, Interval | None]:
    import numpy as np  # pages and texts of results need everything else here

    found = [
        (math.log(pair.ratio), _half(pair.interval) / _HALF_WIDTH if pair.interval else 0.0)
        for pair in pairs
        if pair.in_mean and pair.ratio
    ]
    if not found:
        return None, None
    ratios, spreads = np.array(found).T
    dice, count = np.random.default_rng(_SEED), len(found)

    def drawn_mean() -> float:
        """The mean of as many pairs, drawn with replacement, each within its own interval."""
        drawn = dice.integers(count, size=count)
        return float(dice.normal(ratios[drawn], spreads[drawn]).mean())

    means = np.sort([drawn_mean() for _ in range(_ROUNDS)])
    cut = _ROUNDS // 40
    return math.exp(ratios.mean()), (math.exp(means[cut]), math.exp(means[-cut - 1]))
