"""The elements of a tensor that boxes have, and where a box lies in shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kernels.device.memory.bulk import Ends, Lanes
from kernels.device.memory.parts import note
from kernels.device.state.accesses import Access, Part, Where
from kernels.device.state.machine import Machine
from kernels.device.state.space import Allocation
from kernels.exercise.tensor_map import TensorMap

Numbers = NDArray[np.int64]
Words = NDArray[np.uint32]
Bits = NDArray[np.uint8]
Flags = NDArray[np.bool_]

LINE, REPEAT = 128, 8
"""The bytes of shared memory in which a swizzle permutes pieces, and the lines after which its pattern repeats."""
_PIECE = 16
_NAN = b"\xf7\x7f"
"""What an H200 reads outside of a tensor as NaN, in all types."""
_WORD = 4


def swizzled(addresses: Numbers, width: int | Numbers, first: int | Numbers = 0) -> Numbers:
    """Where a swizzle of rows of `width` bytes puts what has these addresses in shared memory; 0 for none.

    first: the line at which the pattern begins
    """
    moved: Numbers = addresses ^ ((addresses // LINE - first & np.maximum(width // _PIECE - 1, 0)) * _PIECE)
    return moved


def _units_of_tiles(tensor_map: TensorMap, starts: Numbers, unit: int) -> Numbers:
    """The addresses of a box's units of so many bytes, for tiles that begin at `starts`, in the order of the tensor."""
    rows = np.arange(tensor_map.rows)[:, np.newaxis] * tensor_map.pitch
    within = rows + np.arange(0, tensor_map.row_bytes, unit)
    return swizzled(starts[:, np.newaxis] + within.reshape(-1), tensor_map.swizzle)


def reach(tensor_map: TensorMap, line: int) -> int:
    """The bytes from the start of a tile to its last byte. line: the number of its first line in its pattern."""
    start = np.array([line * LINE])
    return int(_units_of_tiles(tensor_map, start, _PIECE).max()) + _PIECE - line * LINE


def units_of(tensor_map: TensorMap, tile: Part, unit: int) -> Part:
    """The units of so many bytes of all tiles, in the order of the tensor."""
    start, count = tile.allocation.start, tensor_map.bytes // unit
    offsets = _units_of_tiles(tensor_map, start + tile.offsets, unit) - start
    owners = None if tile.owners is None else np.repeat(tile.owners, count)
    return Part(tile.allocation, offsets.reshape(-1), np.repeat(tile.lanes, count), owners)


