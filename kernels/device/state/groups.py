"""Asynchronous operations under way. Each thread closes groups of them, and then waits for all but the last groups."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


class Grouped(Enum):
    """The operations that make up groups."""

    COPIES = auto()
    BULK_COPIES = auto()
    PRODUCTS = auto()


class Started:
    """The last operations of threads or barriers, each with a time, and the times up to which they are over."""

    def __init__(self, count: int) -> None:
        self._last, self._over, self._pcs, self._lanes = (np.zeros(count, np.int64) for _ in range(4))

    def begin(self, who: NDArray[np.intp], times: Counts | int, pc: int, lanes: NDArray[np.intp]) -> None:
        """Note operations of an instruction and of threads. who: the threads or barriers that they belong to."""
        self._last[who], self._pcs[who], self._lanes[who] = times, pc, lanes

    def end(self, who: NDArray[np.intp], times: Counts | int) -> None:
        self._over[who] = np.maximum(self._over[who], times)

    def began(self, who: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether they ever had an operation."""
        some: NDArray[np.bool_] = self._last[who] > 0
        return some

    def left(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the instructions and threads of operations for which nothing waited."""
        under_way = self._last > self._over
        for pc in np.unique(self._pcs[under_way]).tolist():
            yield pc, self._lanes[under_way & (self._pcs == pc)]


class Groups:
    """For each kind and thread, the number of the group to which its next operation belongs, from 1 on."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._present: dict[Grouped, Counts] = {}
        self._started: dict[Grouped, Started] = {}

    def begin(self, kind: Grouped, lanes: NDArray[np.intp], pc: int) -> None:
        """Note that an instruction adds operations of these threads to their present groups."""
        if kind not in self._started:
            self._started[kind] = Started(self._lanes)
        self._started[kind].begin(lanes, self.present(kind)[lanes], pc, lanes)

    def end(self, kind: Grouped, lanes: NDArray[np.intp], allowed: int) -> tuple[NDArray[np.intp], Counts]:
        """Note that threads wait for all groups except the last `allowed` ones.

        return: those of the threads that ever started an operation, and the last group of each that is over
        """
        if (started := self._started.get(kind)) is None:
            return lanes[:0], np.zeros(0, np.int64)
        lanes = lanes[started.began(lanes)]
        over = self.before(kind, allowed)[lanes]
        started.end(lanes, over)
        return lanes, over

    def left(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the instructions and threads of operations for which their threads didn't wait."""
        for started in self._started.values():
            yield from started.left()

    def present(self, kind: Grouped) -> Counts:
        if kind not in self._present:
            self._present[kind] = np.ones(self._lanes, np.int64)
        return self._present[kind]

    def close(self, kind: Grouped, lanes: NDArray[np.intp]) -> None:
        """End the present group of these threads, and begin the next."""
        self.present(kind)[lanes] += 1

    def before(self, kind: Grouped, allowed: int) -> Counts:
        """The last group that is over once a thread has waited for all except the last `allowed` ones."""
        before: Counts = self.present(kind) - 1 - allowed
        return before
