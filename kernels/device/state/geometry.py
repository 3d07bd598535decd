"""Names of threads and blocks, in the course's notation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.device.state.space import Shape
from kernels.launch import Launch

WARP = 32
WARPGROUP = 4 * WARP
"""The threads that start a product together with `wgmma`."""
Coordinates = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Geometry:
    """Names of threads and blocks in one chunk. `numbers` are its blocks' numbers in the grid."""

    launch: Launch
    shape: Shape
    numbers: NDArray[np.int64]

    def thread(self, number: int) -> Coordinates:
        return _coordinates(number, self.launch.block)

    def block(self, column: int) -> Coordinates:
        return self.numbered(int(self.numbers[column]))

    def numbered(self, block: int) -> Coordinates:
        return _coordinates(block, self.launch.grid)

    def who(self, lane: int) -> tuple[Coordinates, Coordinates]:
        thread, column = divmod(lane, self.shape.blocks)
        return self.block(column), self.thread(thread)

    def thread_name(self, thread: Coordinates) -> str:
        """Return `(3,1)`: as many coordinates as the block has dimensions, but at least two."""
        return _name(self.named_thread(thread))

    def named_thread(self, thread: Coordinates) -> tuple[int, ...]:
        """Return the coordinates in the thread's name."""
        return _named(thread, self.launch.block)

    def named_block(self, block: Coordinates) -> tuple[int, ...]:
        """Return the coordinates in the block's name."""
        return _named(block, self.launch.grid)

    def block_name(self, block: Coordinates) -> str:
        """Return `(0,1)`, likewise for the grid."""
        return _name(self.named_block(block))

    def lane_name(self, lane: int) -> str:
        """Return the beginning of a sentence: `Thread (3,1) of block (0,1)`."""
        block, thread = self.who(lane)
        return f"Thread {self.thread_name(thread)} of block {self.block_name(block)}"


def _coordinates(number: int, extent: Coordinates) -> Coordinates:
    x, y, _ = extent
    return number % x, number // x % y, number // (x * y)


def _named(coordinates: Coordinates, extent: Coordinates) -> tuple[int, ...]:
    return coordinates if extent[2] > 1 else coordinates[:2]


def _name(shown: tuple[int, ...]) -> str:
    return "(" + ",".join(str(each) for each in shown) + ")"
