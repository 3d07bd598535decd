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

INTERLEAVES = (0, 16, 32)
"""The bytes of a slice of channels, of which an interleaved tensor consists; 0 for other tensors."""

_FEWEST_INTERLEAVED = 3
_WIDE = INTERLEAVES[-1]
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

    The places of an interleaved tensor are whole slices of channels, not elements. Its last dimension but one counts
    slices, such as C/8 in N C/8 H W 8.

    operand: the array that holds the tensor
    extents: places in each dimension
    strides: bytes between neighbours, for all dimensions after the first
    box: places of a copy in each dimension
    nan: whether elements outside the tensor are read as NaN instead of 0
    """

    operand: str
    type: ElementType
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    nan: bool = False
    interleave: int = 0

    @property
    def place(self) -> int:
        """The bytes of one place."""
        return self.interleave or self.type.bytes

    @property
    def memory(self) -> int:
        """The bytes from the first place of the tensor to the end of the last one."""
        first, *sides = self.extents
        apart = sum((side - 1) * stride for side, stride in zip(sides, self.strides, strict=True))
        return first * self.place + apart

    @property
    def rows(self) -> int:
        """The rows of a box in its first dimension."""
        return prod(self.box[1:])

    @property
    def row_bytes(self) -> int:
        """The bytes of such a row."""
        return self.box[0] * self.place

    @property
    def pitch(self) -> int:
        """The bytes from one row to the next in shared memory."""
        return self.row_bytes if self.interleave else max(self.row_bytes, self.swizzle)

    @property
    def bytes(self) -> int:
        """The bytes of a box, which are what a copy reports to its barrier."""
        return self.rows * self.row_bytes

    @property
    def packed(self) -> bool:
        """Whether a box is a range of shared memory without gaps, wherever its swizzle puts the pieces."""
        return not self.swizzle or (self.pitch == self.row_bytes and self.bytes % self.swizzle == 0)

    @property
    def problem(self) -> str:
        """Why the driver refuses such a map, and what to change; "" if it doesn't. A clause or two."""
        if len(self.box) != len(self.extents):
            return f"the box has {plural(len(self.box), 'number')}, but the tensor has {len(self.extents)} dimensions"
        return self._problem_of_box or self._problem_of_layout or self._problem_of_tensor

    @property
    def _problem_of_box(self) -> str:
        for box in self.box:
            if not 1 <= box <= _LONGEST_BOX:
                return f"a box has 1 to {_LONGEST_BOX} elements in each dimension, not {box:,}"
        size = self.type.bytes
        if self.box[0] * size % PITCH:
            needed = PITCH // size
            return (
                f"a row of the box has {plural(self.box[0], 'element')} of {plural(size, 'byte')}, but must have "
                f"a multiple of {PITCH} bytes. Use a multiple of {needed}"
            )
        return ""

    @property
    def _problem_of_layout(self) -> str:
        for name, given, known in (("swizzle", self.swizzle, SWIZZLES), ("interleave", self.interleave, INTERLEAVES)):
            if given not in known:
                return f"the {name} is {given}, but must be one of {', '.join(map(str, known))}"
        if self.interleave:
            if len(self.box) < _FEWEST_INTERLEAVED:
                return f"an interleaved tensor has at least {_FEWEST_INTERLEAVED} dimensions, not {len(self.box)}"
            if self.box[-2] != 1:
                return f"the last number of the box but one is {self.box[-2]}. In an interleaved tensor, use 1"
            if self.interleave == _WIDE and self.swizzle != _WIDE:
                return f"an interleave of {_WIDE} bytes needs a swizzle of as many, not {self.swizzle}"
        elif self.swizzle and self.row_bytes > self.swizzle:
            return (
                f"a row of the box has {self.row_bytes:,} bytes, but a swizzle of {self.swizzle} bytes allows at most "
                f"as many. Use {self.swizzle // self.type.bytes} elements, or another swizzle"
            )
        return ""

    @property
    def _problem_of_tensor(self) -> str:
        for extent in self.extents:
            if not 1 <= extent <= _LARGEST_EXTENT:
                return f"the tensor has {extent:,} elements in a dimension"
        for stride in self.strides:
            if stride % PITCH or not stride < _LARGEST_STRIDE:
                return (
                    f"a row of the tensor has {stride:,} bytes, but must have a multiple of {PITCH}. "
                    f"Use a multiple of {PITCH // self.type.bytes} elements"
                )
        if self.nan and (not self.type.is_float or self.type.bytes == 1):
            return f"elements of the type `{self.type}` can't be NaN outside of the tensor"
        return ""


def rows_apart(extents: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The strides of a tensor without gaps."""
    return tuple(prod(extents[:dimension]) * size for dimension in range(1, len(extents)))
