"""Occupancy over block sizes: the curve, and the block size that the occupancy interface suggests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

from kernels.occupancy.calculation import WARP, Limits, Occupancy, blocks_per_multiprocessor, occupancy

SharedRule = Callable[[int], int]
"""The bytes of dynamic shared memory that a block of so many threads asks for."""

LARGEST = 1024


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What `cudaOccupancyMaxPotentialBlockSizeVariableSMem` answers, and what the lab makes of it.

    threads: of a block, 0 where no block size can be launched
    blocks_per_sm: at that size; times the multiprocessors of a device, the least grid that fills it
    square: the greatest power of 4 that is not above `threads`, so that a block is a square of a power of two
    side: its square root, the lab's BLOCK_SIZE
    """

    threads: int
    blocks_per_sm: int
    square: int
    side: int


def curve(
    limits: Limits, registers: int, shared_static: int, shared: SharedRule = lambda _: 0, *, barriers: int = 1
) -> tuple[Occupancy, ...]:
    """Occupancy at every whole number of warps up to the largest block."""
    return tuple(
        occupancy(limits, threads, registers, shared_static, shared(threads), barriers=barriers)
        for threads in range(WARP, LARGEST + 1, WARP)
    )


def suggest(
    limits: Limits,
    registers: int,
    shared_static: int,
    shared: SharedRule = lambda _: 0,
    *,
    barriers: int = 1,
    most_threads: int = LARGEST,
) -> Suggestion:
    """The block size with the most threads at once on a multiprocessor; of equals, the largest.

    Candidates are `most_threads` itself and the whole numbers of warps below it, from the largest down, until one
    fills the multiprocessor.

    most_threads: the largest block that the kernel was compiled for
    """
    best = Suggestion(0, 0, 0, 0)
    top = min(most_threads, LARGEST)
    for rounded in range(-(-top // WARP) * WARP, 0, -WARP):
        threads = min(top, rounded)
        blocks = blocks_per_multiprocessor(
            limits, threads, registers, shared_static, shared(threads), barriers=barriers
        )
        if blocks * threads > best.threads * best.blocks_per_sm:
            square = power_of_four(threads)
            best = Suggestion(threads, blocks, square, isqrt(square))
        if blocks * threads == limits.threads:
            break
    return best


def power_of_four(threads: int) -> int:
    """The lab's 4^floor(ln T / ln 4), without logarithms: ln 64 / ln 4 may come out just below 3."""
    return 1 << ((threads.bit_length() - 1) // 2 * 2) if threads > 0 else 0
