from __future__ import annotations

from functools import partial

import numpy as np

from kernels.device.arithmetic.opcode import (
    BITS,
    INTEGERS,
    NUMPY_TYPES,
    Array,
    Family,
    Function,
    Opcode,
    Operation,
    optional,
    typed,
)  # fmt: skip

_WORDS, _LONG = ("b32", "b64"), ("u32", "u64", "s32", "s64")


def _logical_not(opcode: Opcode) -> Operation | None:
    match = opcode.match(BITS)
    if not match:
        return None
    dtype = NUMPY_TYPES[match[0]]
    return Operation(opcode.text, match, match[0], lambda a: (a == 0).astype(dtype))


def _lop3(a: Array, b: Array, c: Array, table: Array) -> Array:
    """Build the result minterm by minterm: bit 4a + 2b + c of the table is the result for bits a, b, c.

    An immediate is one table for all lanes: only its own terms are computed.
    """
    result: Array = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape, table.shape), np.uint32)
    for row in range(8):
        wanted = (table >> row) & 1
        if wanted.any():
            term = (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
            result |= term if wanted.all() else np.where(wanted, term, np.uint32(0))
    return result


def _shift_left(a: Array, b: Array) -> Array:
    """Shift left. numpy treats shifts by the width and more like PTX, if the amount's type doesn't cut it."""
    result: Array = np.left_shift(a, _amount(a, b))
    return result


def _shift_right(a: Array, b: Array) -> Array:
    """Shift right; fill with the sign of a signed type."""
    result: Array = np.right_shift(a, _amount(a, b))
    return result


def _amount(a: Array, b: Array) -> Array:
    return (b if a.dtype == b.dtype else np.minimum(b, b.dtype.type(64))).astype(a.dtype, copy=False)


def _funnel(left: bool, clamp: bool, a: Array, b: Array, c: Array) -> Array:
    """Shift the 64-bit value b:a. A left shift keeps its high word, a right shift its low word."""
    amount = (np.minimum(c, np.uint32(32)) if clamp else c & np.uint32(31)).astype(np.uint64)
    pair = (b.astype(np.uint64) << np.uint64(32)) | a
    shifted = (pair << amount) >> np.uint64(32) if left else pair >> amount
    result: Array = shifted.astype(np.uint32)
    return result


def _funnel_shift(opcode: Opcode) -> Operation | None:
    match = opcode.match(("l", "r"), ("clamp", "wrap"), ("b32",))
    if not match:
        return None
    function = partial(_funnel, match[0] == "l", match[1] == "clamp")
    return Operation(opcode.text, ("b32", "b32", "u32"), "b32", function)


# The byte of b:a for each of the four result bytes, by the selector's two low bits.
_PERMUTATIONS: dict[str, tuple[tuple[int, ...], ...]] = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


def _permuted(nibble: Function, a: Array, b: Array, c: Array) -> Array:
    """Choose four bytes of b:a. If bit 3 of a selector is set, copies of the chosen byte's sign replace it."""
    pair = (b.astype(np.uint64) << np.uint64(32)) | a
    result: Array = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), np.uint32)
    for position in range(4):
        selector = nibble(c, position)
        byte = ((pair >> ((selector & 7) * 8).astype(np.uint64)) & np.uint64(0xFF)).astype(np.uint32)
        sign = np.where(byte & 0x80, np.uint32(0xFF), np.uint32(0))
        result |= np.where(selector & 8, sign, byte) << np.uint32(8 * position)
    return result


def _generic_selector(c: Array, position: int) -> Array:
    result: Array = (c >> np.uint32(4 * position)) & np.uint32(0xF)
    return result


def _table_selector(table: Array, c: Array, position: int) -> Array:
    result: Array = table[c & 3, position]
    return result


def _permute(opcode: Opcode) -> Operation | None:
    match = opcode.match(("b32",), optional(*_PERMUTATIONS))
    if not match:
        return None
    nibble: Function = _generic_selector
    if match[1]:
        nibble = partial(_table_selector, np.array(_PERMUTATIONS[match[1]], np.uint32))
    return Operation(opcode.text, ("b32",) * 3, "b32", partial(_permuted, nibble))


def _reversed(a: Array) -> Array:
    """Reverse the bits: within bytes with three swaps, then the bytes."""
    kind = a.dtype.type
    for shift, mask in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
        own = kind(mask & np.iinfo(kind).max)
        a = ((a >> kind(shift)) & own) | ((a & own) << kind(shift))
    return a.byteswap()


def _population(a: Array) -> Array:
    return np.bitwise_count(a).astype(np.uint32)


