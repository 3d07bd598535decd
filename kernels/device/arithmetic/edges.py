"""Edge cases of float32 and the 16-bit formats: one NaN pattern, flushed subnormals, saturation."""

from __future__ import annotations

import numpy as np

from kernels.device.arithmetic.opcode import Array, Function

CANONICAL32 = np.uint32(0x7FFFFFFF)
CANONICAL16 = np.uint16(0x7FFF)
_SMALLEST_NORMAL = np.float32(2.0**-126)

Factors = tuple[float, ...]
NO_FACTORS: Factors = ()


def canonical32(result: Array) -> Array:
    """Give each NaN lane of a new float32 array the one pattern that PTX promises, in place.

    float64 results keep the NaN of the host's arithmetic.
    """
    # One pass through which a NaN survives is cheaper than a test of each lane.
    largest = np.maximum.reduce(result, axis=None)
    if np.isnan(largest):
        result.view(np.uint32)[np.isnan(result)] = CANONICAL32
    return result


def canonical16(result: Array) -> Array:
    """Do the same for a new float16 array."""
    result.view(np.uint16)[np.isnan(result)] = CANONICAL16
    return result


def flushed(a: Array) -> Array:
    """Replace subnormal float32 lanes by zeros of the same sign."""
    return np.where(np.abs(a) < _SMALLEST_NORMAL, np.copysign(np.float32(0), a), a)


def clamped(a: Array) -> Array:
    """`.sat`: clamp to [0, 1]; NaN and negative zero become +0."""
    one = a.dtype.type(1)
    inside: Array = np.where(a > 0, np.minimum(a, one), a.dtype.type(0))
    return inside


def finished32(function: Function, ftz: bool, sat: bool, factors: Factors = NO_FACTORS) -> Function:
    """Add the modifiers `.ftz` and `.sat` and the canonical NaN to a float32 function.

    factors: for each operand, a factor such that the result is multiplied by 2^64
    """
    if not ftz and not sat:
        return lambda *operands: canonical32(function(*operands))

    def finished(*operands: Array) -> Array:
        result = _flushing(function, factors, *operands) if ftz else function(*operands)
        return clamped(result) if sat else canonical32(result)

    return finished


def _flushing(function: Function, factors: Factors, *operands: Array) -> Array:
    """Flush subnormals on both sides. A result is subnormal if rounding without an exponent limit makes it subnormal.

    So a result is also flushed if only the coarse subnormal spacing rounds it up to a normal value.
    """
    given = [flushed(operand) for operand in operands]
    result: Array = function(*given)
    smallest = np.abs(result) == _SMALLEST_NORMAL
    if factors and smallest.any():
        raised = function(*(a * np.float32(factor) for a, factor in zip(given, factors, strict=True)))
        tiny = smallest & (np.abs(raised) < np.float32(2.0 ** (64 - 126)))
        result = np.where(tiny, np.copysign(np.float32(0), result), result)
    return flushed(result)
