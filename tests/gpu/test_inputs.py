"""The inputs that devices are compared with hold what their kinds promise."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.exercise import find_exercise
from kernels.judging.plan import make_plan
from tests.gpu.inputs import Kind, make_factors

SMALLEST_NORMAL = 2.0**-126


@pytest.fixture(scope="module")
def case():
    plan = make_plan(find_exercise("tiled"), None, 16, "0")
    return max((case for case in plan.cases if case.on_cpu), key=lambda case: case.weight)


def both(case, kind):
    factors = make_factors(case, kind)
    return factors["M"], factors["N"]


@pytest.mark.parametrize("kind", Kind)
def test_the_same_case_and_kind_give_the_same_bits(case, kind):
    for first, second in zip(both(case, kind), both(case, kind), strict=True):
        assert first.dtype == np.float32
        assert first.tobytes() == second.tobytes()


def test_kinds_differ(case):
    assert len({both(case, kind)[0].tobytes() for kind in Kind}) == len(Kind)


def test_tiny_values_have_subnormal_inputs_and_subnormal_sums(case):
    left, right = both(case, Kind.TINY)
    sums = np.abs(left @ right)
    for values in (np.abs(left), sums):
        assert ((values > 0) & (values < SMALLEST_NORMAL)).mean() > 0.2
    assert (sums >= SMALLEST_NORMAL).any()


def test_edges_leave_most_products_numbers(case):
    left, right = both(case, Kind.EDGES)
    assert np.isnan(left).any() or np.isnan(right).any()
    assert np.isinf(left).any() or np.isinf(right).any()
    with np.errstate(all="ignore"):
        finite = np.isfinite(left.astype(np.float64) @ right)
    assert 0.3 < finite.mean() < 1


def test_wide_values_span_many_magnitudes(case):
    left, _ = both(case, Kind.WIDE)
    assert np.ptp(np.frexp(left)[1]) > 100
