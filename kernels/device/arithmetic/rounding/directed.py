"""add, sub, mul, div, rcp and sqrt rounded towards zero, down or up (`.rz`, `.rm`, `.rp`).

Each takes the nearest result, finds from the exact error on which side of the true value it lies, and steps once.
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
    """The sum, from its rounding in float64 and the error of that."""
    wide = a.astype(np.float64), b.astype(np.float64)
    return signed_zero_sum(narrowed(*two_sum(*wide), mode), *wide, mode)


def sub32(mode: Mode, a: Array, b: Array) -> Array:
    """The difference, as a sum."""
    return add32(mode, a, -b)


def mul32(mode: Mode, a: Array, b: Array) -> Array:
    """The product, exact in float64 before it is rounded."""
    return narrowed(a.astype(np.float64) * b, 0.0, mode)


def div32(mode: Mode, a: Array, b: Array) -> Array:
    """The quotient times the divisor is exact in float64, and tells the side."""
    nearest: Array = a / b
    dividend = np.where(b < 0, -a.astype(np.float64), a)
    back = nearest.astype(np.float64) * np.abs(b)
    ordinary = np.isfinite(a) & np.isfinite(b) & (b != 0)
    return step(nearest, ordinary & (back > dividend), ordinary & (back < dividend), mode)


def rcp32(mode: Mode, a: Array) -> Array:
    """The reciprocal, as a quotient."""
    return div32(mode, np.ones_like(a), a)


def sqrt32(mode: Mode, a: Array) -> Array:
    """The root; its square is exact in float64, and tells the side."""
    nearest: Array = np.sqrt(a)
    square = nearest.astype(np.float64) ** 2
    return step(nearest, square > a, square < a, mode)


def add64(mode: Mode, a: Array, b: Array) -> Array:
    """A fused multiply-add by one, which has the same exact sum."""
    return fma64_directed(mode, a, np.ones_like(a), b)


def sub64(mode: Mode, a: Array, b: Array) -> Array:
    """The difference, as a sum."""
    return add64(mode, a, -b)


def mul64(mode: Mode, a: Array, b: Array) -> Array:
    """A fused multiply-add onto a zero of the product's own sign, which changes nothing."""
    return fma64_directed(mode, a, b, np.copysign(0.0, a * b))


def div64(mode: Mode, a: Array, b: Array) -> Array:
    """The remainder, exact by the product's error term, tells the side."""
    nearest: Array = a / b
    back, error = two_product(nearest, b)
    remainder = a - back
    positive = b > 0
    above = np.where(positive, remainder < error, remainder > error)
    below = np.where(positive, remainder > error, remainder < error)
    ordinary = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0)
    safe = ordinary & product_is_safe(nearest, b, back) & (np.abs(nearest) > 2.0**-1000)
    result = step(nearest, safe & above, safe & below, mode)
    return exact.repair(result, ordinary & ~safe, partial(exact.quotient, mode=mode), (a, b))


def rcp64(mode: Mode, a: Array) -> Array:
    """The reciprocal, as a quotient."""
    return div64(mode, np.ones_like(a), a)


def sqrt64(mode: Mode, a: Array) -> Array:
    """The root; its square's rounding and error tell the side."""
    nearest: Array = np.sqrt(a)
    square, error = two_product(nearest, nearest)
    remainder = a - square
    ordinary = np.isfinite(a) & (a > 0)
    safe = ordinary & product_is_safe(nearest, nearest, square)
    result = step(nearest, safe & (remainder < error), safe & (remainder > error), mode)
    return exact.repair(result, ordinary & ~safe, partial(exact.root, mode=mode), (a,))
