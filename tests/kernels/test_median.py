"""The median of repeats and its interval."""

from __future__ import annotations

import math
import random
import statistics
from itertools import pairwise

import pytest

from kernels.measurement.median import FEWEST, middle, ranks

TABLE = {
    6: (1, 6),
    7: (1, 7),
    8: (1, 8),
    9: (2, 8),
    10: (2, 9),
    11: (2, 10),
    12: (3, 10),
    13: (3, 11),
    14: (3, 12),
    15: (4, 12),
    16: (4, 13),
    17: (5, 13),
    18: (5, 14),
    19: (5, 15),
    20: (6, 15),
}
"""As in textbooks."""


def coverage(count: int, first: int) -> float:
    """How often the median lies between the value of that rank and its counterpart from the other end."""
    return float(1 - 2 * sum(math.comb(count, k) for k in range(first)) / 2**count)


@pytest.mark.parametrize(("count", "expected"), TABLE.items())
def test_the_ranks_are_those_of_the_known_table(count, expected):
    assert ranks(count) == expected


@pytest.mark.parametrize("count", range(1, FEWEST))
def test_too_few_values_have_no_interval_and_are_never_settled(count):
    assert ranks(count) is None
    found = middle([3.0, *[1.0] * (count - 1)])
    assert (found.low, found.high) == (3.0 if count == 1 else 1.0, 3.0)
    assert not found.certain
    assert not middle([2.0] * count).settled


@pytest.mark.parametrize("count", [*range(FEWEST, 100), 1000])
def test_the_ranks_are_the_closest_that_are_certain_enough(count):
    found = ranks(count)
    assert found is not None
    first, last = found
    assert first + last == count + 1
    assert coverage(count, first) >= 0.95 > coverage(count, first + 1)


def test_more_values_never_widen_the_part_of_them_that_the_interval_spans():
    at = [found for count in range(FEWEST, 300) if (found := ranks(count))]
    assert all(after[0] >= before[0] for before, after in pairwise(at))
    assert all(after[1] >= before[1] for before, after in pairwise(at))
    assert (at[-1][1] - at[-1][0]) / 299 < 0.12


@pytest.mark.parametrize("count", [7, 12, 30, 60])
@pytest.mark.parametrize("skewed", [False, True])
def test_the_interval_holds_the_true_median_as_often_as_promised(count, skewed):
    stream = random.Random(20 * count + skewed)
    draw, true = (lambda: stream.expovariate(1), math.log(2)) if skewed else (lambda: stream.gauss(5, 1), 5.0)
    trials = 4000
    held = 0
    for _ in range(trials):
        found = middle([draw() for _ in range(count)])
        held += found.low <= true <= found.high
    assert held / trials >= 0.94


def test_neither_order_nor_unit_changes_anything():
    stream = random.Random(3)
    values = [stream.random() for _ in range(25)]
    found = middle(values)
    assert found.median == statistics.median(values)
    assert middle(values[::-1]) == found
    assert middle([4 * value for value in values]).high == 4 * found.high
    assert found.low <= found.median <= found.high


def test_a_larger_value_never_moves_the_interval_down():
    stream = random.Random(4)
    values = [stream.random() for _ in range(14)]
    before = middle(values)
    for at in range(len(values)):
        after = middle([*values[:at], values[at] + 1, *values[at + 1 :]])
        assert (after.low, after.median, after.high) >= (before.low, before.median, before.high)


def test_settled_means_within_half_a_percent_on_both_sides():
    assert middle([100.0] * 7).settled
    assert middle([99.6, *[100.0] * 5, 100.4]).settled
    assert not middle([99.4, *[100.0] * 5, 100.4]).settled
    assert not middle([99.6, *[100.0] * 5, 100.6]).settled
    # of nine, the outermost on each side no longer counts
    assert middle([50.0, *[100.0] * 7, 200.0]).settled
