"""The median of repeats, and between which two of them the true one lies.

The interval is by order statistics: it assumes nothing about how times are spread, only that repeats are independent.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

FEWEST = 6
"""Repeats from which on there is such an interval: of 5, even the whole range misses the median too often."""

TOLERANCE = 0.005
"""How far from the median either end may be, as a part of it, for a measurement to count as settled."""

_ONE_IN = 20


@dataclass(frozen=True, slots=True)
class Middle:
    """The median of some values.

    low, high: the ends of its 95 % interval; the whole range where there are too few values for one
    certain: whether there are enough values
    """

    median: float
    low: float
    high: float
    certain: bool

    @property
    def settled(self) -> bool:
        """Whether both ends are within the tolerance."""
        allowed = TOLERANCE * self.median
        return self.certain and self.high - self.median <= allowed and self.median - self.low <= allowed


@cache
def ranks(count: int) -> tuple[int, int] | None:
    """Which of so many values in order, counted from 1, bound the median in 95 of 100 cases; None for too few.

    The closest pair, as far from one end as from the other, for which that holds: the true median is below the value
    of rank k with the probability that of `count` throws of a coin fewer than k are heads.
    """
    fewer, rank = 0, 0
    while 2 * _ONE_IN * (fewer + math.comb(count, rank)) <= 2**count:
        fewer += math.comb(count, rank)
        rank += 1
    return (rank, count + 1 - rank) if rank else None


def middle(values: Sequence[float]) -> Middle:
    """The median of at least one value, and its interval."""
    ordered = sorted(values)
    found = ranks(len(ordered))
    first, last = found or (1, len(ordered))
    return Middle(statistics.median(ordered), ordered[first - 1], ordered[last - 1], found is not None)
