"""Tensor maps: how a copy of the Tensor Memory Accelerator sees a tensor in global memory.

Dimensions are in the order of `cuTensorMapEncodeTiled`: the first one is contiguous in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import prod

from kernels.exercise.values import ElementType
from kernels.wording import plural

MAP_TYPE = "const __grid_constant__ CUtensorMap"
MOST_DIMENSIONS = 5
PITCH = 16
"""The bytes of which the distance of two rows, and a row of a box, are a multiple."""

SWIZZLES = (0, 32, 64, 128)
"""The bytes of the rows that a swizzle permutes; 0 for none."""

_LONGEST_BOX = 256
_LARGEST_EXTENT = 1 << 32
_LARGEST_STRIDE = 1 << 40


class Outside(StrEnum):
    """What a copy reads outside of the tensor."""

    ZERO = "zero"
    NAN = "nan"


@dataclass(frozen=True, slots=True)
class TensorMap:
    """One tensor map.

    operand: the array that holds the tensor
    extents: elements in each dimension
    strides: bytes between neighbours, for all dimensions after the first
    box: elements of a copy in each dimension
    nan: whether elements outside the tensor are read as NaN instead of 0
    """

    operand: str
    type: ElementType
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    nan: bool = False

    @property
    def row_bytes(self) -> int:
        """The bytes of a box in its first dimension."""
        return self.box[0] * self.type.bytes

    @property
    def bytes(self) -> int:
        """The bytes of a box, which are what a copy reports to its barrier."""
        return prod(self.box) * self.type.bytes

    @property
    def problem(self) -> str:
        """Why the driver refuses such a map, and what to change; "" if it doesn't. A clause or two."""
        row, size = self.row_bytes, self.type.bytes
        if len(self.box) != len(self.extents):
            return f"the box has {plural(len(self.box), 'number')}, but the tensor has {len(self.extents)} dimensions"
        for box in self.box:
            if not 1 <= box <= _LONGEST_BOX:
                return f"a box has 1 to {_LONGEST_BOX} elements in each dimension, not {box:,}"
        if row % PITCH:
            needed = PITCH // size
            return (
                f"a row of the box has {plural(self.box[0], 'element')} of {plural(size, 'byte')}, but must have "
                f"a multiple of {PITCH} bytes. Use a multiple of {needed}"
            )
        if self.swizzle not in SWIZZLES:
            return f"the swizzle is {self.swizzle}, but must be one of {', '.join(map(str, SWIZZLES))}"
        if self.swizzle and row != self.swizzle:
            return (
                f"a row of the box has {row:,} bytes, but a swizzle of {self.swizzle} bytes needs rows of as many. "
                f"Use {self.swizzle // size} elements, or another swizzle"
            )
        for extent in self.extents:
            if not 1 <= extent <= _LARGEST_EXTENT:
                return f"the tensor has {extent:,} elements in a dimension"
        for stride in self.strides:
            if stride % PITCH or not stride < _LARGEST_STRIDE:
                return (
                    f"a row of the tensor has {stride:,} bytes, but must have a multiple of {PITCH}. "
                    f"Use a multiple of {PITCH // size} elements"
                )
        if self.nan and (not self.type.is_float or size == 1):
            return f"elements of the type `{self.type}` can't be NaN outside of the tensor"
        return ""


def rows_apart(extents: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The strides of a tensor without gaps."""
    return tuple(prod(extents[:dimension]) * size for dimension in range(1, len(extents)))
