"""Finds accesses to shared memory that nothing orders.

Two threads of one block touch the same bytes, one of them writes, and no barrier stands between. The order in which
this machine happens to run threads plays no part: all accesses since the last barrier are compared with each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from kernels.device.machine import WARP, Machine
from kernels.device.mask import Mask
from kernels.device.memory import Allocation
from kernels.device.naming import element_name
from kernels.device.values import Lanes
from kernels.verdict import Example, Severity, Verdict

_MAX_PENDING = 4096
_MAX_CLEAN = 4096
_NOBODY = -1
Cells = NDArray[np.intp]


class Kind(Enum):
    """What an access does."""

    READ = "reads"
    WRITE = "writes"
    ATOMIC = "atomically updates"
    COPY = "copies asynchronously to"

    @property
    def writes(self) -> bool:
        """Whether the memory may change."""
        return self is not Kind.READ


@dataclass(slots=True)
class Access:
    """What one instruction touched in one go.

    words, shift: the word of each thread, `words + shift`; `words` None where it is the same for all
    offsets, lanes: instead of words, byte offsets and the numbers of the threads they belong to
    size: bytes per thread
    clock: per thread how many warp-wide syncs came before, None where none did since the barrier
    """

    pc: int
    allocation: Allocation
    kind: Kind
    size: int
    mask: Mask | None = None
    words: Lanes | None = None
    shift: int = 0
    offsets: NDArray[np.int64] | None = None
    lanes: NDArray[np.intp] | None = None
    clock: NDArray[np.int32] | None = None
    _key: tuple[object, ...] | None = None

    @property
    def alike(self) -> bool:
        """Whether every block does the same."""
        same = self.words is None or self.words.array.shape[1] == 1
        return same and self.mask is None and self.offsets is None and self.clock is None

    def key(self) -> tuple[object, ...]:
        """Equal keys: the same threads touch the same bytes by the same instruction."""
        if self._key is None:
            self._key = self._make_key()
        return self._key

    def _make_key(self) -> tuple[object, ...]:
        if self.offsets is not None and self.lanes is not None:
            return (self.pc, self.allocation.name, hash(self.offsets.tobytes()), hash(self.lanes.tobytes()))
        words = None if self.words is None else self.words.digest
        return (self.pc, self.allocation.name, words, self.shift, self.mask and self.mask.digest)


class _Shadow:
    """Who touched each cell by one instruction: the first thread, and one other."""

    __slots__ = ("first", "first_clock", "kind", "second", "second_clock")

    def __init__(self, cells: int, kind: Kind) -> None:
        self.kind = kind
        self.first = np.full(cells, _NOBODY, np.int32)
        self.second = np.full(cells, _NOBODY, np.int32)
        self.first_clock = np.zeros(cells, np.int32)
        self.second_clock = np.zeros(cells, np.int32)


class RaceObserver:
    """Follows one chunk of blocks through the intervals between barriers.

    unit: bytes per cell; 1 where the kernel touches shared memory in pieces smaller than a word
    clean: signatures of intervals in which nothing was found; kept over chunks, since most intervals are alike
    """

    def __init__(
        self,
        machine: Machine,
        lines: tuple[int | None, ...],
        severity: Severity,
        unit: int,
        clean: set[object],
    ) -> None:
        self._machine = machine
        self._lines = lines
        self._severity = severity
        self._unit = unit
        self._clean = clean
        self._pending: list[Access] = []
        self._order: list[object] = []
        self._seen: dict[object, int] = {}
        self._shadows: dict[tuple[str, int], _Shadow] = {}
        self._clock: NDArray[np.int32] | None = None
        self._copies: list[Access] = []

    # -- what happens -------------------------------------------------------------------------------------------------

    def record(self, access: Access) -> None:
        """Notes an access; one that adds nothing to the interval is dropped."""
        if self._clock is not None:
            access = _with_clock(access, self._clock)
            self._pending.append(access)
            self._order.append(object())
        else:
            key = access.key()
            distinct = len(self._seen)
            if self._seen.get(key) == distinct:
                return
            self._seen.setdefault(key, distinct)
            self._seen[key] = len(self._seen)
            self._pending.append(access)
            self._order.append(key)
        if len(self._pending) >= _MAX_PENDING:
            self._analyse(alike=False)
            self._clean_no_more()

    def copy_pending(self, accesses: list[Access]) -> None:
        """Asynchronous copies that are still under way: they go on over the next barrier."""
        self._copies = accesses

    def warp_sync(self, mask: Mask | None) -> None:
        """The threads of a mask met the others of their warps."""
        shape = self._machine.shape
        clock = (
            np.zeros((shape.threads, shape.blocks), np.int32) if self._clock is None else self._clock.copy()
        )
        present = np.ones(clock.shape, np.bool_) if mask is None else mask.array
        for start in range(0, shape.threads, WARP):
            rows = slice(start, start + WARP)
            latest = np.where(present[rows], clock[rows], 0).max(axis=0) + 1
            clock[rows] = np.where(present[rows], latest, clock[rows])
        self._clock = clock

    def barrier(self, blocks: NDArray[np.bool_] | None) -> None:
        """All threads of the given blocks (None: of all) met: what follows is ordered behind what was."""
        signature = tuple(self._order)
        if self._pending and not (signature in self._clean and not self._shadows):
            fresh = not self._shadows
            alike = blocks is None and fresh and all(access.alike for access in self._pending)
            found = self._analyse(alike=alike)
            if fresh and not found and self._clock is None and len(self._clean) < _MAX_CLEAN:
                self._clean.add(signature)
        if blocks is None:
            self._shadows.clear()
            self._clock = None
        else:
            if self._clock is not None:
                self._clock = np.where(blocks[np.newaxis, :], 0, self._clock).astype(np.int32)
            for shadow in self._shadows.values():
                shadow.first.reshape(-1, blocks.size)[:, blocks] = _NOBODY
                shadow.second.reshape(-1, blocks.size)[:, blocks] = _NOBODY
        self._pending.clear()
        self._order.clear()
        self._seen.clear()
        for access in self._copies:
            self.record(access)

    def finish(self) -> None:
        """The kernel is at its end: looks at what is left."""
        self._copies = []
        self.barrier(None)

    # -- what it means ------------------------------------------------------------------------------------------------

    def _clean_no_more(self) -> None:
        """The interval is too long to be kept whole: it goes on from its shadows."""
        self._pending.clear()
        self._order.clear()
        self._order.append(object())
        self._seen.clear()

    def _analyse(self, *, alike: bool) -> bool:
        """Compares all pending accesses; says whether anything was found.

        alike: every block did the same, so that one block stands for all
        """
        found = False
        for access in self._pending:
            for cells, lanes in self._cells(access, alike=alike):
                found |= self._compare(access, cells, lanes, alike=alike)
        if alike:
            self._shadows.clear()
        return found

    def _cells(self, access: Access, *, alike: bool) -> list[tuple[Cells, Cells]]:
        """Pairs of cell numbers and thread numbers (lanes), one pair for each cell that a thread touches."""
        shape = self._machine.shape
        columns = 1 if alike else shape.blocks
        pieces = max(1, access.size // self._unit)
        if access.offsets is not None and access.lanes is not None:
            starts = (access.offsets // self._unit).astype(np.intp)
            lanes = access.lanes
        else:
            lanes = (
                np.arange(shape.threads * columns, dtype=np.intp)
                if alike
                else self._machine.active(access.mask)
            )
            words = np.zeros((1, 1), np.intp) if access.words is None else access.words.array
            whole = np.broadcast_to(words, (shape.threads, columns)).reshape(-1)
            starts = (whole[lanes] + access.shift) * (4 // self._unit)
        block = lanes % columns
        return [((starts + piece) * columns + block, lanes) for piece in range(pieces)]

    def _compare(self, access: Access, cells: Cells, lanes: Cells, *, alike: bool) -> bool:
        columns = 1 if alike else self._machine.shape.blocks
        threads = (lanes // columns).astype(np.int32)
        clock = np.zeros(threads.shape, np.int32) if access.clock is None else access.clock.reshape(-1)[lanes]
        found = False
        for (name, pc), shadow in self._shadows.items():
            if name == access.allocation.name and _may_conflict(access.kind, shadow.kind):
                others = self._others(shadow, cells, threads, clock)
                found |= self._report(access, (pc, shadow.kind), cells, threads, others, columns)
        shadow = self._shadow(access, columns)
        if access.kind.writes and access.kind is not Kind.ATOMIC:
            last = np.full(len(shadow.first), _NOBODY, np.int32)
            last[cells] = threads
            others = np.where(last[cells] != threads, last[cells], _NOBODY)
            found |= self._report(access, (access.pc, access.kind), cells, threads, others, columns)
        _update(shadow, cells, threads, clock)
        return found

    def _shadow(self, access: Access, columns: int) -> _Shadow:
        key = (access.allocation.name, access.pc)
        shadow = self._shadows.get(key)
        if shadow is None:
            cells = (access.allocation.size + 3) // 4 * (4 // self._unit) * columns
            shadow = self._shadows[key] = _Shadow(cells, access.kind)
        return shadow

    def _others(
        self, shadow: _Shadow, cells: Cells, threads: NDArray[np.int32], clock: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """For each thread another one that touched its cell and that nothing orders, or nobody."""
        chosen = np.full(threads.shape, _NOBODY, np.int32)
        for who, when in ((shadow.first, shadow.first_clock), (shadow.second, shadow.second_clock)):
            other = who[cells]
            loose = (other != _NOBODY) & (other != threads)
            if clock.any():
                loose &= (other // WARP != threads // WARP) | (when[cells] >= clock)
            chosen = np.where(loose & (chosen == _NOBODY), other, chosen)
        return chosen

    def _report(
        self,
        access: Access,
        earlier: tuple[int, Kind],
        cells: Cells,
        threads: NDArray[np.int32],
        others: NDArray[np.int32],
        columns: int,
    ) -> bool:
        """Adds a finding for the threads that have an `other`; inside one warp it may weigh less."""
        clash = others != _NOBODY
        if not clash.any():
            return False
        near = clash & (others // WARP == threads // WARP)
        parts = [(clash & ~near, Severity.ERROR), (near, self._severity)]
        if self._severity is Severity.ERROR:
            parts = [(clash, Severity.ERROR)]
        for part, severity in parts:
            if part.any():
                self._add(access, earlier, cells, threads, others, columns, part, severity)
        return True

    def _add(
        self,
        access: Access,
        earlier: tuple[int, Kind],
        cells: Cells,
        threads: NDArray[np.int32],
        others: NDArray[np.int32],
        columns: int,
        part: NDArray[np.bool_],
        severity: Severity,
    ) -> None:
        pc, kind = earlier
        line, other_line = self._lines[access.pc], self._lines[pc]
        count = int(np.count_nonzero(part)) * (self._machine.shape.blocks if columns == 1 else 1)

        def describe() -> tuple[Example, str]:
            at = int(np.flatnonzero(part)[0])
            cell, column = divmod(int(cells[at]), columns)
            element = element_name(access.allocation, cell * self._unit)
            return self._sentence(
                access.kind, kind, element, int(threads[at]), int(others[at]), column, line, other_line
            )

        self._machine.findings.add(
            Verdict.DATA_RACE, line, count, describe, other_line=other_line, severity=severity
        )

    def _sentence(
        self,
        kind: Kind,
        earlier: Kind,
        element: str,
        thread: int,
        other: int,
        column: int,
        line: int | None,
        other_line: int | None,
    ) -> tuple[Example, str]:
        machine = self._machine
        block = machine.geometry.block(column)
        one, two = machine.geometry.thread(thread), machine.geometry.thread(other)
        missing = "no `__syncthreads()` between"
        if Kind.COPY in {kind, earlier}:
            missing = "no wait for the copy and `__syncthreads()` between"
        message = (
            f"thread {machine.thread_name(one)} of block {machine.block_name(block)} {kind.value} `{element}`"
            f"{_at(line)}, while thread {machine.thread_name(two)} {earlier.value} it{_at(other_line)}; {missing}"
        )
        return Example(block, (one, two), element), message


def _at(line: int | None) -> str:
    return "" if line is None else f", line {line}"


def _with_clock(access: Access, clock: NDArray[np.int32]) -> Access:
    return Access(
        access.pc, access.allocation, access.kind, access.size, access.mask, access.words, access.shift,
        access.offsets, access.lanes, clock,
    )  # fmt: skip


def _may_conflict(one: Kind, other: Kind) -> bool:
    return (one.writes or other.writes) and not (one is other is Kind.ATOMIC)


def _update(shadow: _Shadow, cells: Cells, threads: NDArray[np.int32], clock: NDArray[np.int32]) -> None:
    """Enters the threads of an access into its instruction's shadow."""
    first = shadow.first[cells]
    older = (first // WARP == threads // WARP) & (shadow.first_clock[cells] < clock)
    free = (first == _NOBODY) | (first == threads) | older
    shadow.first[cells[free]] = threads[free]
    shadow.first_clock[cells[free]] = clock[free]
    first = shadow.first[cells]
    other = first != threads
    shadow.second[cells[other]] = threads[other]
    shadow.second_clock[cells[other]] = clock[other]
