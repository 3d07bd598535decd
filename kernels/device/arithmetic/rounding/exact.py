"""Exact rational arithmetic, lane by lane: the last resort at the ends of float64, which have no error terms."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from kernels.device.arithmetic.opcode import Array
from kernels.device.arithmetic.rounding.error_terms import Mode


def rounded(value: Fraction, mode: Mode) -> float:
    """Round a nonzero rational to float64."""
    try:
        nearest = value.numerator / value.denominator
    except OverflowError:
        nearest = math.inf if value > 0 else -math.inf
    if nearest == 0:
        nearest = 0.0 if value > 0 else -0.0
    return directed(nearest, compare(nearest, value), mode)


def compare(nearest: float, value: Fraction) -> int:
    """Return 1, 0 or -1: whether the float is above, at or below the rational."""
    if math.isinf(nearest):
        return 1 if nearest > 0 else -1
    return (Fraction(nearest) > value) - (Fraction(nearest) < value)


def directed(nearest: float, side: int, mode: Mode) -> float:
    """Move one step from the nearest value if the mode needs the other neighbour."""
    if side > 0 and (mode == "rm" or (mode == "rz" and nearest > 0)):
        return math.nextafter(nearest, -math.inf)
    if side < 0 and (mode == "rp" or (mode == "rz" and nearest < 0)):
        return math.nextafter(nearest, math.inf)
    return nearest


def fused(a: float, b: float, c: float, mode: Mode) -> float:
    """Return a * b + c of finite floats."""
    value = Fraction(a) * Fraction(b) + Fraction(c)
    if value == 0:
        return -0.0 if mode == "rm" else 0.0
    return rounded(value, mode)


def quotient(a: float, b: float, mode: Mode) -> float:
    """Return a / b of finite nonzero floats."""
    return rounded(Fraction(a) / Fraction(b), mode)


def root(a: float, mode: Mode) -> float:
    """Return the square root of a positive float."""
    nearest = math.sqrt(a)
    square = Fraction(nearest) ** 2
    return directed(nearest, (square > Fraction(a)) - (square < Fraction(a)), mode)


def repair(result: Array, lanes: Array, function: Callable[..., float], operands: tuple[Array, ...]) -> Array:
    """Replace some lanes of a float64 result by the exact function of their operands."""
    if lanes.any():
        columns = [np.broadcast_to(operand, result.shape)[lanes].tolist() for operand in operands]
        result[lanes] = [function(*values) for values in zip(*columns, strict=True)]
    return result
