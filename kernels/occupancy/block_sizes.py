"""Occupancy over block sizes: the curve, and the block size that the occupancy interface suggests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

from kernels.occupancy.calculation import WARP, Limits, Occupancy, blocks_per_multiprocessor, occupancy

SharedRule = Callable[[int], int]
"""Returns the bytes of dynamic shared memory of a block, from its number of threads."""

LARGEST = 1024


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The answer of `cudaOccupancyMaxPotentialBlockSizeVariableSMem`, and the lab's block size from it.

    threads: per block; 0 if no block size can be launched
    blocks_per_sm: at that size; times the device's multiprocessors, this is the smallest grid that fills it
    square: the largest power of 4 up to `threads`, so that the block is a square
    side: its square root, the lab's BLOCK_SIZE
    """

    threads: int
    blocks_per_sm: int
    square: int
    side: int


def curve(
    limits: Limits, registers: int, shared_static: int, shared: SharedRule = lambda _: 0, *, barriers: int = 1
) -> tuple[Occupancy, ...]:
    """Return the occupancy at every whole number of warps up to the largest block."""
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
    """Return the block size with the most threads at once on a multiprocessor; if several tie, the largest.

    The candidates are `most_threads` and the whole numbers of warps below it, from the largest down. The search ends
    when a candidate fills the multiprocessor.

    most_threads: the largest block for which the kernel was compiled
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
    """Compute the lab's 4^floor(ln T / ln 4) without logarithms: ln 64 / ln 4 may be below 3."""
    return 1 << ((threads.bit_length() - 1) // 2 * 2) if threads > 0 else 0
