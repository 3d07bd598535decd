"""Finds stores of different threads to one place in global memory that nothing orders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.device.machine import Machine
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

    A later store is ordered behind an earlier one only if the same thread made both, or threads of one block did with
    a barrier between. Atomic updates do not clash with each other.
    """

    def __init__(self, lines: tuple[int | None, ...], atomics: frozenset[int]) -> None:
        self._lines = lines
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
        self._pcs.setdefault(allocation.name, set()).add(pc)
        writers = self._writers.get((allocation.name, unit))
        if writers is None:
            size = len(allocation.words) * (4 // unit)
            writers = self._writers[allocation.name, unit] = _Writers(
                np.full(size, _NOBODY, np.int64), np.zeros(size, np.int32), np.zeros(size, np.int32)
            )
        threads = machine.shape.threads
        thread, column = np.divmod(lanes, machine.shape.blocks)
        mine = (machine.geometry.first + column) * threads + thread
        now = machine.epochs[0, column].astype(np.int32)
        before = writers.thread[words]
        ordered = (before == mine) | ((before // threads == mine // threads) & (writers.epoch[words] < now))
        clash = (before != _NOBODY) & ~ordered
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
    ) -> None:
        for other_pc in np.unique(pcs):
            at = int(np.flatnonzero(pcs == other_pc)[0])
            line, other_line = self._lines[pc], self._lines[int(other_pc)]
            offset, one, two = int(offsets[at]), int(mine[at]), int(others[at])
            machine.findings.add(
                Verdict.DATA_RACE,
                line,
                int(np.count_nonzero(pcs == other_pc)),
                lambda offset=offset, one=one, two=two, line=line, other_line=other_line: _sentence(  # type: ignore[misc]
                    machine, allocation, offset, one, two, line, other_line
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
    threads = machine.shape.threads
    x, y, _ = machine.launch.grid
    blocks = [(n // threads % x, n // threads // x % y, n // threads // (x * y)) for n in (one, two)]
    names = [machine.geometry.thread(n % threads) for n in (one, two)]
    element = element_name(allocation, offset)
    message = (
        f"thread {machine.thread_name(names[0])} of block {machine.block_name(blocks[0])} writes `{element}`"
        f" (line {line}), and thread {machine.thread_name(names[1])} of block {machine.block_name(blocks[1])} writes it"
        f" too (line {other_line}); nothing orders the two, so either value may stay"
    )
    return Example(blocks[0], (names[0], names[1]), element), message
