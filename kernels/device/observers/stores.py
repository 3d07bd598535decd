"""Finds stores of different threads to one place in global memory that nothing orders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kernels.device.machine import WARP, Machine
from kernels.device.memory import Allocation
from kernels.device.naming import element_name
from kernels.verdict import Example, Verdict

_NOBODY = -1


@dataclass(slots=True)
class _Writers:
    """For each word the thread that wrote it last, in which interval between barriers, and by which instruction."""

    thread: NDArray[np.int64]
    epoch: NDArray[np.int32]
    pc: NDArray[np.int32]


class StoreObserver:
    """Follows all stores of a launch; threads are numbered through the whole grid.

    A later store or load is ordered behind a store only if the same thread made both, or threads of one block did
    with a barrier between. Atomic updates do not clash with each other.

    fenced: whether the kernel has fences of its own; how it orders its blocks by them is not followed, and trusted
    warp_synced: the same of `__syncwarp` and the threads of one warp
    """

    def __init__(
        self, lines: tuple[int | None, ...], atomics: frozenset[int], *, fenced: bool, warp_synced: bool
    ) -> None:
        self._lines = lines
        self._fenced = fenced
        self._warp_synced = warp_synced
        self._atomics = np.array(sorted(atomics), np.int32)
        self._writers: dict[tuple[str, int], _Writers] = {}
        self._pcs: dict[str, set[int]] = {}

    def record(
        self,
        machine: Machine,
        pc: int,
        allocation: Allocation,
        words: NDArray[np.intp],
        lanes: NDArray[np.intp],
        unit: int = 4,
    ) -> None:
        """The threads `lanes` write the given words (unit 4) or bytes (unit 1)."""
        allocation.stored = True
        self._pcs.setdefault(allocation.name, set()).add(pc)
        writers = self._writers.get((allocation.name, unit))
        if writers is None:
            size = len(allocation.words) * (4 // unit)
            writers = self._writers[allocation.name, unit] = _Writers(
                np.full(size, _NOBODY, np.int64), np.zeros(size, np.int32), np.zeros(size, np.int32)
            )
        mine, now = self._numbers(machine, lanes)
        clash = self._unordered(machine, writers, words, mine, now)
        before = writers.thread[words]
        if pc in self._atomics:
            clash &= ~np.isin(writers.pc[words], self._atomics)
        if clash.any():
            offsets = words[clash] * unit
            self._report(
                machine, pc, allocation, offsets, mine[clash], before[clash], writers.pc[words[clash]]
            )
        writers.thread[words] = mine
        writers.epoch[words] = now
        writers.pc[words] = pc
        if pc not in self._atomics:
            last = writers.thread[words]
            clash = last != mine
            if clash.any():
                same = np.full(int(clash.sum()), pc, np.int32)
                self._report(machine, pc, allocation, words[clash] * unit, mine[clash], last[clash], same)

    def read(
        self,
        machine: Machine,
        pc: int,
        allocation: Allocation,
        words: NDArray[np.intp],
        lanes: NDArray[np.intp],
    ) -> None:
        """The threads `lanes` read the given words of a variable that was written to."""
        writers = self._writers.get((allocation.name, 4))
        if writers is None:
            return
        mine, now = self._numbers(machine, lanes)
        clash = self._unordered(machine, writers, words, mine, now)
        clash &= ~np.isin(writers.pc[words], self._atomics)
        if clash.any():
            found = words[clash]
            others = writers.thread[found]
            self._report(
                machine, pc, allocation, found * 4, mine[clash], others, writers.pc[found], reads=True
            )

    def _numbers(
        self, machine: Machine, lanes: NDArray[np.intp]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The threads' numbers in the grid, and how many barriers each has passed."""
        thread, column = np.divmod(lanes, machine.shape.blocks)
        mine = machine.geometry.numbers[column] * machine.shape.threads + thread
        return mine.astype(np.int64), machine.epochs[0, column].astype(np.int32)

    def _unordered(
        self,
        machine: Machine,
        writers: _Writers,
        words: NDArray[np.intp],
        mine: NDArray[np.int64],
        now: NDArray[np.int32],
    ) -> NDArray[np.bool_]:
        """Which threads come to a word that another wrote, with nothing to order them."""
        threads = machine.shape.threads
        before = writers.thread[words]
        same_block = before // threads == mine // threads
        ordered = (before == mine) | (same_block & (writers.epoch[words] < now))
        if self._fenced:
            ordered |= ~same_block
        if self._warp_synced:
            ordered |= same_block & (before % threads // WARP == mine % threads // WARP)
        clash: NDArray[np.bool_] = (before != _NOBODY) & ~ordered
        return clash

    def lines_into(self, name: str) -> tuple[int, ...]:
        """The lines that wrote to a variable."""
        return tuple(
            sorted({line for pc in self._pcs.get(name, ()) if (line := self._lines[pc]) is not None})
        )

    def written(self) -> frozenset[str]:
        """The variables that were written to."""
        return frozenset(self._pcs)

    def _report(
        self,
        machine: Machine,
        pc: int,
        allocation: Allocation,
        offsets: NDArray[np.intp],
        mine: NDArray[np.int64],
        others: NDArray[np.int64],
        pcs: NDArray[np.int32],
        *,
        reads: bool = False,
    ) -> None:
        for other_pc in np.unique(pcs):
            at = int(np.flatnonzero(pcs == other_pc)[0])
            line, other_line = self._lines[pc], self._lines[int(other_pc)]
            offset, one, two = int(offsets[at]), int(mine[at]), int(others[at])
            machine.findings.add(
                Verdict.DATA_RACE,
                line,
                int(np.count_nonzero(pcs == other_pc)),
                partial(
                    _read_sentence if reads else _sentence,
                    machine,
                    allocation,
                    offset,
                    one,
                    two,
                    line,
                    other_line,
                ),
                other_line=other_line,
            )


def _sentence(
    machine: Machine,
    allocation: Allocation,
    offset: int,
    one: int,
    two: int,
    line: int | None,
    other_line: int | None,
) -> tuple[Example, str]:
    (name, other), example = _both(machine, allocation, offset, one, two)
    message = (
        f"{name} writes `{example.element}` (line {line}), and {other} writes it too (line {other_line});"
        " nothing orders the two, so either value may stay"
    )
    return example, message


def _read_sentence(
    machine: Machine,
    allocation: Allocation,
    offset: int,
    one: int,
    two: int,
    line: int | None,
    other_line: int | None,
) -> tuple[Example, str]:
    (name, other), example = _both(machine, allocation, offset, one, two)
    missing = "no `__syncthreads()` between"
    if one // machine.shape.threads != two // machine.shape.threads:
        missing = "nothing orders blocks of one launch, `__syncthreads()` does not"
    message = (
        f"{name} reads `{example.element}` (line {line}), which {other} writes (line {other_line}); {missing}"
    )
    return example, message


def _both(
    machine: Machine, allocation: Allocation, offset: int, one: int, two: int
) -> tuple[tuple[str, str], Example]:
    """The names of two threads, by their numbers in the grid, and the example that they make."""
    threads = machine.shape.threads
    x, y, _ = machine.launch.grid
    blocks = [(n // threads % x, n // threads // x % y, n // threads // (x * y)) for n in (one, two)]
    names = [machine.geometry.thread(n % threads) for n in (one, two)]
    first, second = (
        f"thread {machine.thread_name(name)} of block {machine.block_name(block)}"
        for name, block in zip(names, blocks, strict=True)
    )
    return (first, second), Example(blocks[0], (names[0], names[1]), element_name(allocation, offset))
