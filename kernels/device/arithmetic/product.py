"""Integer products: low half, high half, wide, with or without addition, and byte dot products."""

from __future__ import annotations

import numpy as np

from kernels.device.arithmetic.integer import saturated32
from kernels.device.arithmetic.opcode import (
    INTEGERS,
    NUMPY_TYPES,
    Array,
    Family,
    Function,
    Opcode,
    Operation,
    width,
)  # fmt: skip

_WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
_LOW32 = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def _wide(type_name: str) -> Function:
    wider = NUMPY_TYPES[_WIDER[type_name]]

    def product(a: Array, b: Array) -> Array:
        result: Array = a.astype(wider) * b.astype(wider)
        return result

    return product


def _high_of_unsigned64(a: Array, b: Array) -> Array:
    """Multiply 32-bit halves. No partial sum needs more than 64 bits."""
    a_low, a_high, b_low, b_high = a & _LOW32, a >> _HALF, b & _LOW32, b >> _HALF
    middle = a_high * b_low + ((a_low * b_low) >> _HALF)
    other = a_low * b_high + (middle & _LOW32)
    result: Array = a_high * b_high + (middle >> _HALF) + (other >> _HALF)
    return result


def _high_of_signed64(a: Array, b: Array) -> Array:
    """Return the unsigned high half, minus the other operand for each negative one."""
    high = _high_of_unsigned64(a.view(np.uint64), b.view(np.uint64)).view(np.int64)
    return high - np.where(a < 0, b, 0) - np.where(b < 0, a, 0)


def _high(type_name: str) -> Function:
    if width(type_name) == 64:
        return _high_of_signed64 if type_name == "s64" else _high_of_unsigned64
    wide, own, shift = _wide(type_name), NUMPY_TYPES[type_name], width(type_name)

    def product(a: Array, b: Array) -> Array:
        result: Array = (wide(a, b) >> shift).astype(own)
        return result

    return product


def _product(kind: str, type_name: str) -> tuple[Function, str] | None:
    """Return the function of one kind of product, and the type of its result."""
    if kind == "lo":
        return np.multiply, type_name
    if kind == "hi":
        return _high(type_name), type_name
    return (_wide(type_name), _WIDER[type_name]) if type_name in _WIDER else None


def _low24(a: Array) -> Array:
    """Return the low 24 bits as a 64-bit integer, sign-extended for signed types."""
    if a.dtype == np.int32:
        return (a.astype(np.int64) << 40) >> 40
    return (a & np.uint32(0xFFFFFF)).astype(np.int64)


def _product24(kind: str, type_name: str) -> Function:
    """mul24: the 48-bit product of 24-bit operands. `hi` returns its bits 47..16, `lo` its bits 31..0."""
    shift = 16 if kind == "hi" else 0
    own = NUMPY_TYPES[type_name]

    def product(a: Array, b: Array) -> Array:
        result: Array = ((_low24(a) * _low24(b)) >> shift).astype(own)
        return result

    return product


def _plus(product: Function) -> Function:
    return lambda a, b, c: product(a, b) + c


def _plus_saturated(product: Function) -> Function:
    return lambda a, b, c: saturated32(product(a, b).astype(np.int64) + c)


def _multiply(opcode: Opcode) -> Operation | None:
    match = opcode.match(("lo", "hi", "wide"), INTEGERS)
    chosen = _product(*match) if match else None
    if not match or not chosen:
        return None
    return Operation(opcode.text, (match[1],) * 2, chosen[1], chosen[0])


def _multiply_add(opcode: Opcode) -> Operation | None:
    if opcode.match(("hi",), ("sat",), ("s32",)):
        return Operation(opcode.text, ("s32",) * 3, "s32", _plus_saturated(_high("s32")))
    match = opcode.match(("lo", "hi", "wide"), INTEGERS)
    chosen = _product(*match) if match else None
    if not match or not chosen:
        return None
    function, result = chosen
    return Operation(opcode.text, (match[1], match[1], result), result, _plus(function))


def _multiply24(opcode: Opcode) -> Operation | None:
    match = opcode.match(("lo", "hi"), ("u32", "s32"))
    return Operation(opcode.text, (match[1],) * 2, match[1], _product24(*match)) if match else None


def _multiply_add24(opcode: Opcode) -> Operation | None:
    if opcode.match(("hi",), ("sat",), ("s32",)):
        return Operation(opcode.text, ("s32",) * 3, "s32", _plus_saturated(_product24("hi", "s32")))
    match = opcode.match(("lo", "hi"), ("u32", "s32"))
    if not match:
        return None
    return Operation(opcode.text, (match[1],) * 3, match[1], _plus(_product24(*match)))


def _field(a: Array, start: int, bits: int) -> Array:
    """Return a bit field as a 64-bit integer, sign-extended for signed types."""
    if a.dtype.kind == "i":
        return (a.astype(np.int64) << (64 - start - bits)) >> (64 - bits)
    return ((a >> start) & ((1 << bits) - 1)).astype(np.int64)


def _dot(sources: tuple[tuple[int, int], ...], factors: tuple[int, ...], result: str) -> Function:
    """Multiply fields (start, bits) of a by bytes of b, and add the products to c."""

    def dot(a: Array, b: Array, c: Array) -> Array:
        total = c.astype(np.int64)
        for (start, bits), byte in zip(sources, factors, strict=True):
            total = total + _field(a, start, bits) * _field(b, byte, 8)
        return total.astype(NUMPY_TYPES[result])

    return dot


def _dot_family(sources: tuple[tuple[int, int], ...], factors: dict[str, tuple[int, ...]]) -> Family:
    """Define a family of dot products. factors: the bytes of b by the first modifier; "" for none."""
    pair = ("u32", "s32")

    def family(opcode: Opcode) -> Operation | None:
        match = opcode.match(tuple(factors), pair, pair)
        if not match:
            return None
        kind, *types = match
        result = "s32" if "s32" in types else "u32"
        return Operation(opcode.text, (*types, result), result, _dot(sources, factors[kind], result))

    return family


FAMILIES: dict[str, Family] = {
    "mul": _multiply,
    "mad": _multiply_add,
    "mul24": _multiply24,
    "mad24": _multiply_add24,
    "dp4a": _dot_family(((0, 8), (8, 8), (16, 8), (24, 8)), {"": (0, 8, 16, 24)}),
    "dp2a": _dot_family(((0, 16), (16, 16)), {"lo": (0, 8), "hi": (16, 24)}),
}
