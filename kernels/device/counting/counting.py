"""Count what a launch does: accesses, branches and instructions, per instruction and per block.

Threads that return to a place with the same addresses give the same numbers. So each pattern is analysed once. The
number of its occurrences is multiplied at the end, or earlier if there are too many patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernels.device.counting.counts import ACCESS_FIELDS, AccessCount, BranchCount, Counts, LineWork, Verb, Work
from kernels.device.counting.patterns import Columns, Patterns, bulk
from kernels.device.memory.bulk import Rows
from kernels.device.memory.locate import active_bounds
from kernels.device.ptx.module import Instruction
from kernels.device.ptx.pointers import GENERIC_SHIFT
from kernels.device.state.element_names import plain_name
from kernels.device.state.geometry import WARP
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask
from kernels.device.state.space import CLUSTER, own_address
from kernels.device.state.values import Lanes, Value

Numbers = NDArray[np.int64]
Grid = NDArray[np.bool_]
_GENERIC = {1: "shared", 2: "local"}
_MOST_KNOWN = 4096
_MOST_INTERVALS = 64
_MOST_KINDS = 64
_MOST_TALLIES = 8192
_SEGMENT = 128
_REPEATS, _RECEIVED = ACCESS_FIELDS.index("repeats"), ACCESS_FIELDS.index("received_bytes")
_PIECES = [ACCESS_FIELDS.index(name) for name in ("sectors", "segments", "ideal_sectors")]


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """A counted access: of one instruction, or of several that may be one.

    space: "generic" if only the address shows the space
    """

    pcs: tuple[int, ...]
    line: int | None
    space: str
    verb: Verb
    width: int
    register: int
    displacement: int


class _Tally:
    """How often a pattern occurred, and its numbers: a row for each, a column for each block."""

    __slots__ = ("times", "values")

    def __init__(self, values: Numbers) -> None:
        self.times = 0
        self.values = values


@dataclass(frozen=True, slots=True)
class _Decision:
    """A branch, the threads that reach it, the threads of each path, and the interval between barriers."""

    pc: int
    present: int
    ways: tuple[int, ...]
    epochs: bytes


class Counting:
    """The counts of one launch, chunk by chunk.

    blocks: the numbers of all blocks that run
    flops: for each instruction, the floating-point operations of one thread
    tensors: for each instruction whose operations tensor cores do, the weight of an operation, and the bytes that a
        warp's part reads from shared memory
    extent: for each code block, its instructions by their first one
    """

    def __init__(
        self,
        blocks: Sequence[int],
        threads: int,
        instructions: Sequence[Instruction],
        flops: Sequence[int],
        tensors: Mapping[int, tuple[int, int]],
        extent: Callable[[int], range],
    ) -> None:
        self._blocks = tuple(int(number) for number in blocks)
        self._instructions = instructions
        self._flops = flops
        self._tensors = tensors
        self._extent = extent
        self._patterns = Patterns(threads)
        self._sums: dict[tuple[Counted, str, str], Numbers] = {}
        self._work: dict[int | None, Numbers] = {}
        self._branches: dict[int, Numbers] = {}
        self._intervals: dict[int, Numbers] = {}
        self._uniform: dict[object, _Tally] = {}
        self._accesses: list[tuple[Counted, str, str, _Tally]] = []
        self._executed: dict[tuple[int, int | None], _Tally] = {}
        self._guarded: dict[tuple[int, int | None], _Tally] = {}
        self._decisions: dict[_Decision, _Tally] = {}
        self._start(slice(0, 0), np.ones((1, 1), np.bool_))

    # -- events -------------------------------------------------------------------------------------------------------

    def start(self, machine: Machine, first: int) -> None:
        """Begin a chunk, whose first block has column `first` of the results."""
        shape = machine.shape
        self._start(slice(first, first + shape.blocks), np.ones((shape.threads, shape.blocks), np.bool_))

    def _start(self, columns: slice, everyone: Grid) -> None:
        self._columns = columns
        self._everyone = everyone
        self._kinds: dict[tuple[int | None, int | None], Columns] = {}
        self._places: dict[tuple[Verb, str, int], bytes] = {}
        self._forget()

    def _forget(self) -> None:
        """Begin new tallies. `_round` separates them from tallies that addresses still hold."""
        self._round = object()
        for tallies in (self._uniform, self._accesses, self._executed, self._guarded, self._decisions):
            tallies.clear()

    def executed(self, first: int, mask: Mask | None) -> None:
        """Count that the threads of the mask run the code block that begins at `first`."""
        self._tally(self._executed, first, mask)

    def guarded(self, pc: int, mask: Mask | None) -> None:
        """Count that the threads of the mask take part in a guarded instruction."""
        self._tally(self._guarded, pc, mask)

    def _tally(self, tallies: dict[tuple[int, int | None], _Tally], pc: int, mask: Mask | None) -> None:
        key = pc, None if mask is None else mask.digest
        tally = tallies.get(key)
        if tally is None:
            self._keep_few(tallies)
            grid = self._whole(mask)
            tally = tallies[key] = _Tally(np.stack((grid.sum(axis=0), _warps(grid).sum(axis=0))))
        tally.times += 1

    def _whole(self, mask: Mask | None) -> Grid:
        return self._everyone if mask is None else mask.array

    def decided(self, machine: Machine, pc: int, mask: Mask | None, ways: Sequence[Mask | None]) -> None:
        """Count a conditional branch for the threads of the mask. Threads in none of the ways have ended."""
        present, parts = _digest(mask), tuple(_digest(way) for way in ways)
        key = _Decision(pc, present, parts, machine.epochs.tobytes())
        tally = self._decisions.get(key)
        if tally is None:
            self._keep_few(self._decisions)
            tally = self._decisions[key] = _Tally(self._divided(mask, ways))
        tally.times += 1

    def _divided(self, mask: Mask | None, ways: Sequence[Mask | None]) -> Numbers:
        """Return how many warps reached a branch, and in how many of them the threads parted."""
        left = self._whole(mask)
        came = _warps(left)
        parts = np.zeros(came.shape, np.int64)
        for way in ways:
            parts += _warps(self._whole(way))
            left = left & ~self._whole(way)
        parts += _warps(left)
        return np.stack((came.sum(axis=0), (parts > 1).sum(axis=0)))

    # -- accesses -----------------------------------------------------------------------------------------------------

    def access(self, machine: Machine, access: Counted, mask: Mask | None) -> None:
        """Count an access of the threads of the mask at a register plus a displacement."""
        self._keep_few(self._accesses)
        value = machine.registers[access.register]
        known = self._known(value.lanes)
        key = access, value.offset, None if mask is None else mask.digest
        tally = known.get(key)
        if tally is not None:
            tally.times += 1
            return
        found = list(self._look(machine, access, value.integral(), mask))
        for tally in found:
            tally.times += 1
        if len(found) == 1 and len(known) < _MOST_KNOWN:
            known[key] = found[0]

    def _known(self, lanes: Lanes | None) -> dict[object, _Tally]:
        if lanes is None:
            return self._uniform
        known: dict[object, _Tally] = lanes.derive(("counted", self._round), dict)
        return known

    def _look(self, machine: Machine, access: Counted, value: Value, mask: Mask | None) -> Iterator[_Tally]:
        """Yield a tally for each accessed space, which is nearly always one."""
        low, high = _bounds(value, access.displacement, mask)
        space = access.space
        if space != "generic":
            yield self._found(machine, access, space, value, mask, (low, high))
        elif low >> GENERIC_SHIFT == high >> GENERIC_SHIFT:
            number = low >> GENERIC_SHIFT
            space = _GENERIC.get(number, "global")
            base = 0 if space == "global" else number << GENERIC_SHIFT
            yield self._found(machine, access, space, value, mask, (low - base, high - base))
        else:
            assert value.lanes is not None
            windows = (value.lanes.array + (value.offset + access.displacement)) >> GENERIC_SHIFT
            for number, space in ((0, "global"), *_GENERIC.items()):
                chosen = windows == number if number else ~np.isin(windows, list(_GENERIC))
                part = machine.narrow(mask, chosen)
                if part is None or part.count:
                    base = number << GENERIC_SHIFT
                    low, high = _bounds(value, access.displacement, part)
                    yield self._found(machine, access, space, value, part, (low - base, high - base))

    def _found(
        self, machine: Machine, access: Counted, space: str, value: Value, mask: Mask | None, bounds: tuple[int, int]
    ) -> _Tally:
        if space == "shared":
            bounds = own_address(bounds[0]), own_address(bounds[1])
        one, other = (machine.memory.find(space, bound) for bound in bounds)
        name = "" if one is None or one is not other else _name(one.name)
        lanes = value.lanes
        known = self._known(lanes)
        shift = (value.offset + access.displacement) % _SEGMENT
        key = access, space, name, shift, None if mask is None else mask.digest
        tally: _Tally | None = known.get(key)
        if tally is None:
            columns = self._columns_of(lanes, mask)
            tally = _Tally(self._patterns.numbers(space, access.width, columns, shift))
            self._accesses.append((access, space, name, tally))
            if len(known) < _MOST_KNOWN:
                known[key] = tally
        return tally

    def _columns_of(self, lanes: Lanes | None, mask: Mask | None) -> Columns:
        """Return the kinds of blocks by addresses and active threads, remembered for equal ones."""
        digests = None if lanes is None else lanes.digest, None if mask is None else mask.digest
        found = self._kinds.get(digests)
        if found is None:
            addresses = np.zeros((1, 1), np.int64) if lanes is None else lanes.array.astype(np.int64)
            found = self._patterns.columns(addresses, None if mask is None else mask.array)
            if len(self._kinds) >= _MOST_KINDS:
                self._kinds.clear()
            self._kinds[digests] = found
        return found

    def copied(self, machine: Machine, pc: int, verb: Verb, space: str, rows: Rows) -> None:
        """Count bulk copies of some threads. Few instructions make them, so each is analysed at once."""
        space, name = ("shared", "") if space == CLUSTER else (space, rows.memory.name if rows.memory else "")
        access = Counted((pc,), self._instructions[pc].line, space, verb, 0, -1, 0)
        values = np.zeros((len(ACCESS_FIELDS) + 1, len(rows.lanes)), np.int64)
        values[:6] = bulk(rows.addresses, rows.sizes)
        if space == "shared":
            values[_PIECES] = 0
        elif verb is Verb.BULK_LOAD:
            values[_RECEIVED] = rows.sizes.sum(axis=1) * rows.receivers
        blocks = rows.lanes % machine.shape.blocks
        for block in np.unique(blocks).tolist():
            # Two threads may fill two stages in turn, so a block's last copies count, not a thread's.
            places = rows.places[blocks == block].tobytes()
            values[_REPEATS, blocks == block] = self._places.get((verb, name, block)) == places
            self._places[verb, name, block] = places
        total = self._total((access, space, _name(name)))[:, self._columns]
        np.add.at(total, (np.arange(len(values))[:, np.newaxis], blocks), values)

    # -- sums ---------------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        self._add_up()
        self._start(slice(0, 0), np.ones((1, 1), np.bool_))

    def _keep_few(self, tallies: Sized) -> None:
        if len(tallies) >= _MOST_TALLIES:
            self._add_up()
            self._forget()

    def _add_up(self) -> None:
        columns = self._columns
        for access, space, name, tally in self._accesses:
            self._total((access, space, name))[:, columns] += tally.times * tally.values
        for (first, _), tally in self._executed.items():
            self._add_work(self._extent(first), tally.times * tally.values)
        for (pc, _), tally in self._guarded.items():
            self._add_operations(pc, Work(*self._line(pc)[:, columns]), tally.times * tally.values)
        for decision, tally in self._decisions.items():
            self._add_decision(decision, tally)

    def _total(self, key: tuple[Counted, str, str]) -> Numbers:
        if key not in self._sums:
            self._sums[key] = self._zeros(len(ACCESS_FIELDS) + 1)
        return self._sums[key]

    def _zeros(self, rows: int) -> Numbers:
        return np.zeros((rows, len(self._blocks)), np.int64)

    def _line(self, pc: int) -> Numbers:
        line = self._instructions[pc].counted_line
        if line not in self._work:
            self._work[line] = self._zeros(len(Work._fields))
        return self._work[line]

    def _add_work(self, pcs: range, values: Numbers) -> None:
        threads, warps = values
        for pc in pcs:
            work = Work(*self._line(pc)[:, self._columns])
            work.threads[:] += threads
            work.warps[:] += warps
            if self._flops[pc] and self._instructions[pc].guard is None:
                self._add_operations(pc, work, values)

    def _add_operations(self, pc: int, work: Work[Numbers], values: Numbers) -> None:
        threads, warps = values
        operations = self._flops[pc] * threads
        work.flops[:] += operations
        if pc in self._tensors:
            weight, read = self._tensors[pc]
            work.tensor_flops[:] += operations
            work.tensor_work[:] += weight * operations
            work.tensor_instructions[:] += warps
            work.product_bytes[:] += read * warps

    def _add_decision(self, decision: _Decision, tally: _Tally) -> None:
        pc = decision.pc
        if pc not in self._branches:
            self._branches[pc] = self._zeros(2)
            self._intervals[pc] = np.full((_MOST_INTERVALS, 2), -1, np.int64)
        values = tally.times * tally.values
        self._branches[pc][:, self._columns] += values
        epochs = np.frombuffer(decision.epochs, np.int64)
        for epoch in np.unique(epochs[epochs < _MOST_INTERVALS]):
            row = self._intervals[pc][epoch]
            row[:] = np.maximum(row, 0) + values[:, epochs == epoch].sum(axis=1)

    def result(self) -> Counts:
        """Return all counts, in the order of the instructions."""
        single, merged = (
            tuple(
                AccessCount(
                    access.pcs, access.line, space, access.verb, name, access.width, not values[-1].any(), values[:-1]
                )
                for (access, space, name), values in sorted(self._sums.items(), key=_order)
                if (len(access.pcs) > 1) == several
            )
            for several in (False, True)
        )
        branches = tuple(
            BranchCount(pc, self._instructions[pc].counted_line, values, _intervals(self._intervals[pc]))
            for pc, values in sorted(self._branches.items())
        )
        lines = tuple(
            LineWork(line, values) for line, values in sorted(self._work.items(), key=lambda item: item[0] or 0)
        )
        return Counts(self._blocks, single, merged, branches, lines)


def _order(item: tuple[tuple[Counted, str, str], Numbers]) -> tuple[object, ...]:
    access, space, name = item[0]
    return access.pcs, access.verb.value, space, name


def _intervals(rows: Numbers) -> tuple[tuple[int, int], ...]:
    """Return the intervals up to the last one in which the branch was reached."""
    used = int(np.flatnonzero(rows[:, 0] >= 0).max(initial=-1)) + 1
    return tuple((int(came), int(parted)) for came, parted in np.maximum(rows[:used], 0))


def _digest(mask: Mask | None) -> int:
    return 0 if mask is None else mask.digest


def _warps(grid: Grid) -> Grid:
    """Return, for each warp and block, whether any of its threads is among the given ones."""
    missing = -len(grid) % WARP
    filler = np.zeros((missing, grid.shape[1]), np.bool_)
    whole = np.concatenate((grid, filler)) if missing else grid
    found: Grid = np.logical_or.reduce(whole.reshape(-1, WARP, grid.shape[1]), axis=1)
    return found


def _bounds(value: Value, displacement: int, mask: Mask | None) -> tuple[int, int]:
    """Return the smallest and the largest address of the threads that take part."""
    shift = value.offset + displacement
    if value.lanes is None:
        return shift, shift
    low, high = value.lanes.bounds if mask is None else active_bounds(value.lanes, mask)
    return low + shift, high + shift


@lru_cache(maxsize=1024)
def _name(symbol: str) -> str:
    name = plain_name(symbol)
    return "" if name.startswith("__local_depot") else name
