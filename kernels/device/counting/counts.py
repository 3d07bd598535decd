"""The counts of a run, instruction by instruction and block by block: plain numbers without judgement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kernels.evidence import Verb

__all__ = ["ACCESS_FIELDS", "AccessCount", "BranchCount", "Counts", "LineWork", "Numbers", "Verb", "Work"]

Numbers = NDArray[np.int64]
T = TypeVar("T")


ACCESS_FIELDS = (
    "requests",  # warps that made the access with at least one thread
    "threads",  # threads that took part
    "sectors",  # distinct aligned 32-byte pieces, per request
    "segments",  # distinct aligned 128-byte pieces, per request
    "unique_bytes",  # distinct bytes, per request
    "ideal_sectors",  # the fewest sectors that hold a request's distinct bytes
    "wavefronts",  # passes through shared memory's banks
    "ideal_wavefronts",  # the passes that the width alone needs
    "repeats",  # bulk copies to the place of the same thread's copy before
    "received_bytes",  # bytes of bulk loads, once for each block that gets them
)
"""The rows of `AccessCount.values`. Only shared memory has wavefronts, and only other memory the four rows before them.

A bulk copy of a thread is one request. Its distinct bytes are the bytes of all rows of its box.
"""


@dataclass(frozen=True, slots=True)
class AccessCount:
    """One access instruction, or several that may become one; see `kernels.device.counting.merging`.

    pcs: the instructions, usually one
    space: "global", "shared" or "local"
    name: the variable's name in the source; "" if unknown
    width: bytes per thread; 0 for bulk copies, each of which has its own
    aligned: whether every address was a multiple of the width, as the hardware demands
    values: a row for each of ACCESS_FIELDS, a column for each block that ran
    """

    pcs: tuple[int, ...]
    line: int | None
    space: str
    verb: Verb
    name: str
    width: int
    aligned: bool
    values: Numbers


@dataclass(frozen=True, slots=True)
class BranchCount:
    """One conditional branch.

    values: warps that reached it, warps whose threads parted; a column for each block
    intervals: the same numbers over all blocks, for each of the first 64 intervals between barriers
    """

    pc: int
    line: int | None
    values: Numbers
    intervals: tuple[tuple[int, int], ...]


class Work(NamedTuple, Generic[T]):
    """The instructions of some threads, and what they compute.

    threads, warps: instructions of each
    flops, tensor_flops: operations, and those among them that tensor cores do
    tensor_work: the same with their weights
    tensor_instructions: of warps, for these operations
    product_bytes: what these read from shared memory
    """

    threads: T
    warps: T
    flops: T
    tensor_flops: T
    tensor_work: T
    tensor_instructions: T
    product_bytes: T


@dataclass(frozen=True, slots=True)
class LineWork:
    """The instructions of one source line. values: a row for each field of `Work`, a column for each block."""

    line: int | None
    values: Numbers

    @property
    def total(self) -> Work[int]:
        return Work(*map(int, self.values.sum(axis=1)))


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a whole run.

    blocks: the numbers of the blocks that ran, in the order of the columns
    accesses: of every executed load, store, atomic update and asynchronous copy in the PTX, and of every bulk copy
    merged: of groups of neighbouring accesses that the assembler may have merged
    """

    blocks: tuple[int, ...]
    accesses: tuple[AccessCount, ...]
    merged: tuple[AccessCount, ...]
    branches: tuple[BranchCount, ...]
    lines: tuple[LineWork, ...]
