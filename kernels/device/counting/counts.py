"""What a counted run did, instruction by instruction and block by block: plain numbers, no judgement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.evidence import Verb

__all__ = ["ACCESS_FIELDS", "AccessCount", "BranchCount", "Counts", "LineWork", "Numbers", "Verb"]

Numbers = NDArray[np.int64]


ACCESS_FIELDS = (
    "requests",  # warps that made the access with at least one thread
    "threads",  # threads that took part
    "sectors",  # distinct aligned 32-byte pieces, request by request
    "segments",  # distinct aligned 128-byte pieces, likewise
    "unique_bytes",  # distinct bytes, likewise
    "ideal_sectors",  # the fewest sectors that could hold a request's distinct bytes
    "wavefronts",  # passes through shared memory's banks
    "ideal_wavefronts",  # passes that the width alone asks for
)
"""The rows of `AccessCount.values`. Global memory leaves the last two 0, shared memory the four before them."""


@dataclass(frozen=True, slots=True)
class AccessCount:
    """One access instruction; or several that may be one, see `kernels.device.counting.merging`.

    pcs: the instructions, one as a rule
    space: "global", "shared" or "local"
    name: the variable as the source calls it; "" where it is unknown
    width: bytes per thread
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

    values: warps that came to it, warps whose threads went both ways; a column for each block
    intervals: the same two numbers over all blocks for each interval between barriers, the first 64 at most
    """

    pc: int
    line: int | None
    values: Numbers
    intervals: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class LineWork:
    """The instructions of one source line.

    values: instructions of threads, instructions of warps, floating-point operations; a column for each block
    """

    line: int | None
    values: Numbers


@dataclass(frozen=True, slots=True)
class Counts:
    """A whole run.

    blocks: the numbers of the blocks that ran, in the order of the columns
    accesses: of every load, store, atomic update and asynchronous copy that was executed, by the PTX
    merged: of groups of neighbouring accesses that the assembler may have made one of
    """

    blocks: tuple[int, ...]
    accesses: tuple[AccessCount, ...]
    merged: tuple[AccessCount, ...]
    branches: tuple[BranchCount, ...]
    lines: tuple[LineWork, ...]
