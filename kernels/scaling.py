"""The counts of a large launch from some of its blocks.

Most blocks of a kernel do the same. Those at the last column or row of the grid do less, and where rows are no multiple
of 128 bytes, what a block's accesses touch comes round again after two, four or eight blocks. So blocks are put into
classes, some of each class are run, and where all of a class agree the whole class is taken to be like them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kernels.device.counts import ACCESS_FIELDS, AccessCount, BranchCount, Counts, LineWork
from kernels.launch import Launch

Numbers = NDArray[np.int64]
PERIODS = (1, 2, 4, 8)
_ENOUGH = 8
_LAST = -1
_SEGMENTS = ACCESS_FIELDS.index("segments")


@dataclass(frozen=True, slots=True)
class Scaled:
    """Counts of a whole grid.

    counts: with one column, the sums over the grid; `counts.blocks` are those that were run
    exact: whether all blocks that are alike by their place gave the same numbers, or all were run; but for `segments`
    note: where they did not: which lines differ; "" where there is nothing to say
    """

    counts: Counts
    exact: bool
    note: str = ""


# -- which blocks to run -----------------------------------------------------------------------------------------------


def plan_blocks(launch: Launch, affordable: int) -> tuple[int, ...] | None:
    """The numbers of the blocks to run, about `affordable` at most; None where that is all of them."""
    if launch.blocks <= affordable:
        return None
    for period in reversed(PERIODS):
        count = sum(_samples(launch, period, each) for each in _classes(launch, period))
        if count <= affordable or period == 1:
            break
    numbers = {number for each in _classes(launch, period) for number in _chosen(launch, period, each)}
    return None if len(numbers) >= launch.blocks else tuple(sorted(numbers))


Class = tuple[int, ...]
"""For each axis the remainder of the coordinate by the period, or _LAST."""


def _classes(launch: Launch, period: int) -> Iterator[Class]:
    return product(*([*range(min(period, extent - 1)), _LAST] for extent in launch.grid))


def _extent(launch: Launch, period: int, axis: int, remainder: int) -> int:
    """How many coordinates of an axis are in a class."""
    return 1 if remainder == _LAST else 1 + (launch.grid[axis] - 2 - remainder) // period


def _size(launch: Launch, period: int, each: Class) -> int:
    return math.prod(_extent(launch, period, axis, remainder) for axis, remainder in enumerate(each))


def _samples(launch: Launch, period: int, each: Class) -> int:
    """How many blocks of a class to run: two at least, and more where there are few classes."""
    inner = sum(remainder != _LAST for remainder in each)
    classes: int = period**inner
    return min(_size(launch, period, each), max(2, _ENOUGH // classes))


def _chosen(launch: Launch, period: int, each: Class) -> set[int]:
    """The first block of a class, and others at random, the same ones every time."""
    generator = np.random.default_rng([period, *(remainder + 1 for remainder in each)])
    wanted = _samples(launch, period, each)
    extents = [_extent(launch, period, axis, remainder) for axis, remainder in enumerate(each)]
    chosen = {_number(launch, period, each, [0, 0, 0])}
    while len(chosen) < wanted:
        steps = [int(generator.integers(extent)) for extent in extents]
        chosen.add(_number(launch, period, each, steps))
    return chosen


def _number(launch: Launch, period: int, each: Class, steps: Sequence[int]) -> int:
    x, y, z = (
        extent - 1 if remainder == _LAST else remainder + period * step
        for extent, remainder, step in zip(launch.grid, each, steps, strict=True)
    )
    return x + launch.grid[0] * (y + launch.grid[1] * z)


# -- from them to the grid ---------------------------------------------------------------------------------------------


def scaled(counts: Counts, launch: Launch) -> Scaled:
    """The sums over the whole grid."""
    grid = _Grid(counts.blocks, launch)
    accesses = tuple(_access(grid, each) for each in counts.accesses)
    segments_differ, grid.segments_differ = grid.segments_differ, False
    merged = tuple(_access(grid, each) for each in counts.merged)
    branches = tuple(_branch(grid, each) for each in counts.branches)
    lines = tuple(LineWork(each.line, grid.sums(each.values, each.line)) for each in counts.lines)
    note = _note(sorted(grid.lines_that_differ, key=lambda line: line or 0))
    if not note and segments_differ:
        note = "the number of 128-byte segments is an estimate"
    whole = Counts(counts.blocks, accesses, merged, branches, lines)
    return Scaled(whole, not grid.lines_that_differ, note)


def _note(lines: Sequence[int | None]) -> str:
    if not lines:
        return ""
    named = [str(line) for line in lines if line is not None]
    if not named:
        return "an estimate: blocks differ"
    several = "s" if len(named) > 1 else ""
    return f"an estimate: blocks differ at line{several} {', '.join(named)}"


def _access(grid: _Grid, access: AccessCount) -> AccessCount:
    others = np.delete(access.values, _SEGMENTS, axis=0)
    sums = grid.sums(others, access.line)
    segments = grid.segment_sums(access.values[[_SEGMENTS]])
    return replace(access, values=np.insert(sums, _SEGMENTS, segments, axis=0))


def _branch(grid: _Grid, branch: BranchCount) -> BranchCount:
    """The intervals grow as the sums do."""
    sums = grid.sums(branch.values, branch.line)
    ran = branch.values.sum(axis=1)
    came, parted = (int(whole) / max(1, int(part)) for whole, part in zip(sums[:, 0], ran, strict=True))
    intervals = tuple((round(one * came), round(other * parted)) for one, other in branch.intervals)
    return replace(branch, values=sums, intervals=intervals)


@dataclass(frozen=True, slots=True)
class _Division:
    """The blocks that ran, class by class, and how many blocks of the grid each class has."""

    members: tuple[NDArray[np.intp], ...]
    sizes: tuple[int, ...]


class _Grid:
    """Scales rows of numbers, and remembers where blocks that should be alike differ."""

    def __init__(self, blocks: Sequence[int], launch: Launch) -> None:
        self._whole = len(blocks) == launch.blocks
        self._divisions = [] if self._whole else list(_divisions(blocks, launch))
        self._factor = launch.blocks / max(1, len(blocks))
        self.lines_that_differ: set[int | None] = set()
        self.segments_differ = False

    def sums(self, values: Numbers, line: int | None) -> Numbers:
        """The sums over the grid of each row, as one column."""
        found, exact = self._sums(values)
        if not exact:
            self.lines_that_differ.add(line)
        return found

    def segment_sums(self, values: Numbers) -> Numbers:
        """The same for a row that may differ where nothing else does."""
        found, exact = self._sums(values)
        self.segments_differ |= not exact
        return found

    def _sums(self, values: Numbers) -> tuple[Numbers, bool]:
        if self._whole:
            return values.sum(axis=1, keepdims=True), True
        rows = [self._sum(row) for row in values]
        return np.array([[total] for total, _ in rows], np.int64), all(exact for _, exact in rows)

    def _sum(self, row: Numbers) -> tuple[int, bool]:
        """By the fewest classes whose blocks agree; else by the mean of each of the most classes."""
        for division in self._divisions:
            if all((row[members] == row[members[0]]).all() for members in division.members):
                pairs = zip(division.members, division.sizes, strict=True)
                return sum(size * int(row[members[0]]) for members, size in pairs), True
        if not self._divisions:
            return round(self._factor * int(row.sum())), not row.any()
        finest = self._divisions[-1]
        pairs = zip(finest.members, finest.sizes, strict=True)
        return round(sum(size * float(row[members].mean()) for members, size in pairs)), False


def _divisions(blocks: Sequence[int], launch: Launch) -> Iterator[_Division]:
    """Those of which enough blocks of every class were run, the coarsest first."""
    numbers = np.array(blocks, np.int64)
    x, y, _ = launch.grid
    places = (numbers % x, numbers // x % y, numbers // (x * y))
    for period in PERIODS:
        remainders = np.stack(
            [
                np.where(place == extent - 1, _LAST, place % period)
                for place, extent in zip(places, launch.grid, strict=True)
            ]
        )
        classes = list(_classes(launch, period))
        members = tuple(
            np.flatnonzero((remainders == np.array(each)[:, np.newaxis]).all(axis=0)) for each in classes
        )
        sizes = tuple(_size(launch, period, each) for each in classes)
        if all(len(some) >= min(2, size) for some, size in zip(members, sizes, strict=True)):
            yield _Division(members, sizes)
