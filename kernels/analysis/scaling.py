"""The counts of a large launch from some of its blocks.

Most blocks of a kernel do the same work. Blocks in the last column or row of the grid do less. If rows aren't a
multiple of 128 bytes, the touched segments repeat only after two, four or eight blocks. So blocks are divided into
classes, and some blocks of each class run. If they agree, they represent their class. The blocks at the ends of each
row always run. A count that grows evenly from block to block shows there. The sums are called an estimate if blocks may
differ for other reasons; see `kernels.device.ptx.likeness`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kernels.counters import Totals
from kernels.device.counting.counts import ACCESS_FIELDS, AccessCount, BranchCount, Counts, LineWork
from kernels.launch import Launch

Numbers = NDArray[np.int64]
PERIODS = (1, 2, 4, 8)
_ENOUGH, _FEWEST = 8, 2
"""Blocks of a class that run, if the classes are few; the second number if a block is expensive."""

_PLENTY = 256
_MOST_NAMED = 8
_LAST = -1
_SEGMENTS = ACCESS_FIELDS.index("segments")
# Sums have 64 bits, and some are later added up or multiplied by bytes.
_LARGEST_SUM = 2**54


class TooManyBlocksError(ValueError):
    """The sums over the whole grid don't fit into 64 bits. Such a launch would never end."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """Counts of a whole grid.

    counts: one column with the sums over the grid; `counts.blocks` are the blocks that ran
    exact: whether all blocks ran, or all blocks of a class agreed and no other block can differ. `segments` may be
        an estimate all the same
    note: the lines at which blocks differ or may differ; "" for none
    """

    counts: Counts
    exact: bool
    note: str = ""


# -- without a run -----------------------------------------------------------------------------------------------------


_OF_OUTPUTS = ("global_store", "global_atomic", "bulk_store")


def grown(totals: Totals, work: float, outputs: float) -> Totals:
    """The totals of a launch with so many times the work, and so many times the elements of outputs."""
    counts = {each.name: getattr(totals, each.name) for each in fields(Totals) if each.type == "int"}
    return replace(
        totals,
        **{name: int(count * (outputs if name.startswith(_OF_OUTPUTS) else work)) for name, count in counts.items()},
    )


# -- which blocks to run -----------------------------------------------------------------------------------------------


def probed_blocks(launch: Launch) -> tuple[int, ...]:
    """Some block numbers for estimating the cost of a block. The first block may do less than others."""
    return tuple(sorted({0, *(launch.blocks * part // 6 for part in (2, 3, 4))}))


def usual_blocks(launch: Launch) -> int:
    """The number of blocks of which each should be affordable. If not, the fewest run, whatever a block costs."""
    return min(launch.blocks, _needed(launch, PERIODS[0], _ENOUGH))


def plan_blocks(launch: Launch, affordable: int) -> tuple[int, ...] | None:
    """The numbers of the blocks to run, about `affordable` at most; None for all blocks."""
    if launch.blocks <= affordable:
        return None
    choices = [(period, _ENOUGH) for period in reversed(PERIODS)]
    period, enough = next((each for each in choices if _needed(launch, *each) <= affordable), (PERIODS[0], _FEWEST))
    numbers = {number for each in _classes(launch, period) for number in _chosen(launch, period, each, enough)}
    # Also the first block and the last two blocks on each axis, in all combinations.
    numbers |= {
        x + launch.grid[0] * (y + launch.grid[1] * z)
        for x, y, z in product(*({0, max(0, extent - 2), extent - 1} for extent in launch.grid))
    }
    if len(numbers) >= launch.blocks:
        return None
    return tuple(sorted(numbers | _others(launch, min(affordable, _PLENTY) - len(numbers))))


def _others(launch: Launch, wanted: int) -> set[int]:
    """Random blocks, the same every time. They show a difference in one block of a hundred."""
    return set(np.random.default_rng(0).integers(launch.blocks, size=max(0, wanted)).tolist())


Class = tuple[int, ...]
"""The remainder of each coordinate by the period, or _LAST."""


def _classes(launch: Launch, period: int) -> Iterator[Class]:
    return product(*([*range(min(period, extent - 1)), _LAST] for extent in launch.grid))


def _extent(launch: Launch, period: int, axis: int, remainder: int) -> int:
    return 1 if remainder == _LAST else 1 + (launch.grid[axis] - 2 - remainder) // period


def _size(launch: Launch, period: int, each: Class) -> int:
    return math.prod(_extent(launch, period, axis, remainder) for axis, remainder in enumerate(each))


def _needed(launch: Launch, period: int, enough: int) -> int:
    return sum(_samples(launch, period, each, enough) for each in _classes(launch, period))


def _samples(launch: Launch, period: int, each: Class, enough: int) -> int:
    """The number of blocks of a class to run: at least two, and more with few classes."""
    inner = sum(remainder != _LAST for remainder in each)
    classes: int = period**inner
    return min(_size(launch, period, each), max(2, enough // classes))


def _chosen(launch: Launch, period: int, each: Class, enough: int) -> set[int]:
    """The first block of a class and random others, the same every time."""
    generator = np.random.default_rng([period, *(remainder + 1 for remainder in each)])
    wanted = _samples(launch, period, each, enough)
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

    unforeseen: lines at which blocks that didn't run may differ
    raise (TooManyBlocksError): the grid is too large
    """
    grid = _Grid(counts.blocks, launch)
    accesses = tuple(_access(grid, access) for access in counts.accesses)
    segments_differ, grid.segments_differ = grid.segments_differ, False
    merged = tuple(_access(grid, each) for each in counts.merged)
    branches = tuple(_branch(grid, branch) for branch in counts.branches)
    lines = tuple(LineWork(line.line, grid.sums(line.values, line.line)) for line in counts.lines)
    whole = Counts(counts.blocks, accesses, merged, branches, lines)
    if grid.lines_that_differ:
        return Scaled(whole, False, _note("blocks differ", grid.lines_that_differ))
    if unforeseen and len(counts.blocks) < launch.blocks:
        return Scaled(whole, False, _note("blocks that didn't run may differ", unforeseen))
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
    """The branch with its sums; intervals grow by the same factor."""
    sums = grid.sums(branch.values, branch.line)
    ran = branch.values.sum(axis=1)
    came, parted = (int(whole) / max(1, int(part)) for whole, part in zip(sums[:, 0], ran, strict=True))
    intervals = tuple((round(one * came), round(other * parted)) for one, other in branch.intervals)
    return replace(branch, values=sums, intervals=intervals)


