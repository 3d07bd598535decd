"""The median of repeats, and the interval that holds the true median.

The interval is from order statistics. It assumes nothing about the distribution of times, only that repeats are
independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

FEWEST = 6
"""The fewest repeats with such an interval. With 5, even the whole range misses the median too often."""

TOLERANCE = 0.005
"""The largest distance of either end from the median, as a share, for a settled measurement."""

_ONE_IN = 20


@dataclass(frozen=True, slots=True)
class Middle:
    """The median of some values.

    low, high: the ends of its 95 % interval; the whole range if there are too few values
    certain: whether there are enough values
    """

    median: float
    low: float
    high: float
    certain: bool

    @property
    def settled(self) -> bool:
        """Whether both ends are within the tolerance."""
        return self.within(TOLERANCE)

    def within(self, share: float) -> bool:
        """Whether both ends are at most that share of the median away from it."""
        allowed = share * self.median
        return self.certain and self.high - self.median <= allowed and self.median - self.low <= allowed


@cache
def ranks(count: int) -> tuple[int, int] | None:
    """Return the ranks of the values that bound the median in 95 of 100 cases; None for too few.

    The result is the closest symmetric pair. Ranks count from 1. The true median is below rank k as often as fewer than
    k of `count` coin tosses are heads.
    """
    fewer, rank = 0, 0
    while 2 * _ONE_IN * (fewer + math.comb(count, rank)) <= 2**count:
        fewer += math.comb(count, rank)
        rank += 1
    return (rank, count + 1 - rank) if rank else None


def middle(values: Sequence[float]) -> Middle:
    """Return the median of at least one value, and its interval."""
    import statistics

    ordered = sorted(values)
    found = ranks(len(ordered))
    first, last = found or (1, len(ordered))
    return Middle(statistics.median(ordered), ordered[first - 1], ordered[last - 1], found is not None)
