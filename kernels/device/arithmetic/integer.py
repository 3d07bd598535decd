"""Integer addition, division, minimum and similar. Everything wraps unless the opcode has `.sat`."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels.device.arithmetic.opcode import (
    INTEGERS,
    SIGNED,
    Array,
    Family,
    Function,
    Opcode,
    Operation,
    typed,
)  # fmt: skip


def saturated32(wide: Array) -> Array:
    """Clamp an array of a wider signed type into s32."""
    info = np.iinfo(np.int32)
    return np.clip(wide, info.min, info.max).astype(np.int32)


def _add_saturated(a: Array, b: Array) -> Array:
    return saturated32(a.astype(np.int64) + b)


def _subtract_saturated(a: Array, b: Array) -> Array:
    return saturated32(a.astype(np.int64) - b)


def _binary(function: Function, modifier: str, modified: Function) -> Family:
    """Define a family of two operands that has a modifier for s32 only."""
    plain = typed(INTEGERS, 2, function)

    def family(opcode: Opcode) -> Operation | None:
        if opcode.match((modifier,), ("s32",)):
            return Operation(opcode.text, ("s32", "s32"), "s32", modified)
        return plain(opcode)

    return family


def magnitude(a: Array) -> Array:
    """Return |a| in the unsigned type, which also holds the magnitude of the most negative value."""
    unsigned: Array = a.view(np.dtype(f"u{a.dtype.itemsize}"))
    return np.where(a < 0, (~unsigned) + unsigned.dtype.type(1), unsigned)


def _divide(a: Array, b: Array) -> Array:
    """Divide and truncate. PTX leaves a zero divisor undefined; an sm_90 GPU returns all ones."""
    quotient = _quotient(a, b)
    return quotient if b.all() else np.where(b == 0, _all_ones(a), quotient)


def _remainder(a: Array, b: Array) -> Array:
    """Return a remainder with the dividend's sign, as in C. For a zero divisor it is all ones, like the quotient."""
    remainder: Array = a - _quotient(a, b) * b
    return remainder if b.all() else np.where(b == 0, _all_ones(a), remainder)


def _all_ones(a: Array) -> Any:
    return ~a.dtype.type(0)


def _quotient(a: Array, b: Array) -> Array:
    """Divide and truncate; any result for a zero divisor.

    Up to 32 bits, float64 is faster than integer division and still exact. A quotient that isn't an integer is further
    from the next integer than float64 rounds.
    """
    if a.dtype.itemsize <= 4:
        return np.trunc(a.astype(np.float64) / b).astype(np.int64).astype(a.dtype)
    if a.dtype.kind == "u":
        whole: Array = a // b
        return whole
    size = (magnitude(a) // magnitude(b)).view(a.dtype)
    return np.where((a < 0) != (b < 0), -size, size)


def _sum_of_difference(a: Array, b: Array, c: Array) -> Array:
    """sad: c + |a - b|, without overflow in the difference."""
    return c + np.where(a < b, b - a, a - b)


def _rectified(function: Function) -> Function:
    return lambda a, b: np.maximum(function(a, b), 0)


FAMILIES: dict[str, Family] = {
    "add": _binary(np.add, "sat", _add_saturated),
    "sub": _binary(np.subtract, "sat", _subtract_saturated),
    "div": typed(INTEGERS, 2, _divide),
    "rem": typed(INTEGERS, 2, _remainder),
    "sad": typed(INTEGERS, 3, _sum_of_difference),
    "abs": typed(SIGNED, 1, np.abs),
    "neg": typed(SIGNED, 1, np.negative),
    "min": _binary(np.minimum, "relu", _rectified(np.minimum)),
    "max": _binary(np.maximum, "relu", _rectified(np.maximum)),
}
