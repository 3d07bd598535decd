"""The order of accesses to the registers of `wgmma`: accumulators, and left factors in registers.

A product starts with the values that its registers had at the last `wgmma.fence`, and uses them until its threads have
waited for it. Products of one shape that add to the same registers follow each other in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Lanes = NDArray[np.intp]
Rows = NDArray[np.intp]
Numbers = NDArray[np.int32]


@dataclass(slots=True)
class _Use:
    """The last products of some lanes, whose sums all have the same state in a lane."""

    sums: Rows
    lanes: Lanes
    needed: Numbers
    shape: int
    group: NDArray[np.int64]

    def again(self, sums: Rows, lanes: Lanes) -> bool:
        return np.array_equal(self.sums, sums) and np.array_equal(self.lanes, lanes)


class ProductRegisters:
    """What the threads of a chunk did to these registers, by row and lane.

    time: counts a thread's fences and waits; fenced, waited: when it last did each
    done: the group of products for which a thread has waited
    needed: the time from which on a fence must come before a product uses the register
    shape: of the product that wrote it last; 0 for another instruction
    group: of the last product that uses it
    """

    def __init__(self, rows: int, lanes: int) -> None:
        self._time, self._fenced, self._waited, self._done = (np.zeros(lanes, np.int32) for _ in range(4))
        self._needed = np.ones((rows, lanes), np.int32)
        self._shape = np.zeros((rows, lanes), np.int32)
        self._group = np.zeros((rows, lanes), np.int32)
        # A loop of products uses the same sums each time, so they are only written once something else needs them.
        self._last: _Use | None = None

    def fence(self, lanes: Lanes) -> None:
        self._time[lanes] += 1
        self._fenced[lanes] = self._time[lanes]

    def wait(self, lanes: Lanes, done: NDArray[np.int64]) -> None:
        self._time[lanes] += 1
        self._waited[lanes] = self._time[lanes]
        self._done[lanes] = np.maximum(self._done[lanes], done)

    def use(self, sums: Rows, factor: Rows, shape: int, lanes: Lanes, group: NDArray[np.int64]) -> Lanes:
        """Note a product. Return the lanes without a fence before it.

        sums, factor: the rows of accumulators and of the left factor
        """
        if self._last is None or factor.size or not self._last.again(sums, lanes):
            self._write_last()
            unfenced = self._unfenced(sums, factor, shape, lanes)
            self._group[factor[:, np.newaxis], lanes] = group
        else:
            unfenced = (self._fenced[lanes] < self._last.needed) & (self._last.shape != shape)
        self._last = _Use(sums, lanes, self._time[lanes] + 1, shape, group)
        found: Lanes = lanes[unfenced]
        return found

    def _unfenced(self, sums: Rows, factor: Rows, shape: int, lanes: Lanes) -> NDArray[np.bool_]:
        there, other = self._places(sums, lanes), self._places(factor, lanes)
        unfenced = ((self._fenced[lanes] < self._needed[there]) & (self._shape[there] != shape)).any(axis=0)
        unfenced |= (self._fenced[lanes] < self._needed[other]).any(axis=0)
        found: NDArray[np.bool_] = unfenced
        return found

    def _places(self, rows: Rows, lanes: Lanes) -> tuple[Rows, slice] | tuple[Rows, Lanes]:
        # Whole rows are several times faster than chosen places in them.
        return (rows, slice(None)) if len(lanes) == self._time.size else (rows[:, np.newaxis], lanes)

    def _write_last(self) -> None:
        if self._last is not None:
            last, self._last = self._last, None
            there = self._places(last.sums, last.lanes)
            self._needed[there], self._shape[there], self._group[there] = last.needed, last.shape, last.group

    def write(self, rows: Rows, lanes: Lanes, *, moves: bool) -> Lanes:
        """Note that another instruction writes registers. Return the lanes in which a product still uses one.

        moves: whether it only moves a value. The compiler puts such moves right before their use, so they may belong
            before any fence since the last wait.
        """
        self._write_last()
        there = rows[:, np.newaxis], lanes
        busy = (self._group[there] > self._done[lanes]).any(axis=0)
        self._needed[there] = (self._waited if moves else self._time)[lanes] + 1
        self._shape[there] = self._group[there] = 0
        found: Lanes = lanes[busy]
        return found

    def copy(self, row: int, sources: Rows, lanes: Lanes) -> Lanes:
        """Do the same for a copy of another of these registers, or of two halves. A copied sum is still that sum."""
        self._write_last()
        first, there = sources[0], (sources[:, np.newaxis], lanes)
        group, shape, needed = self._group[first, lanes], self._shape[first, lanes], self._needed[there].max(axis=0)
        busy = (self._group[row, lanes] > self._done[lanes]) & (self._group[row, lanes] != group)
        moved = np.maximum(needed, self._waited[lanes] + 1)
        self._needed[row, lanes] = np.where(shape != 0, needed, moved)
        self._shape[row, lanes], self._group[row, lanes] = shape, group
        found: Lanes = lanes[busy]
        return found
