"""The 16-bit formats beside exact rationals."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from tests.kernels.device.arithmetic.patterns import arrays, differences, run

LANES = 12 * 1024
# Bits of the significand, and the exponent of the smallest subnormal and of overflow.
FORMATS = {"f16": (11, -24, 16), "bf16": (8, -133, 128)}


def rounded(value: Fraction, name: str) -> float:
    """To nearest even in a format, as a float."""
    precision, lowest, highest = FORMATS[name]
    if value == 0:
        return 0.0
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - precision + 1, lowest)
    nearest = round(size / unit) * unit
    result = math.inf if nearest >= Fraction(2) ** highest else float(nearest)
    return result if value > 0 else -result


def single(values: np.ndarray, name: str) -> np.ndarray:
    if name == "f16":
        return values.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return (values.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c,
}


@pytest.mark.one_in(3, "a third of the operations")
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("opcode", EXACT)
def test_every_finite_lane_is_rounded_once(opcode, name):
    given = arrays(name, LANES, 3 if opcode == "fma" else 2, 1)
    wide = [single(values, name) for values in given]
    with np.errstate(all="ignore"):
        got = single(run(f"{opcode}.rn.{name}", *given), name).ravel()
    finite = np.logical_and.reduce([np.isfinite(values) for values in wide]).ravel()
    columns = [values.ravel()[finite].tolist() for values in wide]
    wanted = [rounded(EXACT[opcode](*map(Fraction, lane)), name) for lane in zip(*columns, strict=True)]
    assert len(wanted) > LANES // 4
    assert (got[finite] == np.array(wanted)).all()


@pytest.mark.parametrize("name", FORMATS)
def test_pairs_are_two_elements(name):
    a, b, c = arrays(f"{name}x2", LANES, 3, 2)
    pair = run(f"fma.rn.{name}x2", a, b, c)
    dtype = np.float16 if name == "f16" else np.uint16
    for shift in (0, 16):
        elements = [(x >> np.uint32(shift)).astype(np.uint16).view(dtype) for x in (a, b, c, pair)]
        assert differences(run(f"fma.rn.{name}", *elements[:3]), elements[3]) == 0


@pytest.mark.one_in(3, "a third of the types")
@pytest.mark.parametrize("source", ["f32", "f64", "s32", "u64"])
@pytest.mark.parametrize("name", FORMATS)
def test_conversion_rounds_once(name, source):
    (given,) = arrays(source, LANES, 1, 3)
    got = single(run(f"cvt.rn.{name}.{source}", given), name).ravel()
    finite = np.isfinite(given).ravel()
    wanted = [rounded(Fraction(value), name) for value in given.ravel()[finite].tolist()]
    assert (got[finite] == np.array(wanted)).all()


def test_packed_conversion_puts_the_first_operand_high():
    one, two = np.full((1, 1), 1, np.float32), np.full((1, 1), 2, np.float32)
    assert run("cvt.rn.f16x2.f32", one, two).tolist() == [[0x3C004000]]
    assert run("cvt.rn.bf16x2.f32", one, two).tolist() == [[0x3F804000]]
    assert run("cvt.rn.relu.f16x2.f32", -one, two).tolist() == [[0x00004000]]


def test_tf32_keeps_ten_bits_of_mantissa():
    tie = np.array([[1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-11 + 2.0**-23, np.inf]], np.float32)
    as_float = {mode: run(f"cvt.{mode}.tf32.f32", tie).view(np.float32)[0] for mode in ("rna", "rn", "rz")}
    assert as_float["rna"].tolist() == [1 + 2.0**-10, 1 + 2.0**-9, 1 + 2.0**-10, np.inf]
    assert as_float["rn"].tolist() == [1.0, 1 + 2.0**-9, 1 + 2.0**-10, np.inf]
    assert as_float["rz"].tolist() == [1.0, 1 + 2.0**-10, 1.0, np.inf]