def tile_words(machine: Machine, tensor_map: TensorMap, tile: Part) -> NDArray[np.intp]:
    """The positions of a box's words in the flat memory, for each thread, in the order of the tensor."""
    start = tile.allocation.start
    offsets = _units_of_tiles(tensor_map, start + tile.offsets, _WORD) - start
    thread, block = (each[:, np.newaxis] for each in tile.copies(machine.shape))
    return tile.allocation.position((offsets // _WORD).astype(np.intp), thread, block, machine.shape)


@dataclass(frozen=True, slots=True)
class Boxes:
    """The boxes of some threads, cut into units of equal size that are inside the tensor or outside.

    lanes: the threads
    unit: the bytes of a unit
    starts: for each thread and row of its box, the byte of the tensor's memory at which the row would begin
    inside: whether the row is inside, apart from its ends
    first, last: for each thread, the units of a row that are inside: from `first` on, below `last`
    """

    map: TensorMap
    lanes: Lanes
    unit: int
    starts: Numbers
    inside: Flags
    first: Numbers
    last: Numbers

    @classmethod
    def at(cls, tensor_map: TensorMap, lanes: Lanes, corners: Numbers, *, elements: bool) -> Self:
        """The boxes that begin at these coordinates, for each thread: in a row, at a whole piece of memory.

        elements: whether the units must be elements
        """
        size, extents = tensor_map.place, tensor_map.extents
        unit = tensor_map.type.bytes if elements or extents[0] * size % _WORD else _WORD
        row = np.arange(tensor_map.rows)
        starts = np.broadcast_to(corners[:, :1] * size, (len(corners), len(row))).copy()
        inside = np.ones(starts.shape, np.bool_)
        for dimension, stride in enumerate(tensor_map.strides, 1):
            place = corners[:, dimension, np.newaxis] + row % tensor_map.box[dimension]
            inside &= (place >= 0) & (place < extents[dimension])
            starts += place * stride
            row = row // tensor_map.box[dimension]
        most = tensor_map.row_bytes // unit
        first = np.clip(-(corners[:, 0] * size) // unit, 0, most)
        last = np.clip((extents[0] - corners[:, 0]) * size // unit, 0, most)
        return cls(tensor_map, lanes, unit, starts, inside, first, np.maximum(first, last))

    def note(self, machine: Machine, where: Where, memory: Allocation, ends: Ends) -> None:
        """Tell the search for races of all that is inside the tensor: by whole rows if they consist of words.

        where: with the size of an element, for atomic updates
        """
        lengths = (self.last - self.first) * self.unit
        starts = self.starts + (self.first * self.unit)[:, np.newaxis]
        for length in np.unique(lengths[lengths > 0]).tolist():
            here = self.inside & (lengths == length)[:, np.newaxis]
            offsets, lanes = starts[here], np.broadcast_to(self.lanes[:, np.newaxis], here.shape)[here]
            size = length
            if self.unit < _WORD or where.strength.atomic:
                size = self.unit
                offsets = (offsets[:, np.newaxis] + np.arange(0, length, size)).reshape(-1)
                lanes = np.repeat(lanes, length // size)
            if offsets.size:
                each = Where(where.pc, where.kind, size, where.strength, where.change)
                transfer = ends("write" if where.kind.writes else "read", lanes)
                note(machine, Access(each, memory, offsets=offsets, lanes=lanes, transfer=transfer))

    def rows(self) -> tuple[Numbers, Numbers]:
        """For each thread and row, the first byte inside the tensor, and how many bytes are inside."""
        sizes = np.where(self.inside, ((self.last - self.first) * self.unit)[:, np.newaxis], 0)
        return self.starts + (self.first * self.unit)[:, np.newaxis], sizes

    def units(self) -> tuple[Numbers, Flags]:
        """For each unit, its byte in the tensor's memory, and whether it is inside."""
        place = np.arange(self.map.row_bytes // self.unit)
        within = (place >= self.first[:, np.newaxis]) & (place < self.last[:, np.newaxis])
        return self.starts[:, :, np.newaxis] + place * self.unit, self.inside[:, :, np.newaxis] & within[:, np.newaxis]

    def elements(self, memory: Allocation, values: NDArray[Any]) -> tuple[Part, NDArray[Any]]:
        """The elements inside the tensor, and their part of the boxes' values. Units must be elements."""
        offsets, inside = self.units()
        lanes = np.broadcast_to(self.lanes[:, np.newaxis, np.newaxis], inside.shape)
        return Part(memory, offsets[inside], lanes[inside]), values.reshape(inside.shape)[inside]

    def read(self, memory: Allocation) -> tuple[Words, Bits]:
        """The words of each box, and the bits of their bytes that are set. Outside of the tensor, all are."""
        offsets, inside = self.units()
        units = np.full(offsets.shape, self._filler(), f"u{self.unit}")
        units[inside] = memory.flat.view(units.dtype)[offsets[inside] // self.unit]
        every = np.uint8((1 << self.unit) - 1)
        bits = np.full(offsets.shape, every, np.uint8)
        if memory.flat_valid is not None:
            at = offsets[inside]
            bits[inside] = memory.flat_valid[at // _WORD] >> (at % _WORD).astype(np.uint8) & every
        shifts = np.arange(0, _WORD, self.unit, dtype=np.uint8)
        joined = np.bitwise_or.reduce(bits.reshape(len(bits), -1, len(shifts)) << shifts, axis=2)
        return units.reshape(len(units), -1).view(np.uint32), joined

    def _filler(self) -> int:
        """A unit outside of the tensor."""
        return int.from_bytes((_NAN * 4)[: self.unit], "little") if self.map.nan else 0

    def write(self, memory: Allocation, words: Words, bits: Bits) -> None:
        """Set all that is inside the tensor. bits: the bytes of each word that are set."""
        offsets, inside = self.units()
        units = np.ascontiguousarray(words).view(f"u{self.unit}").reshape(offsets.shape)
        at = offsets[inside]
        memory.flat.view(units.dtype)[at // self.unit] = units[inside]
        if memory.flat_valid is None:
            return
        shifts = np.arange(0, _WORD, self.unit, dtype=np.uint8)
        own = (bits[:, :, np.newaxis] >> shifts & np.uint8((1 << self.unit) - 1)).reshape(offsets.shape)[inside]
        shift = (at % _WORD).astype(np.uint8)
        # Several units may share a word. Plain indexing would keep only the last change of each word.
        np.bitwise_and.at(memory.flat_valid, at // _WORD, ~(np.uint8((1 << self.unit) - 1) << shift))
        np.bitwise_or.at(memory.flat_valid, at // _WORD, own << shift)
