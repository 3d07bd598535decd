"""Find the memory cells in which a data race is possible: a first, quick run that misses none.

This run knows only the barriers of whole blocks. A cell is a suspect if two threads use it without such a barrier
between, and one writes. A kernel without suspects has no data race. Otherwise a second run follows the suspects exactly
(see `races`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernels.device.state.accesses import NEVER_COMMUTES, Access, Cells, Kind, Numbers, Strength, Transfer, Where
from kernels.device.state.machine import Machine, Unwatched

_MOST_PENDING = 4096
_MOST_CLEAN = 4096
_READ, _WRITE, _ATOMIC, _STORE = 1, 2, 4, 8
_WORD, _PIECE = 4, 16
Flags = NDArray[np.bool_]


@dataclass(slots=True)
class Suspects:
    """Suspect cells by the name of their variable.

    block: cells that several threads of one block use; in shared memory, between two barriers
    grid: cells of global memory that threads of several blocks use
    flags: cells for which threads wait, with volatile loads in a loop
    fine: variables that are accessed in pieces smaller than a word; their cells here are still words
    narrow: variables that are not only accessed in pieces of 16 bytes
    transferred: variables that the async proxy accesses
    remote: shared variables that threads of other blocks of the cluster access
    """

    block: dict[str, Flags] = field(default_factory=dict)
    grid: dict[str, Flags] = field(default_factory=dict)
    flags: dict[str, Flags] = field(default_factory=dict)
    fine: set[str] = field(default_factory=set)
    narrow: set[str] = field(default_factory=set)
    transferred: set[str] = field(default_factory=set)
    remote: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.block or self.grid)

    def is_flag(self, access: Access, machine: Machine) -> bool:
        """Whether threads wait for everything that a volatile access uses."""
        flags = self.flags.get(access.allocation.name)
        if flags is None or access.where.strength is not Strength.VOLATILE:
            return False
        return bool(flags[access.cells(machine.shape, _WORD)[0]].all())

    def unit(self, name: str) -> int:
        """Return how many bytes of a variable to follow as one cell."""
        return 1 if name in self.fine else _WORD if name in self.narrow else _PIECE

    def cells(self, table: Mapping[str, Flags], name: str) -> Flags:
        """Return which cells of this size have a suspect word, by the table of blocks or of the grid."""
        unit, words = self.unit(name), table[name]
        if unit == _WORD:
            return words
        if unit < _WORD:
            return np.repeat(words, _WORD // unit)
        whole = np.zeros(-(-len(words) // (unit // _WORD)) * (unit // _WORD), np.bool_)
        whole[: len(words)] = words
        found: Flags = np.logical_or.reduce(whole.reshape(-1, unit // _WORD), axis=1)
        return found


class _Meeting:
    """Which threads use the cells of one variable: the lowest and the highest thread, and their kinds of access."""

    __slots__ = ("flags", "highest", "lowest", "size")

    def __init__(self, cells: int) -> None:
        self.lowest = np.zeros(cells, np.int64)  # counted down from _FAR, so that 0 means no thread
        self.highest = np.zeros(cells, np.int64)
        self.flags = np.zeros(cells, np.uint8)
        self.size = 0

    def enter(self, access: Access, cells: Cells, threads: Numbers) -> None:
        where = access.where
        flag = _flag(where, access.strength)
        if flag & _ATOMIC:
            # Atomics of different widths don't order each other, so the second width counts as a plain write.
            self.size = self.size or where.size
            flag = flag if self.size == where.size else _WRITE
        np.maximum.at(self.lowest, cells, _FAR - threads)
        np.maximum.at(self.highest, cells, threads + 1)
        self.flags[cells] |= flag

    def suspects(self, kinds: int) -> Flags:
        """Return the cells that two threads use, one of them in these ways. An atomic and a plain read count, too."""
        several = (self.highest > 0) & (_FAR - self.lowest != self.highest - 1)
        mixed = (self.flags & _ATOMIC != 0) & (self.flags & _READ != 0)
        found: Flags = several & ((self.flags & kinds != 0) | mixed)
        return found

    def blocks_meet(self, threads: int) -> Flags:
        """Return the cells that several blocks use, if threads are numbered through the grid."""
        met: Flags = (_FAR - self.lowest) // threads != (self.highest - 1) // threads
        return met

    def forget(self, cells: NDArray[np.bool_] | slice) -> None:
        for array in (self.lowest, self.highest, self.flags):
            array[cells] = 0


_FAR = np.int64(1) << 62
_USERS = 4
"""Each thread has so many numbers: its own, and others for reads and writes of its whole warp."""


def _user(where: Where, threads: Numbers) -> Numbers:
    """Return the numbers under which threads enter cells. A warp's access isn't its thread's own."""
    numbers = threads * _USERS
    if where.by_warp:
        # The second half names other threads of the warps, which would make each such access a suspect.
        numbers = np.tile(numbers[: len(numbers) // 2], 2) + (2 if where.kind.writes else 1)
    return numbers


def _flag(where: Where, strength: Strength) -> int:
    """Return the flags of an access. Atomics of block scope count as plain writes: other blocks may ignore them."""
    if where.kind is Kind.READ:
        return _READ
    if strength is Strength.DEVICE:
        return _ATOMIC | _STORE if where.stores else _ATOMIC
    return _WRITE


class SuspectFinder(Unwatched):
    """Looks at one launch, chunk by chunk.

    polls: the loads with which threads wait
    clean: signatures of intervals without suspects; kept over launches, because most intervals repeat
    by_order: whether all atomics of several threads are suspects, because their order may matter
    old: whether a thread used the old value of an atomic, or an atomic doesn't commute with itself
    mixed: whether atomics that don't commute used one variable; in shared memory, between two barriers
    """

    def __init__(self, polls: frozenset[int], clean: set[object], *, by_order: bool = False) -> None:
        self.old = self.mixed = False
        self._changes: dict[tuple[str, str], set[str]] = {}
        self._kinds = _WRITE | _STORE | (_ATOMIC if by_order else 0)
        self._polls = polls
        self._clean = clean
        self._known: set[object] = set()
        self._grid: dict[str, _Meeting] = {}
        self._passed = 0
        self._block: dict[str, _Meeting] = {}
        self._pending: dict[object, Access] = {}
        self._flushed = False
        self._seen: set[object] = set()
        self._copies: list[Access] = []
        self._cluster: dict[object, Access] = {}
        self._begun = False
        self.suspects = Suspects()

    def start(self, machine: Machine) -> None:
        self._machine = machine
        self._block.clear()
        self._seen.clear()
        self._cluster.clear()
        self._begun = False

    # -- events -------------------------------------------------------------------------------------------------------

    def record(self, access: Access) -> None:
        name = access.allocation.name
        if access.where.size < _WORD:
            self.suspects.fine.add(name)
        if name not in self.suspects.narrow and not access.in_pieces(_PIECE):
            self.suspects.narrow.add(name)
        if access.where.pc in self._polls:
            polled = np.zeros(len(access.allocation.words), np.bool_)
            polled[access.cells(self._machine.shape, _WORD)[0]] = True
            _add(self.suspects.flags, name, polled)
        if access.owners is not None:
            self.suspects.remote.add(name)
        if access.transfer is not None:
            self._transfers(access)
            return
        if access.allocation.clustered:
            self._enter_in_cluster(access)
            if access.owners is not None:
                return
        if access.allocation.space == "shared":
            key = access.key() if access.flight is None else (access.key(), len(self._pending))
            self._pending.setdefault(key, access)
            if len(self._pending) >= _MOST_PENDING:
                self._enter_pending()
                self._flushed = True
        elif access.key() not in self._seen:
            self._seen.add(access.key())
            self._enter_in_grid(access)

    def transferred(self, access: Access, chosen: Flags, transfer: Transfer) -> None:  # noqa: ARG002
        self._transfers(access)

    def _transfers(self, access: Access) -> None:
        """Note an operation of the async proxy. Barriers of blocks don't order it."""
        self.suspects.transferred.add(access.allocation.name)
        self._suspect(access)

    def _suspect(self, access: Access) -> None:
        """Let all cells of an access be suspects, because barriers of blocks don't order it."""
        name, shared = access.allocation.name, access.allocation.space == "shared"
        cells = np.zeros(len(access.allocation.words), np.bool_)
        cells[access.cells(self._machine.shape, _WORD)[0]] = True
        _add(self.suspects.block if shared else self.suspects.grid, name, cells)

    def update(self, access: Access, *, acquires: bool, releases: bool) -> None:  # noqa: ARG002
        # A block's barrier doesn't end the use of memory that other blocks use, too.
        space = "global" if access.allocation.clustered else access.allocation.space
        variable = space, access.allocation.name
        self._changes.setdefault(variable, set()).add(access.where.change)
        self.record(access)

    def copying(self, accesses: list[Access]) -> None:
        """Note asynchronous copies under way, which continue past the next barrier."""
        self._copies = [access for access in accesses if access.allocation.space == "shared"]

    def barrier(self, blocks: NDArray[np.bool_] | None) -> None:
        """Note that all threads of the given blocks (None: of all) met. What follows comes after what was before."""
        signature = self._machine.shape.blocks, frozenset(self._pending)
        whole = blocks is None and not self._flushed and not self._block
        # Loops repeat intervals. The same accesses show the same suspects, so one look is enough.
        if self._pending and not (whole and (signature in self._clean or signature in self._known)):
            alike = whole and all(access.alike(self._machine.shape) for access in self._pending.values())
            self._enter_pending(alike=alike)
            found = self._note(blocks, alike=alike)
            if whole and not found and len(self._clean) < _MOST_CLEAN:
                self._clean.add(signature)
            elif whole and len(self._known) < _MOST_CLEAN:
                self._known.add(signature)
        elif self._block:
            self._note(blocks, alike=False)
        if blocks is None:
            self._look_at_changes("shared")
        self._pending.clear()
        self._flushed = bool(self._block)
        # A copy under way may also race with what follows the barrier.
        for access in self._copies:
            self.record(access)

    def cluster_barrier(self) -> None:
        """Look at what threads did in their cluster since all of them met. What follows comes after that."""
        signature = "cluster", self._machine.shape.blocks, frozenset(self._cluster)
        if signature not in self._clean:
            names = {access.allocation.name for access in self._cluster.values() if access.owners is not None}
            found = [self._meets_in_cluster(name) for name in names]
            if not any(found) and len(self._clean) < _MOST_CLEAN:
                self._clean.add(signature)
        self._cluster.clear()
        self._begun = True

    def _enter_in_cluster(self, access: Access) -> None:
        """Keep an access to shared memory until all threads of the cluster meet.

        Before they have met, and if they don't meet again, another block's memory may not exist.
        """
        if self._begun:
            key = access.key() if access.flight is None else (access.key(), len(self._cluster))
            self._cluster.setdefault(key, access)
            if len(self._cluster) >= _MOST_PENDING:
                self._leave_cluster()
        elif access.owners is not None:
            self._suspect(access)

    def _leave_cluster(self) -> None:
        for access in self._cluster.values():
            if access.owners is not None:
                self._suspect(access)
        self._cluster.clear()
        self._begun = False

    def _meets_in_cluster(self, name: str) -> bool:
        """Note cells that two threads use, unless both are of the block that owns them. Return whether any are."""
        shape = self._machine.shape
        accesses = [access for access in self._cluster.values() if access.allocation.name == name]
        meeting = _Meeting(len(accesses[0].allocation.words) * shape.blocks)
        for access in accesses:
            cells, lanes = access.cells(shape, _WORD)
            columns = access.columns(lanes, shape, _WORD)
            threads = columns if access.owners is None else lanes + shape.blocks
            meeting.enter(access, cells * shape.blocks + columns, threads)
        found: Flags = np.logical_or.reduce(meeting.suspects(self._kinds).reshape(-1, shape.blocks), axis=1)
        return _add(self.suspects.block, name, found)

    def finish(self) -> None:
        self._leave_cluster()
        self._copies = []
        self.barrier(None)
        self._passed += self._machine.shape.blocks

    def result(self) -> Suspects:
        self._look_at_changes("global")
        threads = self._machine.shape.threads * _USERS if self._grid else 1
        for name, meeting in self._grid.items():
            found = meeting.suspects(self._kinds)
            if found.any():
                several = found & meeting.blocks_meet(threads)
                _add(self.suspects.grid, name, several)
                _add(self.suspects.block, name, found & ~several)
        self._grid.clear()
        return self.suspects

    # -- conclusions --------------------------------------------------------------------------------------------------

    def _look_at_changes(self, space: str) -> None:
        for variable in [change for change in self._changes if change[0] == space]:
            changes = self._changes.pop(variable)
            self.old |= not changes.isdisjoint(NEVER_COMMUTES)
            self.mixed |= len(changes) > 1

    def _enter_in_grid(self, access: Access) -> None:
        machine = self._machine
        meeting = _made(self._grid, access.allocation.name, len(access.allocation.words))
        cells, lanes = access.cells(machine.shape, _WORD)
        thread, column = np.divmod(lanes, machine.shape.blocks)
        # Numbers through the whole grid show with two extremes whether threads and blocks differ.
        threads = (self._passed + column) * machine.shape.threads + thread
        meeting.enter(access, cells, _user(access.where, threads))

    def _enter_pending(self, *, alike: bool = False) -> None:
        columns = 1 if alike else self._machine.shape.blocks
        for number, access in enumerate(self._pending.values(), 1):
            meeting = _made(self._block, access.allocation.name, len(access.allocation.words) * columns)
            cells, lanes = access.cells(self._machine.shape, _WORD, alike=alike)
            threads = lanes // columns
            if access.flight is not None:  # it runs parallel to its thread and other copies
                threads = threads + number * self._machine.shape.threads
            meeting.enter(access, cells * columns + lanes % columns, _user(access.where, threads))
        self._pending.clear()

    def _note(self, blocks: NDArray[np.bool_] | None, *, alike: bool) -> bool:
        """Add the suspects of the blocks to those in the launch, and forget which threads used these cells."""
        found = False
        columns = 1 if alike else self._machine.shape.blocks
        for name, meeting in self._block.items():
            cells = meeting.suspects(self._kinds).reshape(-1, columns)
            if blocks is not None:
                cells = cells & blocks
                meeting.forget(np.tile(blocks, len(cells)))
            met: Flags = np.logical_or.reduce(cells, axis=1)
            found |= _add(self.suspects.block, name, met)
        if blocks is None:
            self._block.clear()
        return found


def _made(table: dict[str, _Meeting], name: str, cells: int) -> _Meeting:
    if name not in table:
        table[name] = _Meeting(cells)
    return table[name]


def _add(table: dict[str, Flags], name: str, cells: Flags) -> bool:
    if not cells.any():
        return False
    table[name] = table[name] | cells if name in table else cells
    return True
