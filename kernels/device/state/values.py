"""The content of a register: one number per thread, stored as small as its pattern allows.

The threads of a chunk of blocks form a grid. Its rows are the threads of a block, its columns are the blocks. An array
of shape (T, 1) is the same in every block. An array of shape (1, B) is the same in every thread of a block. numpy's
broadcasting joins them.

A value is such an array plus one integer for all threads. A loop counter is only an integer. A pointer that a loop
moves keeps its array, so nothing is computed per thread. All facts about the array (its range, its alignment) stay
known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

INTEGER = {
    1: np.dtype(np.bool_),
    8: np.dtype(np.int8),
    16: np.dtype(np.int16),
    32: np.dtype(np.int32),
    64: np.dtype(np.int64),
}
_MAX_DERIVED = 64


def wrap(number: int, bits: int) -> int:
    """Return the number in two's complement with `bits` bits. A predicate is 0 or 1."""
    if bits == 1:
        return number & 1
    half = 1 << (bits - 1)
    return ((number + half) & ((1 << bits) - 1)) - half


class Lanes:
    """An array with one element per thread (or fewer, see above), and known facts about it.

    sites: where these numbers were used as addresses before, and what was found there
    """

    __slots__ = ("_bounds", "_derived", "_digest", "_low_bits", "array", "sites")

    def __init__(self, array: Array) -> None:
        self.array = array
        self._bounds: tuple[int, int] | None = None
        self._low_bits: int | None = None
        self._digest: int | None = None
        self._derived: dict[object, Any] | None = None
        self.sites: dict[tuple[int, int], Any] | None = None

    @property
    def bounds(self) -> tuple[int, int]:
        if self._bounds is None:
            self._bounds = int(self.array.min()), int(self.array.max())
        return self._bounds

    @property
    def low_bits(self) -> int:
        """Return the lowest four bits that any element has set; 0 if all are multiples of 16."""
        if self._low_bits is None:
            self._low_bits = int(np.bitwise_or.reduce(self.array, axis=None)) & 15
        return self._low_bits

    @property
    def digest(self) -> int:
        if self._digest is None:
            self._digest = hash((self.array.shape, self.array.tobytes()))
        return self._digest

    def derive(self, key: object, compute: Callable[[], Any]) -> Any:
        """Return what `compute` makes of this array. The result is kept under `key`."""
        if self._derived is None or len(self._derived) >= _MAX_DERIVED:
            self._derived = {}
        elif key in self._derived:
            return self._derived[key]
        made = self._derived[key] = compute()
        return made


class Value:
    """The content of a register: `lanes` (None: the same in all threads) plus `offset`, modulo 2^bits.

    Floats and predicates are stored as bits. Their offset is 0 unless they are the same in all threads.
    """

    __slots__ = ("bits", "lanes", "offset")

    def __init__(self, lanes: Lanes | None, offset: int, bits: int) -> None:
        self.lanes = lanes
        self.offset = offset
        self.bits = bits

    def dense(self, dtype: np.dtype[Any]) -> Array:
        """Return the content as an array of a type with the same width."""
        integer = INTEGER[self.bits]
        if self.lanes is None:
            array: Array = np.array([[wrap(self.offset, self.bits)]], integer)
        else:
            array = self.lanes.array
            if self.offset:
                offset = wrap(self.offset, self.bits)
                array = self.lanes.derive(("plus", offset), lambda: array.view(integer) + integer.type(offset))
        return array if array.dtype == dtype else array.view(dtype)

    def integral(self) -> Value:
        """Return the same bits with signed integer lanes, for integer arithmetic."""
        lanes = self.lanes
        if lanes is None or lanes.array.dtype.kind == "i":
            return self
        view: Lanes = lanes.derive("integral", lambda: Lanes(lanes.array.view(INTEGER[self.bits])))
        return Value(view, self.offset, self.bits)

    def unsigned(self) -> int:
        """Return the content as an unsigned number, if it is the same in all threads."""
        return self.offset & ((1 << self.bits) - 1)

    def signed(self) -> int:
        """Return the content as a signed number, if it is the same in all threads."""
        return wrap(self.offset, self.bits)

    def range(self) -> tuple[int, int]:
        """Return bounds of lanes + offset before any wrap."""
        if self.lanes is None:
            return self.offset, self.offset
        low, high = self.lanes.bounds
        return low + self.offset, high + self.offset


def uniform(number: int, bits: int) -> Value:
    """Return a value that is the same in all threads."""
    return Value(None, wrap(number, bits), bits)


def from_array(array: Array) -> Value:
    """Return a value from an array of any type. A single element becomes a number."""
    bits = 1 if array.dtype == np.bool_ else array.dtype.itemsize * 8
    if array.size == 1:
        return Value(None, int(array.reshape(1).view(INTEGER[bits])[0]), bits)
    return Value(Lanes(array), 0, bits)


def narrowed(value: Value, bits: int) -> Value:
    """Return the lowest `bits` bits of an integer value."""
    if value.bits == bits:
        return value
    if value.lanes is None:
        return uniform(value.offset, bits)
    lanes = value.integral().lanes
    assert lanes is not None
    narrow: Lanes = lanes.derive(("cast", bits), lambda: Lanes(lanes.array.astype(INTEGER[bits])))
    return Value(narrow, wrap(value.offset, bits), bits)


def widened(value: Value, bits: int, *, signed: bool) -> Value:
    """Return the integer value in more bits, exactly."""
    if value.lanes is None:
        return uniform(value.signed() if signed else value.unsigned(), bits)
    value = value.integral()
    lanes = value.lanes
    assert lanes is not None
    low, high = value.range()
    half = 1 << value.bits - 1
    if (-half if signed else 0) <= low and high < half:
        wide: Lanes = lanes.derive(("cast", bits), lambda: Lanes(lanes.array.astype(INTEGER[bits])))
        return Value(wide, value.offset, bits)
    kind = INTEGER[value.bits] if signed else np.dtype(f"u{value.bits // 8}")
    return from_array(value.dense(kind).astype(INTEGER[bits]))
