"""What float32 and the 16-bit formats do at the edges: one NaN pattern, flushed subnormals, saturation."""

from __future__ import annotations

import numpy as np

from kernels.device.arithmetic.opcode import Array, Function

CANONICAL32 = np.uint32(0x7FFFFFFF)
CANONICAL16 = np.uint16(0x7FFF)
_SMALLEST_NORMAL = np.float32(2.0**-126)


def canonical32(result: Array) -> Array:
    """Give each NaN lane of a fresh float32 array the one pattern that PTX promises, in place.

    float64 results keep the NaN that the host's arithmetic gives.
    """
    # One pass that a NaN survives is cheaper than testing each lane.
    largest = np.maximum.reduce(result, axis=None)
    if np.isnan(largest):
        result.view(np.uint32)[np.isnan(result)] = CANONICAL32
    return result


def canonical16(result: Array) -> Array:
    """The same for a fresh float16 array."""
    result.view(np.uint16)[np.isnan(result)] = CANONICAL16
    return result


def flushed(a: Array) -> Array:
    """Subnormal float32 lanes become zeros of the same sign."""
    return np.where(np.abs(a) < _SMALLEST_NORMAL, np.copysign(np.float32(0), a), a)


def clamped(a: Array) -> Array:
    """`.sat`: into [0, 1], NaN and negative zero becoming +0."""
    one = a.dtype.type(1)
    inside: Array = np.where(a > 0, np.minimum(a, one), a.dtype.type(0))
    return inside


def finished32(function: Function, ftz: bool, sat: bool) -> Function:
    """A float32 function with the modifiers `.ftz` and `.sat` and the canonical NaN."""
    if not ftz and not sat:
        return lambda *operands: canonical32(function(*operands))

    def finished(*operands: Array) -> Array:
        result = function(*map(flushed, operands)) if ftz else function(*operands)
        if ftz:
            result = flushed(result)
        return clamped(result) if sat else canonical32(result)

    return finished
