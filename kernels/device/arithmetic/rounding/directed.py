"""add, sub, mul, div, rcp and sqrt, rounded towards zero, down or up (`.rz`, `.rm`, `.rp`).

Each function computes the nearest result. The exact error shows on which side of the true value it is. If needed, it
moves one step.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from kernels.device.arithmetic.opcode import Array
from kernels.device.arithmetic.rounding import exact
from kernels.device.arithmetic.rounding.error_terms import (
    Mode,
    narrowed,
    product_is_safe,
    signed_zero_sum,
    step,
    two_product,
    two_sum,
)  # fmt: skip
from kernels.device.arithmetic.rounding.fused import fma64_directed


def add32(mode: Mode, a: Array, b: Array) -> Array:
    """Add: round in float64, then use the exact error of this rounding."""
    wide = a.astype(np.float64), b.astype(np.float64)
    return signed_zero_sum(narrowed(*two_sum(*wide), mode), *wide, mode)


def sub32(mode: Mode, a: Array, b: Array) -> Array:
    return add32(mode, a, -b)


def mul32(mode: Mode, a: Array, b: Array) -> Array:
    """Multiply: the product is exact in float64 before it is rounded."""
    return narrowed(a.astype(np.float64) * b, 0.0, mode)


def div32(mode: Mode, a: Array, b: Array) -> Array:
    """Divide: the quotient times the divisor is exact in float64 and shows the side."""
    nearest: Array = a / b
    # With a positive divisor, a product above the dividend means a quotient above the true one.
    dividend = np.where(b < 0, -a.astype(np.float64), a)
    back = nearest.astype(np.float64) * np.abs(b)
    ordinary = np.isfinite(a) & np.isfinite(b) & (b != 0)
    return step(nearest, ordinary & (back > dividend), ordinary & (back < dividend), mode)


def rcp32(mode: Mode, a: Array) -> Array:
    return div32(mode, np.ones_like(a), a)


def sqrt32(mode: Mode, a: Array) -> Array:
    """Take the root: its square is exact in float64 and shows the side."""
    nearest: Array = np.sqrt(a)
    square = nearest.astype(np.float64) ** 2
    return step(nearest, square > a, square < a, mode)


def add64(mode: Mode, a: Array, b: Array) -> Array:
    """Add with a fused multiply-add by one, which has the same exact sum."""
    return fma64_directed(mode, a, np.ones_like(a), b)


def sub64(mode: Mode, a: Array, b: Array) -> Array:
    return add64(mode, a, -b)


def mul64(mode: Mode, a: Array, b: Array) -> Array:
    """Multiply with a fused multiply-add to a zero of the product's sign, which changes nothing."""
    return fma64_directed(mode, a, b, np.copysign(0.0, a * b))


def div64(mode: Mode, a: Array, b: Array) -> Array:
    """Divide: the remainder, exact through the product's error term, shows the side."""
    nearest: Array = a / b
    back, error = two_product(nearest, b)
    remainder = a - back
    positive = b > 0
    above = np.where(positive, remainder < error, remainder > error)
    below = np.where(positive, remainder > error, remainder < error)
    ordinary = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0)
    # A subnormal quotient has fewer bits, so its remainder may not be exact.
    safe = ordinary & product_is_safe(nearest, b, back) & (np.abs(nearest) > 2.0**-1000)
    result = step(nearest, safe & above, safe & below, mode)
    return exact.repair(result, ordinary & ~safe, partial(exact.quotient, mode=mode), (a, b))


def rcp64(mode: Mode, a: Array) -> Array:
    return div64(mode, np.ones_like(a), a)


def sqrt64(mode: Mode, a: Array) -> Array:
    """Take the root: the rounding and the error of its square show the side."""
    nearest: Array = np.sqrt(a)
    square, error = two_product(nearest, nearest)
    remainder = a - square
    ordinary = np.isfinite(a) & (a > 0)
    safe = ordinary & product_is_safe(nearest, nearest, square)
    result = step(nearest, safe & (remainder < error), safe & (remainder > error), mode)
    return exact.repair(result, ordinary & ~safe, partial(exact.root, mode=mode), (a,))