def length(a: Array) -> Array:
    """Return how many bits an unsigned value needs; 0 for zero."""
    length = np.zeros(a.shape, np.uint32)
    for step in (32, 16, 8, 4, 2, 1):
        if step >= 8 * a.dtype.itemsize:
            continue
        high = (a >> a.dtype.type(step)) != 0
        length += np.where(high, np.uint32(step), np.uint32(0))
        a = np.where(high, a >> a.dtype.type(step), a)
    result: Array = length + (a != 0)
    return result


def _leading_zeros(a: Array) -> Array:
    return np.uint32(8 * a.dtype.itemsize) - length(a)


def _find(shift_amount: bool, a: Array) -> Array:
    """Return the position of the highest bit unlike the sign, or its shift to the top; otherwise all ones."""
    bits = 8 * a.dtype.itemsize
    unsigned: Array = a.view(np.dtype(f"u{a.dtype.itemsize}"))
    size = length(np.where(a < 0, ~unsigned, unsigned))
    place = np.uint32(bits) - size if shift_amount else size - np.uint32(1)
    return np.where(size == 0, np.uint32(0xFFFFFFFF), place)


def _find_highest(opcode: Opcode) -> Operation | None:
    match = opcode.match(optional("shiftamt"), _LONG)
    if not match:
        return None
    return Operation(opcode.text, (match[1],), "u32", partial(_find, match[0] == "shiftamt"))


def _extracted(a: Array, start: Array, count: Array) -> Array:
    """Return a field of `count` bits of a. Past the top, it is filled with the sign of a signed type, otherwise with
    zeros.
    """
    bits = np.uint64(8 * a.dtype.itemsize)
    start, count = _field_bounds(a, start, count)
    # Move the field's top bit to the register's top, then back down. A field past the top just ends there.
    end = np.minimum(start + count, bits)
    taken = np.where(start >= end, np.uint64(0), end - start)
    field = _shift_right(_shift_left(a, bits - end), bits - taken)
    if a.dtype.kind == "u":
        return np.where(taken == 0, a.dtype.type(0), field)
    beyond = np.where(a < 0, a.dtype.type(-1), a.dtype.type(0))
    return np.where(count == 0, a.dtype.type(0), np.where(start >= bits, beyond, field))


def _field_bounds(a: Array, start: Array, count: Array) -> tuple[Array, Array]:
    """Limit start and count of a bit field. PTX allows 0 to 255. A GPU cuts larger values only for 32 bits."""
    kept = np.uint32(0xFF if a.dtype.itemsize == 4 else 0xFFFFFFFF)
    return (start & kept).astype(np.uint64), (count & kept).astype(np.uint64)


def _ones(count: Array, dtype: type[np.generic]) -> Array:
    """Return a value with the lowest `count` bits set."""
    return ~_shift_left(np.full(count.shape, ~np.zeros((), dtype), dtype), count)


def _inserted(a: Array, b: Array, start: Array, count: Array) -> Array:
    start, count = _field_bounds(b, start, count)
    mask = _shift_left(_ones(count, b.dtype.type), start)
    return (b & ~mask) | (_shift_left(a, start) & mask)


def _mask(opcode: Opcode) -> Operation | None:
    """bmsk: `count` ones from a start. `clamp` takes both unchanged, `wrap` modulo 32."""
    match = opcode.match(("clamp", "wrap"), ("b32",))
    if not match:
        return None

    def mask(start: Array, count: Array) -> Array:
        if match[0] == "wrap":
            start, count = start & np.uint32(31), count & np.uint32(31)
        return _shift_left(_ones(count, np.uint32), start)

    return Operation(opcode.text, ("u32", "u32"), "b32", mask)


_LOGICAL = ("pred", *BITS)

FAMILIES: dict[str, Family] = {
    "and": typed(_LOGICAL, 2, np.bitwise_and),
    "or": typed(_LOGICAL, 2, np.bitwise_or),
    "xor": typed(_LOGICAL, 2, np.bitwise_xor),
    "not": typed(_LOGICAL, 1, np.invert),
    "cnot": _logical_not,
    "lop3": typed(("b32",), 3, _lop3, more=("u32",)),
    "shl": typed(BITS, 1, _shift_left, more=("u32",)),
    "shr": typed(BITS + INTEGERS, 1, _shift_right, more=("u32",)),
    "shf": _funnel_shift,
    "prmt": _permute,
    "brev": typed(_WORDS, 1, _reversed),
    "popc": typed(_WORDS, 1, _population, result="u32"),
    "clz": typed(_WORDS, 1, _leading_zeros, result="u32"),
    "bfind": _find_highest,
    "bfe": typed(_LONG, 1, _extracted, more=("u32", "u32")),
    "bfi": typed(_WORDS, 2, _inserted, more=("u32", "u32")),
    "bmsk": _mask,
}
