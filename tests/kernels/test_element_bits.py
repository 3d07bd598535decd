"""The bits of numbers that numpy has no type for, compared with exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kernels.exercise.values import ElementType
from kernels.judging.element_bits import DTYPES, bits, held, numbers

SMALL = [ElementType.BFLOAT, ElementType.E4M3, ElementType.E5M2]


def every(kind):
    return np.arange(1 << 8 * kind.bytes, dtype=np.uint32).astype(DTYPES[kind])


@pytest.mark.parametrize("kind", SMALL)
def test_every_number_keeps_its_bits(kind):
    with np.errstate(all="ignore"):
        values = numbers(every(kind), kind)
        plain = np.isfinite(values)
        assert np.array_equal(bits(values[plain], kind), every(kind)[plain])
        assert np.isnan(held(values[np.isnan(values)], kind)).all()
    assert values[plain].max() == kind.largest
    assert values[values > 0].min() == kind.smallest_normal * kind.ulp


@pytest.mark.parametrize("kind", SMALL)
def test_a_value_between_two_numbers_becomes_the_nearest_or_the_even_one(kind):
    ordered = [
        Fraction(float(each)) for each in numbers(every(kind)[: 1 << 8 * kind.bytes - 1], kind) if np.isfinite(each)
    ]
    random = np.random.default_rng(1)
    for at in random.integers(0, len(ordered) - 1, 300):
        low, high = ordered[at], ordered[at + 1]
        for share in (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)):
            value = float(low + share * (high - low))
            nearest = at + (share > Fraction(1, 2) or (share == Fraction(1, 2) and at % 2))
            assert bits(np.array([value, -value]), kind)[0] == nearest
            assert numbers(bits(np.array([-value]), kind), kind)[0] == -float(ordered[nearest])


@pytest.mark.parametrize("kind", [ElementType.E4M3, ElementType.E5M2])
def test_a_value_above_the_largest_number_becomes_it(kind):
    assert held(np.array([1e9, -np.inf]), kind).tolist() == [kind.largest, -kind.largest]
