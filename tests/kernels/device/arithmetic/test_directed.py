from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.kernels.device.arithmetic import libm
from tests.kernels.device.arithmetic.patterns import arrays, differences, run

LANES = 384 * 1024
MODES = ["rn", "rz", "rm", "rp"]
PLAIN: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": np.sqrt,
    "rcp": lambda a: a.dtype.type(1) / a,
}


def operands(opcode: str, type_name: str, lanes: int, seed: int) -> tuple[np.ndarray, ...]:
    return arrays(type_name, lanes, 1 if opcode in ("sqrt", "rcp") else 2, seed)


@pytest.mark.one_in(5, "a fifth of the pairs of an operation and a mode")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("opcode", PLAIN)
def test_float32_equals_the_processor_in_that_mode(opcode, mode):
    given = operands(opcode, "f32", LANES, 1)
    with libm.rounding(mode):
        wanted = PLAIN[opcode](*given)
    assert differences(run(f"{opcode}.{mode}.f32", *given), wanted) == 0


@pytest.mark.one_in(5, "a fifth of the pairs of an operation and a mode")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("opcode", PLAIN)
def test_float64_equals_the_processor_in_that_mode(opcode, mode):
    given = operands(opcode, "f64", LANES // 8, 2)
    with libm.rounding(mode):
        wanted = PLAIN[opcode](*given)
    assert differences(run(f"{opcode}.{mode}.f64", *given), wanted) == 0


@pytest.mark.one_in(5, "a fifth of the pairs of a type and a mode")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", ["f64", "s32", "u32", "s64", "u64"])
def test_conversion_to_float32_equals_the_processor_in_that_mode(source, mode):
    (given,) = arrays(source, LANES, 1, 3)
    with libm.rounding(mode):
        wanted = given.astype(np.float32)
    assert differences(run(f"cvt.{mode}.f32.{source}", given), wanted) == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", ["s32", "s64", "u64"])
def test_conversion_to_float64_equals_the_processor_in_that_mode(source, mode):
    (given,) = arrays(source, LANES // 8, 1, 4)
    with libm.rounding(mode):
        wanted = given.astype(np.float64)
    assert differences(run(f"cvt.{mode}.f64.{source}", given), wanted) == 0


def test_nan_is_one_pattern_in_float32():
    nan = np.array([[0xFFC00001, 0x7F800001]], np.uint32).view(np.float32)
    ones = np.ones((1, 2), np.float32)
    for opcode in ("add.f32", "sub.rm.f32", "mul.rn.f32", "div.rn.f32", "max.NaN.f32"):
        assert (run(opcode, nan, ones).view(np.uint32) == 0x7FFFFFFF).all(), opcode
    assert (run("sqrt.rn.f32", -ones).view(np.uint32) == 0x7FFFFFFF).all()
    assert (run("min.f32", nan, nan).view(np.uint32) == 0x7FFFFFFF).all()


def test_smaller_and_larger_prefer_numbers_and_order_zeros():
    a = np.array([[np.nan, 1.0, 0.0, -0.0, 2.0]], np.float32)
    b = np.array([[5.0, np.nan, -0.0, 0.0, 3.0]], np.float32)
    smaller, larger = run("min.f32", a, b), run("max.f32", a, b)
    assert smaller.tolist() == [[5.0, 1.0, 0.0, 0.0, 2.0]]
    assert np.signbit(smaller).tolist() == [[False, False, True, True, False]]
    assert larger.tolist() == [[5.0, 1.0, 0.0, 0.0, 3.0]]
    assert not np.signbit(larger).any()
    assert np.isnan(run("min.NaN.f32", a, b)).tolist() == [[True, True, False, False, False]]


def test_flush_to_zero_keeps_the_sign():
    small = np.array([[2.0**-127, -(2.0**-127)]], np.float32)
    two = np.full((1, 2), 2, np.float32)
    assert run("mul.ftz.f32", small, two).tolist() == [[0.0, -0.0]]
    assert np.signbit(run("mul.ftz.f32", small, two)).tolist() == [[False, True]]
    assert run("mul.f32", small, two).tolist() == [[2.0**-126, -(2.0**-126)]]
    assert run("setp.gt.ftz.f32", small, np.zeros((1, 2), np.float32)).tolist() == [[False, False]]
