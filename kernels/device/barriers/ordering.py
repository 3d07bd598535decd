"""The order that barriers make between threads. The race detection gets it, and barriers keep what they need.

A barrier may be used again only by threads that know its last use to be over. Otherwise chance decides for which use
they count. `seen` holds, for each barrier and thread, how many uses the thread knows to be over. It may know this
through other threads.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from kernels.device.state.machine import Machine

Grid = NDArray[np.bool_]
Counts = NDArray[np.int64]
Groups = NDArray[np.int64]
_FEW = 8


class Ordering:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._shape = machine.shape.threads, machine.shape.blocks
        self._numbers: dict[Hashable, int] = {}
        self._unused: list[int] = []
        self._room = np.zeros((0, *self._shape), np.int64)
        self._brought: dict[Hashable, Counts] = {}

    def seen(self, barrier: Hashable) -> Counts:
        """Return how many uses of a barrier each thread knows to be over. Change it at once, or not at all."""
        if barrier not in self._numbers:
            rows = len(self._numbers)
            self._numbers[barrier] = self._unused.pop() if self._unused else rows
            if rows == len(self._room):
                more = np.zeros((max(_FEW, rows), *self._shape), np.int64)
                self._room = np.concatenate((self._room, more))
        found: Counts = self._room[self._numbers[barrier]]
        return found

    @property
    def _seen(self) -> Counts:
        """The same for all barriers."""
        return self._room[: len(self._numbers) + len(self._unused)]

    def forget(self, barrier: Hashable) -> None:
        """Stop to follow what threads know about a barrier."""
        if barrier in self._numbers:
            number = self._numbers.pop(barrier)
            self._unused.append(number)
            for known in (self._room, *self._brought.values()):
                known[number : number + 1] = 0

    def barrier(self, blocks: Grid | None) -> None:
        """Order all threads of the given blocks (None: of all) that have not exited."""
        self._machine.races.barrier(blocks)
        if not self._numbers:
            return
        chosen = slice(None) if blocks is None else blocks
        known = self._seen
        known[:, :, chosen] = known[:, :, chosen].max(axis=1, keepdims=True)

    def met(self, groups: Groups) -> None:
        """Order threads of a block that met: all threads with the same number; -1 takes no part."""
        self._machine.races.met(groups)
        if not self._numbers:
            return
        grid = np.broadcast_to(groups, self._shape)
        threads, blocks = np.nonzero(grid >= 0)
        numbers = np.unique(grid[threads, blocks], return_inverse=True)[1].reshape(-1)
        order = np.lexsort((blocks, numbers))
        threads, blocks, numbers = threads[order], blocks[order], numbers[order]
        begins = np.r_[True, (np.diff(numbers) != 0) | (np.diff(blocks) != 0)]
        known = self._seen
        if len(threads):
            most = np.maximum.reduceat(known[:, threads, blocks], np.flatnonzero(begins), axis=1)
            known[:, threads, blocks] = most[:, np.cumsum(begins) - 1]

    def arrive(self, key: Hashable, part: Grid, shift: int = 0, *, releases: bool = True) -> None:
        """Note that threads arrived at the object `key` of the block `shift` columns after their own.

        releases: whether that orders what they did
        """
        self._machine.races.arrive(key, self._machine.mask(part), shift, releases=releases)
        self.bring(key, part, shift)

    def bring(self, key: Hashable, part: Grid, shift: int = 0) -> None:
        """Let threads that wait for an object learn which uses of barriers are over, from these threads."""
        blocks, threads = np.nonzero(part.T)
        if not len(threads):
            return
        first = np.flatnonzero(np.r_[True, np.diff(blocks) != 0])
        most = np.maximum.reduceat(self._seen[:, threads, blocks], first, axis=1)
        brought = np.zeros((len(most), self._shape[1]), np.int64)
        if (before := self._brought.get(key)) is not None:
            brought[: len(before)] = before
        columns = (blocks[first] + shift) % self._shape[1]
        brought[:, columns] = np.maximum(brought[:, columns], most)
        self._brought[key] = brought

    def wait(self, key: Hashable, part: Grid, shift: int = 0, *, acquires: bool = True) -> None:
        """Note that threads know the object `key` of a block, as for `arrive`, to be complete.

        acquires: whether that orders what they do next
        """
        self._machine.races.wait(key, self._machine.mask(part), shift, acquires=acquires)
        if (most := self._brought.get(key)) is not None:
            threads, blocks = np.nonzero(part)
            known = self._seen[: len(most)]
            come = most[:, (blocks + shift) % self._shape[1]]
            known[:, threads, blocks] = np.maximum(known[:, threads, blocks], come)