@dataclass(frozen=True, slots=True)
class _Division:
    """The blocks that ran, by class.

    owner: the class of each block that ran
    first: for each class, one block that ran
    sizes: the number of the grid's blocks in each class
    """

    owner: NDArray[np.intp]
    first: NDArray[np.intp]
    sizes: Numbers

    def agree(self, values: Numbers) -> NDArray[np.bool_]:
        """For each row, whether all blocks of a class have the same number."""
        found: NDArray[np.bool_] = (values == values[:, self.first[self.owner]]).all(axis=1)
        return found

    def means(self, row: Numbers) -> NDArray[np.float64]:
        return np.bincount(self.owner, row) / np.bincount(self.owner)


class _Grid:
    """Scales rows of numbers, and records the lines at which blocks of a class differ."""

    def __init__(self, blocks: Sequence[int], launch: Launch) -> None:
        self._blocks = launch.blocks
        self._whole = len(blocks) == launch.blocks
        self._divisions = [] if self._whole else list(_divisions(blocks, launch))
        self._factor = launch.blocks / max(1, len(blocks))
        self.lines_that_differ: set[int | None] = set()
        self.segments_differ = False

    def sums(self, values: Numbers, line: int | None, loose: int | None = None) -> Numbers:
        """The sum of each row over the grid, as one column.

        loose: a row that may differ without making the sums an estimate
        """
        found, differing = self._sums(values)
        if loose in differing:
            self.segments_differ = True
            differing.remove(loose)
        if differing:
            self.lines_that_differ.add(line)
        return found

    def _sums(self, values: Numbers) -> tuple[Numbers, set[int | None]]:
        """Sums from the fewest classes whose blocks agree, otherwise from means of the finest classes.

        return: the sums, and the rows that are an estimate
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
        # A single block can't show that the blocks of its class agree.
        if (belongs.sum(axis=1) >= np.minimum(2, sizes)).all():
            yield _Division(belongs.argmax(axis=0), belongs.argmax(axis=1), sizes)
