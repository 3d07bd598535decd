"""The 16-bit formats float16 and bfloat16, alone and packed in pairs.

Everything is computed in float64, exactly or rounded to odd, then rounded once into the format.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from kernels.device.arithmetic.edges import CANONICAL16, canonical16, clamped
from kernels.device.arithmetic.floating import ordered
from kernels.device.arithmetic.opcode import Array, Family, Function, Opcode, Operation, optional
from kernels.device.arithmetic.rounding.error_terms import narrowed, odd_sum

_SMALLEST_NORMAL16 = 2.0**-14
_LOW = np.uint32(0xFFFF)


def from_bfloat(bits: Array) -> Array:
    """Convert bfloat16 bits to float32, which has the same exponents."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bfloat(exact: Array) -> Array:
    """Round a float64 value, exact or rounded to odd, to nearest bfloat16 bits."""
    single = narrowed(exact, 0.0, "rz")
    # If bits were lost, make float32's last bit odd. Then one more rounding does no harm.
    return _nearest(single.view(np.uint32) | (single.astype(np.float64) != exact), np.isnan(exact))


def bfloat_of_single(single: Array) -> Array:
    """Round a float32 value to nearest bfloat16 bits."""
    return _nearest(single.view(np.uint32), np.isnan(single))


def _nearest(bits: Array, nan: Array) -> Array:
    nearest = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(nan, CANONICAL16, nearest.astype(np.uint16))


def to_half(exact: Array) -> Array:
    """Round a float64 value, exact or rounded to odd, to nearest float16."""
    return canonical16(exact.astype(np.float16))


def joined(high: Array, low: Array) -> Array:
    """Join two 16-bit arrays into one of 32 bits."""
    return (high.view(np.uint16).astype(np.uint32) << np.uint32(16)) | low.view(np.uint16)


def halves(pair: Array) -> tuple[Array, Array]:
    """Return the low and the high 16 bits of a 32-bit array."""
    return (pair & _LOW).astype(np.uint16), (pair >> np.uint32(16)).astype(np.uint16)


@dataclass(frozen=True, slots=True)
class _Format:
    """How one element is converted to float64 and back. A packed type holds two elements."""

    load: Callable[[Array], Array]
    store: Callable[[Array], Array]
    packed: bool


@cache
def _half_values() -> Array:
    """Return the value of each float16. A lookup is several times cheaper than numpy's conversion."""
    return np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float64)


def _load_half(a: Array) -> Array:
    values: Array = _half_values()[a.view(np.uint16)]
    return values


def _load_bfloat(a: Array) -> Array:
    return from_bfloat(a).astype(np.float64)


_FORMATS = {
    "f16": _Format(_load_half, to_half, packed=False),
    "f16x2": _Format(_load_half, to_half, packed=True),
    "bf16": _Format(_load_bfloat, to_bfloat, packed=False),
    "bf16x2": _Format(_load_bfloat, to_bfloat, packed=True),
}
_HALVES = ("f16", "f16x2")


def elementwise(type_name: str, function: Function) -> Function:
    """Apply a function of float64 arrays to arrays of a 16-bit type, element by element."""
    form = _FORMATS[type_name]

    def single(*operands: Array) -> Array:
        return form.store(function(*map(form.load, operands)))

    def double(*operands: Array) -> Array:
        low, high = (single(*elements) for elements in zip(*map(halves, operands), strict=True))
        return joined(high, low)

    return double if form.packed else single


def _flushed(a: Array) -> Array:
    return np.where(np.abs(a) < _SMALLEST_NORMAL16, np.copysign(0.0, a), a)


def _finished(function: Function, ftz: str, bound: str) -> Function:
    """Add `.ftz` on both sides, and `.sat` or `.relu` at the end."""

    def finished(*operands: Array) -> Array:
        result = function(*map(_flushed, operands)) if ftz else function(*operands)
        if ftz:
            # Flush by the size of the rounded result, which is subnormal if the exact one rounds below.
            tiny = np.abs(result.astype(np.float16)) < _SMALLEST_NORMAL16
            result = np.where(tiny, np.copysign(0.0, result), result)
        # `.relu`: negative values become +0, NaN stays
        return clamped(result) if bound == "sat" else np.where(result <= 0, 0.0, result) if bound == "relu" else result

    return finished


def _difference(a: Array, b: Array) -> Array:
    return odd_sum(a, -b)


def _fused(a: Array, b: Array, c: Array) -> Array:
    # A product of two 16-bit floats is exact in float64, so only the sum is rounded.
    return odd_sum(a * b, c)


def _operation(opcode: Opcode, function: Function, type_name: str, sources: int, flops: int = 0) -> Operation:
    lanes = 2 if type_name.endswith("x2") else 1
    function = elementwise(type_name, function)
    return Operation(opcode.text, (type_name,) * sources, type_name, function, flops=lanes * flops)


def _sum_or_product(function: Function) -> Family:
    def family(opcode: Opcode) -> Operation | None:
        match = opcode.match(optional("rn"), optional("ftz"), optional("sat"), _HALVES)
        if match:
            return _operation(opcode, _finished(function, match[1], match[2]), match[3], 2, 1)
        match = opcode.match(optional("rn"), ("bf16", "bf16x2"))
        return _operation(opcode, function, match[1], 2, 1) if match else None

    return family


def _multiply_add(opcode: Opcode) -> Operation | None:
    match = opcode.match(("rn",), optional("ftz"), optional("sat", "relu"), _HALVES)
    if match:
        return _operation(opcode, _finished(_fused, match[1], match[2]), match[3], 3, 2)
    match = opcode.match(("rn",), optional("relu"), ("bf16", "bf16x2"))
    return _operation(opcode, _finished(_fused, "", match[1]), match[2], 3, 2) if match else None


def _sign_change(function: Function) -> Family:
    def family(opcode: Opcode) -> Operation | None:
        match = opcode.match(optional("ftz"), tuple(_FORMATS))
        if not match or (match[0] and match[1] not in _HALVES):
            return None
        return _operation(opcode, _finished(function, match[0], ""), match[1], 1)

    return family


def _extreme(largest: bool) -> Family:
    def plain(a: Array, b: Array) -> Array:
        return ordered(a, b, largest)

    def strict(a: Array, b: Array) -> Array:
        return np.where(np.isnan(a) | np.isnan(b), np.nan, ordered(a, b, largest))

    def family(opcode: Opcode) -> Operation | None:
        match = opcode.match(optional("ftz"), optional("NaN"), tuple(_FORMATS))
        if not match or (match[0] and match[2] not in _HALVES):
            return None
        return _operation(opcode, _finished(strict if match[1] else plain, match[0], ""), match[2], 2)

    return family


FAMILIES: dict[str, Family] = {
    "add": _sum_or_product(odd_sum),
    "sub": _sum_or_product(_difference),
    "mul": _sum_or_product(np.multiply),
    "fma": _multiply_add,
    "neg": _sign_change(np.negative),
    "abs": _sign_change(np.abs),
    "min": _extreme(largest=False),
    "max": _extreme(largest=True),
}
