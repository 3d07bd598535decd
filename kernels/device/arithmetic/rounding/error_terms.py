"""Exact error terms of sums and products, and the roundings built on them."""

from __future__ import annotations

import numpy as np

from kernels.device.arithmetic.opcode import Array
from kernels.device.arithmetic.rounding.exactness import INEXACT, clear, raised

Mode = str  # "rn", "rz", "rm" or "rp"

_SPLITTER = 2.0**27 + 1


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a + b rounded, and its exact error. Knuth's six operations are valid without overflow."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _split(a: Array) -> tuple[Array, Array]:
    """Split a float64 into two halves of 26 bits (Veltkamp)."""
    scaled = a * _SPLITTER
    high = scaled - (scaled - a)
    return high, a - high


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a * b rounded in float64, and its exact error if `product_is_safe`."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def product_is_safe(a: Array, b: Array, product: Array) -> Array:
    """Return the lanes in which two_product neither overflows nor loses bits below the smallest subnormal."""
    size = np.abs(product)
    normal = (size > 2.0**-960) & (size < 2.0**1020)
    return normal & (np.abs(a) < 2.0**990) & (np.abs(b) < 2.0**990)


def to_odd(total: Array, error: Array) -> Array:
    """Round total + error to odd in float64: the exact value, or its neighbour whose last bit is one.

    Rounding this again to a type with at least two bits fewer equals rounding the exact sum once.
    """
    bits = total.view(np.int64)
    nudge = (error != 0) & ((bits & 1) == 0) & np.isfinite(total)
    away = (error > 0) == (total > 0)
    return (bits + np.where(nudge, np.where(away, 1, -1), 0)).view(np.float64)


def odd_sum(a: Array, b: Array) -> Array:
    """Return a + b rounded to odd in float64."""
    clear(INEXACT)
    total: Array = a + b
    return to_odd(*two_sum(a, b)) if raised(INEXACT) else total


def step(nearest: Array, above: Array, below: Array, mode: Mode) -> Array:
    """Move from the nearest value to the value of the rounding mode.

    above, below: whether the nearest value is above or below the exact value
    """
    down = above & ((nearest > 0) if mode == "rz" else (mode == "rm"))
    up = below & ((nearest < 0) if mode == "rz" else (mode == "rp"))
    infinity = nearest.dtype.type(np.inf)
    lowered = np.where(down, np.nextafter(nearest, -infinity), nearest)
    return np.where(up, np.nextafter(nearest, infinity), lowered)


def narrowed(total: Array, error: Array | float, mode: Mode) -> Array:
    """Round total + error to float32. The float64 error is at most half an ulp of total."""
    nearest = total.astype(np.float32)
    wide = nearest.astype(np.float64)
    same = wide == total
    return step(nearest, (wide > total) | (same & (error < 0)), (wide < total) | (same & (error > 0)), mode)


def signed_zero_sum(result: Array, a: Array, b: Array, mode: Mode) -> Array:
    """Correct the sign of an exact zero sum: negative when rounding down, unless both terms are positive zeros."""
    if mode != "rm":
        return result
    negative = (result == 0) & (np.signbit(a) | np.signbit(b)) & (a == -b)
    return np.where(negative, -np.abs(result), result)
