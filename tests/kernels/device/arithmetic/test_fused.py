from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.device.arithmetic import operation
from kernels.device.arithmetic.rounding import exactness, fused
from tests.kernels.device.arithmetic import libm
from tests.kernels.device.arithmetic.patterns import arrays, differences, run

LANES = 384 * 1024


def midpoints(lanes: int, seed: int, exponents: tuple[int, int]) -> tuple[np.ndarray, ...]:
    """a * b exactly between two float32 values, and a c that is far too small to be seen in float64.

    Rounding twice goes to the even neighbour; the sign of c decides in truth.
    """
    rng = np.random.default_rng(seed)
    odd = rng.integers(2**24, 2**25, (lanes // 64, 64)) | 1
    scale = np.exp2(rng.integers(*exponents, odd.shape).astype(float))
    # An odd number of 25 bits as a product: 3 * (odd / 3) where that divides, else 1.5 * ... is left to chance.
    odd -= odd % 6 - 3
    a = np.full(odd.shape, 3.0) * scale
    c = rng.choice([-1.0, 1.0], odd.shape) * np.exp2(rng.integers(-60, -24, odd.shape).astype(float)) * scale
    return a.astype(np.float32), (odd // 3).astype(np.float32), c.astype(np.float32)


@pytest.mark.one_in(2, "one of two seeds")
@pytest.mark.parametrize("seed", [1, 2])
def test_float32_on_random_bits_and_awkward_values_equals_fmaf(seed):
    a, b, c = arrays("f32", LANES, 3, seed)
    assert differences(run("fma.rn.f32", a, b, c), libm.fma("rn", a, b, c)) == 0


def test_float32_on_sums_of_like_size_equals_fmaf():
    rng = np.random.default_rng(3)
    a, b, c = (rng.standard_normal((LANES // 64, 64)).astype(np.float32) for _ in range(3))
    assert differences(run("fma.rn.f32", a, b, c), libm.fma("rn", a, b, c)) == 0


def test_float32_midpoints_that_rounding_twice_gets_wrong():
    a, b, c = midpoints(LANES, 4, (-20, 20))
    wanted = libm.fma("rn", a, b, c)
    twice = (a.astype(np.float64) * b + c).astype(np.float32)
    assert differences(twice, wanted) > LANES // 10
    assert differences(run("fma.rn.f32", a, b, c), wanted) == 0


def test_float32_subnormal_results_that_rounding_twice_gets_wrong():
    rng = np.random.default_rng(5)
    shape = (LANES // 64, 64)
    a = np.ldexp(rng.integers(1, 2**24, shape).astype(np.float32), rng.integers(-100, -70, shape))
    b = np.ldexp(rng.integers(1, 2**24, shape).astype(np.float32), rng.integers(-100, -50, shape))
    c = np.ldexp(rng.integers(-(2**24), 2**24, shape).astype(np.float32), rng.integers(-149, -140, shape))
    half = rng.integers(0, 2, shape).astype(bool)
    a, b = np.where(half, np.float32(2.0**-75), a), np.where(half, np.float32(2.0**-75), b)
    assert differences(run("fma.rn.f32", a, b, c), libm.fma("rn", a, b, c)) == 0
    a, b, c = midpoints(LANES, 6, (-160, -140))
    assert differences(run("fma.rn.f32", a, b, c), libm.fma("rn", a, b, c)) == 0


def test_float32_near_overflow():
    rng = np.random.default_rng(7)
    shape = (LANES // 64, 64)
    a, b, c = (
        np.ldexp(rng.integers(2**23, 2**24, shape).astype(np.float32), rng.integers(low, high, shape))
        for low, high in ((40, 42), (38, 40), (80, 105))
    )
    c *= rng.choice(np.array([-1, 1], np.float32), shape)
    assert differences(run("fma.rn.f32", a, b, c), libm.fma("rn", a, b, c)) == 0


def test_float32_exact_integers_and_broadcast_operands():
    rng = np.random.default_rng(8)
    a = rng.integers(-4096, 4096, (256, 1)).astype(np.float32)
    b = rng.integers(-1, 2, (1, 64)).astype(np.float32)
    c = rng.integers(-(2**20), 2**20, (256, 64)).astype(np.float32)
    assert differences(run("fma.rn.f32", a, b, c), a * b + c) == 0
    c[17, 3] = 0.3
    assert differences(run("fma.rn.f32", a, b, c), libm.fma("rn", a, b, c)) == 0
    assert run("fma.rn.f32", a, b, c[:1, :1]).shape == (256, 64)


def test_float32_without_the_processors_flags(monkeypatch):
    monkeypatch.setattr(fused, "clear", lambda flags: 0)
    monkeypatch.setattr(fused, "raised", lambda flags: flags)
    a, b, c = arrays("f32", LANES // 4, 3, 9)
    assert differences(run("fma.rn.f32", a, b, c), libm.fma("rn", a, b, c)) == 0
    a, b, c = midpoints(LANES // 4, 10, (-160, 0))
    assert differences(run("fma.rn.f32", a, b, c), libm.fma("rn", a, b, c)) == 0


def test_the_processors_flags_are_used_where_they_are_known():
    ones = np.ones((4, 64), np.float32)
    exactness.clear(exactness.INEXACT)
    assert (ones * ones).all()
    assert not exactness.raised(exactness.INEXACT)
    assert not np.allclose(ones / np.float32(3), 0)
    assert exactness.raised(exactness.INEXACT)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(width=32), min_size=3, max_size=3), st.sampled_from(["rn", "rz", "rm", "rp"]))
def test_float32_one_lane_in_every_mode(values, mode):
    a, b, c = (np.full((1, 1), value, np.float32) for value in values)
    assert differences(run(f"fma.{mode}.f32", a, b, c), libm.fma(mode, a, b, c)) == 0


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(), min_size=3, max_size=3), st.sampled_from(["rn", "rz", "rm", "rp"]))
def test_float64_one_lane_in_every_mode(values, mode):
    a, b, c = (np.full((1, 1), value) for value in values)
    assert differences(run(f"fma.{mode}.f64", a, b, c), libm.fma(mode, a, b, c)) == 0


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_float32_directed(mode):
    a, b, c = arrays("f32", LANES // 2, 3, 11)
    assert differences(run(f"fma.{mode}.f32", a, b, c), libm.fma(mode, a, b, c)) == 0
    a, b, c = midpoints(LANES // 4, 12, (-160, 20))
    assert differences(run(f"fma.{mode}.f32", a, b, c), libm.fma(mode, a, b, c)) == 0


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_float64(mode):
    a, b, c = arrays("f64", LANES // 16, 3, 13)
    assert differences(run(f"fma.{mode}.f64", a, b, c), libm.fma(mode, a, b, c)) == 0
    rng = np.random.default_rng(14)
    a, b, c = (rng.standard_normal((LANES // 128, 64)) for _ in range(3))
    near = -(a * b) * (1 + np.ldexp(rng.integers(-4, 5, a.shape).astype(float), -52))
    c = np.where(rng.random(a.shape) < 0.5, c, near)
    assert differences(run(f"fma.{mode}.f64", a, b, c), libm.fma(mode, a, b, c)) == 0


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_float64_subnormal_and_huge_results(mode):
    rng = np.random.default_rng(15)
    shape = (64, 64)
    for low, high in ((-560, -480), (480, 520)):
        a, b = (np.ldexp(rng.standard_normal(shape), rng.integers(low, high, shape)) for _ in range(2))
        c = np.ldexp(rng.standard_normal(shape), rng.integers(2 * low, min(2 * high, 1023), shape))
        assert differences(run(f"fma.{mode}.f64", a, b, c), libm.fma(mode, a, b, c)) == 0


def test_nan_is_one_pattern_in_float32():
    nan = np.array([[0xFFC00001, 0x7F800001]], np.uint32).view(np.float32)
    ones = np.ones((1, 2), np.float32)
    for opcode in ("fma.rn.f32", "mad.rn.f32", "fma.rz.f32", "fma.rn.ftz.f32"):
        assert (run(opcode, nan, ones, ones).view(np.uint32) == 0x7FFFFFFF).all()
    infinite = np.full((1, 2), np.inf, np.float32)
    assert (run("fma.rn.f32", infinite, ones, -infinite).view(np.uint32) == 0x7FFFFFFF).all()


def test_flush_and_saturation():
    a = np.array([[2.0**-140, 2.0**-70, 0.5, -0.5, 3.0]], np.float32)
    one, zero = np.ones((1, 1), np.float32), np.zeros((1, 1), np.float32)
    assert run("fma.rn.ftz.f32", a, a, zero).tolist() == [[0.0, 0.0, 0.25, 0.25, 9.0]]
    assert run("fma.rn.sat.f32", a, one, zero).tolist() == [[2.0**-140, 2.0**-70, 0.5, 0.0, 1.0]]
    assert run("fma.rn.ftz.sat.f32", a, one, zero).tolist() == [[0.0, 2.0**-70, 0.5, 0.0, 1.0]]


def test_saturation_has_no_negative_zero():
    a = np.array([[-0.0, -1.0]], np.float32)
    assert not np.signbit(run("cvt.sat.f32.f32", a)).any()


def test_counts_two_operations_a_lane():
    found = operation("fma.rn.f32")
    assert found is not None
    assert (found.flops, found.approximate, found.sources) == (2, False, ("f32", "f32", "f32"))
