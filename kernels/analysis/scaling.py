"""The counts of a large launch from some of its blocks.

Most blocks of a kernel do the same. Those at the last column or row of the grid do less, and where rows are no multiple
of 128 bytes, what a block's accesses touch comes round again after two, four or eight blocks. So blocks are put into
classes, some of each class are run, and where all of a class agree the whole class is taken to be like them. Among
those that are run are the ends of each row of blocks that should be alike: what moves evenly from one block to the next
shows there. Where a kernel does otherwise, see `kernels.device.ptx.likeness`, the sums are called an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kernels.device.counting.counts import ACCESS_FIELDS, AccessCount, BranchCount, Counts, LineWork
from kernels.launch import Launch

Numbers = NDArray[np.int64]
PERIODS = (1, 2, 4, 8)
_ENOUGH = 8
_PLENTY = 256
_MOST_NAMED = 8
_LAST = -1
_SEGMENTS = ACCESS_FIELDS.index("segments")
# Sums are 64-bit numbers, and some are added up or multiplied by bytes afterwards.
_LARGEST_SUM = 2**54


class TooManyBlocksError(ValueError):
    """The sums over the whole grid do not fit into 64 bits: no device would ever end such a launch."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """Counts of a whole grid.

    counts: with one column, the sums over the grid; `counts.blocks` are those that were run
    exact: whether all blocks that are alike by their place gave the same numbers and no other may do otherwise, or all
        were run; but for `segments`
    note: where that is not so: which lines are to blame; "" where there is nothing to say
    """

    counts: Counts
    exact: bool
    note: str = ""


# -- which blocks to run -----------------------------------------------------------------------------------------------


def probed_blocks(launch: Launch) -> tuple[int, ...]:
    """The numbers of some blocks that tell what one costs; the first may well do less than others."""
    return tuple(sorted({0, *(launch.blocks * part // 6 for part in (2, 3, 4))}))


def plan_blocks(launch: Launch, affordable: int) -> tuple[int, ...] | None:
    """The numbers of the blocks to run, about `affordable` at most; None where that is all of them."""
    if launch.blocks <= affordable:
        return None
    for period in reversed(PERIODS):
        count = sum(_samples(launch, period, each) for each in _classes(launch, period))
        if count <= affordable or period == 1:
            break
    numbers = {number for each in _classes(launch, period) for number in _chosen(launch, period, each)}
    numbers |= _ends(launch)
    if len(numbers) >= launch.blocks:
        return None
    return tuple(sorted(numbers | _others(launch, min(affordable, _PLENTY) - len(numbers))))


def _ends(launch: Launch) -> set[int]:
    """On each axis the first block, the last and the one before it, in all combinations."""
    return {
        x + launch.grid[0] * (y + launch.grid[1] * z)
        for x, y, z in product(*({0, max(0, extent - 2), extent - 1} for extent in launch.grid))
    }


def _others(launch: Launch, wanted: int) -> set[int]:
    """Blocks at random, the same ones every time: what one block in a hundred does should show."""
    return set(np.random.default_rng(0).integers(launch.blocks, size=max(0, wanted)).tolist())


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


def scaled(counts: Counts, launch: Launch, unforeseen: Collection[int | None] = ()) -> Scaled:
    """The sums over the whole grid.

    unforeseen: lines at which blocks that were not run may do otherwise
    raise (TooManyBlocksError): the grid is too large
    """
    grid = _Grid(counts.blocks, launch)
    accesses = tuple(_access(grid, each) for each in counts.accesses)
    segments_differ, grid.segments_differ = grid.segments_differ, False
    merged = tuple(_access(grid, each) for each in counts.merged)
    branches = tuple(_branch(grid, each) for each in counts.branches)
    lines = tuple(LineWork(each.line, grid.sums(each.values, each.line)) for each in counts.lines)
    whole = Counts(counts.blocks, accesses, merged, branches, lines)
    if grid.lines_that_differ:
        return Scaled(whole, False, _note("blocks differ", grid.lines_that_differ))
    if unforeseen and len(counts.blocks) < launch.blocks:
        return Scaled(whole, False, _note("blocks that were not run may differ", unforeseen))
    return Scaled(whole, True, "the number of 128-byte segments is an estimate" if segments_differ else "")


def _note(reason: str, lines: Collection[int | None]) -> str:
    named = sorted(line for line in lines if line is not None)
    if not named:
        return f"an estimate: {reason}"
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    several = "s" if len(named) > 1 else ""
    return f"an estimate: {reason} at line{several} {', '.join(map(str, named[:_MOST_NAMED]))}{more}"


def _access(grid: _Grid, access: AccessCount) -> AccessCount:
    return replace(access, values=grid.sums(access.values, access.line, loose=_SEGMENTS))


def _branch(grid: _Grid, branch: BranchCount) -> BranchCount:
    """The intervals grow as the sums do."""
    sums = grid.sums(branch.values, branch.line)
    ran = branch.values.sum(axis=1)
    came, parted = (int(whole) / max(1, int(part)) for whole, part in zip(sums[:, 0], ran, strict=True))
    intervals = tuple((round(one * came), round(other * parted)) for one, other in branch.intervals)
    return replace(branch, values=sums, intervals=intervals)


@dataclass(frozen=True, slots=True)
class _Division:
    """The blocks that ran, by class.

    owner: for each block that ran, the number of its class
    first: for each class, a block of it that ran
    sizes: how many blocks of the grid each class has
    """

    owner: NDArray[np.intp]
    first: NDArray[np.intp]
    sizes: Numbers

    def agree(self, values: Numbers) -> NDArray[np.bool_]:
        """For each row, whether the blocks of each class have the same number."""
        found: NDArray[np.bool_] = (values == values[:, self.first[self.owner]]).all(axis=1)
        return found

    def means(self, row: Numbers) -> NDArray[np.float64]:
        return np.bincount(self.owner, row) / np.bincount(self.owner)


class _Grid:
    """Scales rows of numbers, and remembers where blocks that should be alike differ."""

    def __init__(self, blocks: Sequence[int], launch: Launch) -> None:
        self._blocks = launch.blocks
        self._whole = len(blocks) == launch.blocks
        self._divisions = [] if self._whole else list(_divisions(blocks, launch))
        self._factor = launch.blocks / max(1, len(blocks))
        self.lines_that_differ: set[int | None] = set()
        self.segments_differ = False

    def sums(self, values: Numbers, line: int | None, loose: int | None = None) -> Numbers:
        """The sums over the grid of each row, as one column.

        loose: a row that may differ where nothing else does
        """
        found, differing = self._sums(values)
        if loose in differing:
            self.segments_differ = True
            differing.remove(loose)
        if differing:
            self.lines_that_differ.add(line)
        return found

    def _sums(self, values: Numbers) -> tuple[Numbers, set[int | None]]:
        """By the fewest classes whose blocks agree; else by the mean of each of the most classes.

        return: the sums, and the rows of which they are an estimate
        """
        if self._whole:
            return values.sum(axis=1, keepdims=True), set()
        if self._blocks * int(values.max(initial=0)) > _LARGEST_SUM:
            raise TooManyBlocksError
        sums = np.zeros((len(values), 1), np.int64)
        open_rows = np.flatnonzero(values.any(axis=1))
        for division in self._divisions:
            agree = division.agree(values[open_rows])
            done = open_rows[agree]
            sums[done, 0] = values[done][:, division.first] @ division.sizes
            open_rows = open_rows[~agree]
            if not len(open_rows):
                break
        for row in open_rows:
            sums[row, 0] = self._estimate(values[row])
        return sums, set(open_rows.tolist())

    def _estimate(self, row: Numbers) -> int:
        if not self._divisions:
            return round(self._factor * int(row.sum()))
        finest = self._divisions[-1]
        return round(float(finest.means(row) @ finest.sizes))


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
        belongs = (remainders == np.array(classes)[:, :, np.newaxis]).all(axis=1)
        sizes = np.array([_size(launch, period, each) for each in classes], np.int64)
        if (belongs.sum(axis=1) >= np.minimum(2, sizes)).all():
            yield _Division(belongs.argmax(axis=0), belongs.argmax(axis=1), sizes)
