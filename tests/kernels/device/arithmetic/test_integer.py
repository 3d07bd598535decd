"""Integers beside Python's own, which have no width: every result is cut to its type afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from kernels.device.arithmetic import operation
from tests.kernels.device.arithmetic.patterns import arrays, differences, lanewise, run

LANES = 12 * 1024
TYPES = ["u16", "s16", "u32", "s32", "u64", "s64"]


def width(type_name: str) -> int:
    return int(type_name[1:])


def bounds(type_name: str) -> tuple[int, int]:
    size = width(type_name)
    return (0, 2**size - 1) if type_name[0] == "u" else (-(2 ** (size - 1)), 2 ** (size - 1) - 1)


def clamp(value: int, type_name: str = "s32") -> int:
    low, high = bounds(type_name)
    return min(max(value, low), high)


def quotient(a: int, b: int) -> int:
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def check(opcode: str, function: Callable[..., int], *given: np.ndarray) -> None:
    found = operation(opcode)
    assert found is not None
    operands = given or [arrays(name, LANES, 1, number)[0] for number, name in enumerate(found.sources)]
    wanted = lanewise(function, str(found.result), *operands)
    assert differences(run(opcode, *operands), wanted) == 0


@pytest.mark.parametrize("name", TYPES)
def test_division_by_zero_gives_all_ones_as_a_gpu_does(name):
    (a,) = arrays(name, LANES, 1)
    for opcode in ("div", "rem"):
        check(f"{opcode}.{name}", lambda a, b: -1, a, np.zeros_like(a))


@pytest.mark.parametrize("name", TYPES)
def test_sums_and_differences(name):
    check(f"add.{name}", lambda a, b: a + b)
    check(f"sub.{name}", lambda a, b: a - b)
    check(f"sad.{name}", lambda a, b, c: c + abs(a - b))
    check(f"min.{name}", min)
    check(f"max.{name}", max)


def test_saturation():
    check("add.sat.s32", lambda a, b: clamp(a + b))
    check("sub.sat.s32", lambda a, b: clamp(a - b))
    check("mad.hi.sat.s32", lambda a, b, c: clamp((a * b >> 32) + c))


@pytest.mark.parametrize("name", ["s16", "s32", "s64"])
def test_signs(name):
    check(f"abs.{name}", abs)
    check(f"neg.{name}", lambda a: -a)


@pytest.mark.parametrize("name", TYPES)
def test_division_cuts_towards_zero(name):
    a, b = arrays(name, LANES, 2, 5)
    b = np.where(b == 0, 3, b).astype(b.dtype)
    check(f"div.{name}", quotient, a, b)
    check(f"rem.{name}", lambda a, b: a - b * quotient(a, b), a, b)


@pytest.mark.parametrize("name", TYPES)
def test_products(name):
    check(f"mul.lo.{name}", lambda a, b: a * b)
    check(f"mul.hi.{name}", lambda a, b: a * b >> width(name))
    check(f"mad.lo.{name}", lambda a, b, c: a * b + c)
    check(f"mad.hi.{name}", lambda a, b, c: (a * b >> width(name)) + c)
    if width(name) < 64:
        check(f"mul.wide.{name}", lambda a, b: a * b)
        check(f"mad.wide.{name}", lambda a, b, c: a * b + c)
    else:
        assert operation(f"mul.wide.{name}") is None


def low24(value: int, name: str) -> int:
    value &= 0xFFFFFF
    return value - 2**24 if name == "s32" and value >= 2**23 else value


@pytest.mark.parametrize("name", ["u32", "s32"])
def test_products_of_24_bits(name):
    check(f"mul24.lo.{name}", lambda a, b: low24(a, name) * low24(b, name))
    check(f"mul24.hi.{name}", lambda a, b: low24(a, name) * low24(b, name) >> 16)
    check(f"mad24.lo.{name}", lambda a, b, c: low24(a, name) * low24(b, name) + c)


def field(value: int, start: int, bits: int, name: str) -> int:
    value = value >> start & (1 << bits) - 1
    return value - (1 << bits) if name == "s32" and value >> (bits - 1) else value


@pytest.mark.parametrize("left", ["u32", "s32"])
@pytest.mark.parametrize("right", ["u32", "s32"])
def test_dot_products_of_bytes(left, right):
    def dot(a: int, b: int, c: int) -> int:
        return c + sum(field(a, 8 * i, 8, left) * field(b, 8 * i, 8, right) for i in range(4))

    def half(a: int, b: int, c: int, first: int) -> int:
        return c + sum(field(a, 16 * i, 16, left) * field(b, 8 * (first + i), 8, right) for i in range(2))

    check(f"dp4a.{left}.{right}", dot)
    check(f"dp2a.lo.{left}.{right}", lambda a, b, c: half(a, b, c, 0))
    check(f"dp2a.hi.{left}.{right}", lambda a, b, c: half(a, b, c, 2))


@pytest.mark.one_in(5, "a fifth of the pairs of types")
@pytest.mark.parametrize("result", ["u8", "s8", *TYPES])
@pytest.mark.parametrize("source", ["u8", "s8", *TYPES])
def test_conversion_between_integers(result, source):
    check(f"cvt.{result}.{source}", lambda a: a)
    if bounds(result)[0] <= bounds(source)[0] and bounds(source)[1] <= bounds(result)[1]:
        assert operation(f"cvt.sat.{result}.{source}") is None
    else:
        check(f"cvt.sat.{result}.{source}", lambda a: clamp(a, result))


ROUND: dict[str, Callable[[float], int]] = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


@pytest.mark.one_in(5, "a fifth of the pairs of types and modes")
@pytest.mark.parametrize("rounding", ROUND)
@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
@pytest.mark.parametrize("result", ["u8", "s8", *TYPES])
def test_conversion_from_float_rounds_clamps_and_sends_nan_to_its_place(rounding, source, result):
    low, high = bounds(result)
    nan = 1 << (width(result) - 1) if source == "f64" or width(result) == 64 else 0

    def convert(a: float) -> int:
        if math.isnan(a):
            return nan
        return (high if a > 0 else low) if math.isinf(a) else clamp(ROUND[rounding](a), result)

    check(f"cvt.{rounding}.{result}.{source}", convert)
