"""Fused multiply-add, rounded once."""

from __future__ import annotations

from functools import partial

import numpy as np

from kernels.device.arithmetic.opcode import Array
from kernels.device.arithmetic.rounding import exact
from kernels.device.arithmetic.rounding.error_terms import (
    Mode,
    narrowed,
    odd_sum,
    product_is_safe,
    signed_zero_sum,
    step,
    two_product,
    two_sum,
)  # fmt: skip
from kernels.device.arithmetic.rounding.exactness import INEXACT, UNDERFLOW, clear, raised

_MIDPOINT = np.iinfo(np.int64).min
_SMALLEST_NORMAL = np.float32(2.0**-126)


def fma32(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c in float32, to nearest.

    If neither the product nor the sum is rounded, plain operations are enough. Otherwise float64 is used, in which the
    product is exact.
    """
    clear(INEXACT)
    result = multiply_add(a, b, c)
    return _fma32_through64(a, b, c) if raised(INEXACT) else result


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c, rounded twice."""
    result: Array = a * b
    # In place if the shapes allow it: a new array costs more than the addition.
    return np.add(result, c, out=result) if result.shape == c.shape else result + c


def _fma32_through64(a: Array, b: Array, c: Array) -> Array:
    """Round twice, then repair the lanes for which rounding once may give another result.

    The results can only differ if the float64 sum is a float32 midpoint. Its low 29 bits are then a one and zeros. A
    subnormal result keeps fewer bits, so there every inexact lane is repaired.
    """
    product = a.astype(np.float64) * b.astype(np.float64)
    total = product + c.astype(np.float64)
    clear(UNDERFLOW)
    result = total.astype(np.float32)
    underflow = raised(UNDERFLOW)
    shifted = total.view(np.int64) << 35
    if not underflow and shifted.min() != _MIDPOINT:
        return result
    doubtful = shifted == _MIDPOINT
    if underflow:
        doubtful |= np.abs(result) <= _SMALLEST_NORMAL
    lanes = np.nonzero(doubtful)
    addend = np.broadcast_to(c, total.shape)[lanes].astype(np.float64)
    result[lanes] = odd_sum(np.broadcast_to(product, total.shape)[lanes], addend).astype(np.float32)
    return result


def fma32_directed(mode: Mode, a: Array, b: Array, c: Array) -> Array:
    product = a.astype(np.float64) * b
    addend = c.astype(np.float64)
    result = narrowed(*two_sum(product, addend), mode)
    return signed_zero_sum(result, product, addend, mode)


def fma64(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c in float64, to nearest."""
    clear(INEXACT)
    plain: Array = a * b + c
    return _fma64("rn", a, b, c, plain) if raised(INEXACT) else plain


def fma64_directed(mode: Mode, a: Array, b: Array, c: Array) -> Array:
    product = a * b
    result = _fma64(mode, a, b, c, product + c)
    # If the product lost bits below the smallest subnormal, a zero sum isn't exact.
    known = (a == 0) | (b == 0) | product_is_safe(a, b, product)
    exactly = np.where(known, product, np.nan)
    return signed_zero_sum(result, exactly, c, mode)


def _fma64(mode: Mode, a: Array, b: Array, c: Array, plain: Array) -> Array:
    """Use Boldo and Melquiond's algorithm: add a head and the exact tail, rounded to odd, once.

    plain: a * b + c rounded twice, which is correct if an operand is zero or not finite
    """
    product, low = two_product(a, b)
    middle, rest = two_sum(c, low)
    head, tail = two_sum(product, middle)
    tail = odd_sum(rest, tail)
    result = head + tail
    if mode != "rn":
        _, error = two_sum(head, tail)
        result = step(result, error < 0, error > 0, mode)
    safe = product_is_safe(a, b, product) & (np.abs(c) < 2.0**1020)
    finite = np.isfinite(a) & np.isfinite(b)
    trivial = ~(finite & np.isfinite(c)) | (a == 0) | (b == 0)
    # A product that only overflowed doesn't count for an infinite addend.
    result = np.where(trivial, np.where(finite & np.isinf(c), c, plain), result)
    return exact.repair(result, ~(safe | trivial), partial(exact.fused, mode=mode), (a, b, c))
