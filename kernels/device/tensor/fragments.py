"""Where the elements of a matrix are in the registers of a warp's threads.

A matrix of multiplicands has its common dimension along the columns, so `b` is stored as its transpose. Tiles of 8 rows
make up a fragment. In each tile, four threads share a row, and each of them holds some elements side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.state.geometry import WARP

Matrices = NDArray[Any]
Words = NDArray[Any]
Places = NDArray[np.intp]

_UNSIGNED: dict[int, np.dtype[Any]] = {bits: np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)}
_SHARE_A_ROW = 4
_ROWS = 8


@dataclass(frozen=True)
class Fragment:
    """A matrix in the registers of a warp.

    bits: of an element
    together: how many elements of a tile's row each thread holds
    paired: whether tiles are in pairs of 16 rows, which come before the next columns
    copies: how many times the registers hold the matrix
    moved: whether the elements are at other places, for kernels that rely on them
    """

    rows: int
    columns: int
    bits: int
    together: int
    paired: bool = True
    copies: int = 1
    moved: bool = False

    @property
    def register_bits(self) -> int:
        return max(32, self.bits)

    @property
    def registers(self) -> int:
        return self.rows * self.columns * self.bits // (WARP * self.register_bits) * self.copies

    @cached_property
    def places(self) -> Places:
        """For each register, thread and element in the register, the element's place in the matrix, row by row."""
        pair = 2 * _ROWS if self.paired else _ROWS
        width = _SHARE_A_ROW * self.together
        corners = [
            (row, column)
            for first in range(0, self.rows, pair)
            for column in range(0, self.columns, width)
            for row in range(first, min(first + pair, self.rows), _ROWS)
        ]
        row, column = np.array(corners).T[:, :, np.newaxis, np.newaxis]
        lane = np.arange(WARP)[:, np.newaxis]
        inside = lane % _SHARE_A_ROW * self.together + np.arange(self.together)
        tiles = (row + lane // _SHARE_A_ROW) * self.columns + column + inside
        return self._by_register(tiles)

    def _by_register(self, tiles: NDArray[np.int64]) -> Places:
        """Elements by tile, thread and place beside each other, as elements by register, thread and part."""
        of_lane = tiles.transpose(1, 0, 2).reshape(WARP, -1, self.register_bits // self.bits)
        once = of_lane.transpose(1, 0, 2)
        if self.moved:
            once = once[::-1, (np.arange(WARP) * 5 + 3) % WARP, ::-1]
        return np.concatenate([once] * self.copies).astype(np.intp)

    @cached_property
    def _gathering(self) -> Places:
        """For each element of the matrix, its first place in the registers."""
        once = self.places[: self.registers // self.copies].reshape(-1)
        found = np.empty_like(once)
        found[once] = np.arange(len(once))
        return found

    def in_order(self, elements: Matrices) -> Matrices:
        """Matrices from the elements of their registers: warp by row by column."""
        held = elements.reshape(len(elements), -1)
        return held[:, self._gathering].reshape(len(elements), self.rows, self.columns)

    def by_register(self, matrices: Matrices) -> Matrices:
        """The elements of the registers: warp by register by thread by part."""
        held = matrices.reshape(len(matrices), -1)[:, self.places.reshape(-1)]
        return held.reshape(len(matrices), *self.places.shape)

    def matrices(self, words: Words) -> Matrices:
        """The matrices in these registers: warp by register by thread."""
        return self.in_order(unpacked(words[..., np.newaxis], self.bits))

    def words(self, matrices: Matrices) -> Words:
        """The registers that hold these matrices."""
        return packed(self.by_register(matrices), self.bits, self.register_bits)[..., 0]


@dataclass(frozen=True)
class QuadFragment(Fragment):
    """Four small matrices below each other, one for each quad pair: threads 0 to 3 with 16 to 19, and so on.

    holds: what each thread has of its matrix: a "row", half a "column", or parts of two rows ("mixed")
    """

    holds: str = "row"

    @cached_property
    def places(self) -> Places:
        lane = np.arange(WARP)[:, np.newaxis]
        quad, half, own = lane % 16 // 4, lane // 16 * 4, lane % 4
        each = np.arange(self.together)
        row, column = {
            "row": (own + half, each),
            "column": (each + half, own),
            "mixed": ((own & 1) + (each & 2) + half, (each & 4) + (own & 2) + (each & 1)),
        }[self.holds]
        return self._by_register(((quad * _ROWS + row) * self.columns + column)[np.newaxis])


def unpacked(words: Words, bits: int) -> Matrices:
    """The elements of words along the last axis. Elements of less than a byte get a byte."""
    if bits >= 8:
        elements: Matrices = np.ascontiguousarray(words).view(_UNSIGNED[bits])
        return elements
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    each = (words[..., np.newaxis] >> shifts) & np.uint32((1 << bits) - 1)
    return each.astype(np.uint8).reshape(*words.shape[:-1], -1)


def packed(elements: Matrices, bits: int, word_bits: int = 32) -> Words:
    """The words that hold these elements along the last axis."""
    if bits >= 8:
        whole: Words = np.ascontiguousarray(elements).view(_UNSIGNED[word_bits])
        return whole
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    grouped = elements.reshape(*elements.shape[:-1], -1, len(shifts)).astype(np.uint32)
    words: Words = np.bitwise_or.reduce(grouped << shifts, axis=-1)
    return words
