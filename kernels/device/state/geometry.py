"""Names of threads and blocks, in the course's notation."""

from __future__ import annotations

from collections.abc import Sequence
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
        return coordinates(number, self.launch.block)

    def block(self, column: int) -> Coordinates:
        return self.numbered(int(self.numbers[column]))

    def numbered(self, block: int) -> Coordinates:
        return coordinates(block, self.launch.grid)

    def cluster(self, block: int) -> int:
        """Return the number of a block's cluster."""
        return int(clusters_of(self.launch, np.array([block]))[0])

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


def clusters_of(launch: Launch, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of the clusters to which blocks belong."""
    (x, y, _), (across, down, deep) = launch.grid, launch.cluster
    found: NDArray[np.int64] = blocks % x // across + x // across * (
        blocks // x % y // down + y // down * (blocks // (x * y) // deep)
    )
    return found


def by_cluster(launch: Launch, blocks: Sequence[int]) -> Sequence[int]:
    """Return the blocks of all clusters to which some blocks belong, cluster by cluster, each in the order of ranks."""
    if launch.cluster_blocks == 1:
        return blocks
    (x, y, _), (across, down, deep) = launch.grid, launch.cluster
    number = np.unique(clusters_of(launch, np.asarray(blocks, np.int64)))[:, np.newaxis]
    rank = np.arange(launch.cluster_blocks)
    in_x = number % (x // across) * across + rank % across
    in_y = number // (x // across) % (y // down) * down + rank // across % down
    in_z = number // (x // across * (y // down)) * deep + rank // (across * down)
    found: list[int] = (in_x + x * (in_y + y * in_z)).reshape(-1).tolist()
    return found


def coordinates(number: int, extent: Coordinates) -> Coordinates:
    """Return the coordinates of a thread in its block, or of a block in its grid."""
    x, y, _ = extent
    return number % x, number // x % y, number // (x * y)


def _named(coordinates: Coordinates, extent: Coordinates) -> tuple[int, ...]:
    return coordinates if extent[2] > 1 else coordinates[:2]


def _name(shown: tuple[int, ...]) -> str:
    return "(" + ",".join(str(each) for each in shown) + ")"
