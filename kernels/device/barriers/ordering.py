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


class Ordering:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._shape = machine.shape.threads, machine.shape.blocks
        self._seen: dict[Hashable, Counts] = {}
        self._brought: dict[Hashable, dict[Hashable, Counts]] = {}

    def seen(self, barrier: Hashable) -> Counts:
        """Return how many uses of a barrier each thread knows to be over."""
        if barrier not in self._seen:
            self._seen[barrier] = np.zeros(self._shape, np.int64)
        return self._seen[barrier]

    def forget(self, barrier: Hashable) -> None:
        """Stop to follow what threads know about a barrier."""
        for known in (self._seen, *self._brought.values()):
            known.pop(barrier, None)

    def barrier(self, blocks: Grid | None) -> None:
        """Order all threads of the given blocks (None: of all) that have not exited."""
        self._machine.races.barrier(blocks)
        chosen = slice(None) if blocks is None else blocks
        for known in self._seen.values():
            known[:, chosen] = known[:, chosen].max(axis=0)

    def met(self, groups: Groups) -> None:
        """Order threads of a block that met: all threads with the same number; -1 takes no part."""
        self._machine.races.met(groups)
        if not self._seen:
            return
        grid = np.broadcast_to(groups, self._shape)
        part = grid >= 0
        keys = np.unique(grid[part], return_inverse=True)[1].reshape(-1) * self._shape[1] + np.nonzero(part)[1]
        for known in self._seen.values():
            most = np.zeros(int(keys.max(initial=0)) + 1, known.dtype)
            np.maximum.at(most, keys, known[part])
            known[part] = most[keys]

    def arrive(self, key: Hashable, part: Grid, shift: int = 0, *, releases: bool = True) -> None:
        """Note that threads arrived at the object `key` of the block `shift` columns after their own.

        releases: whether that orders what they did
        """
        self._machine.races.arrive(key, self._machine.mask(part), shift, releases=releases)
        self.bring(key, part, shift)

    def bring(self, key: Hashable, part: Grid, shift: int = 0) -> None:
        """Let threads that wait for an object learn which uses of barriers are over, from these threads."""
        brought = self._brought.setdefault(key, {})
        for barrier, known in self._seen.items():
            most = np.roll(np.where(part, known, 0).max(axis=0), shift)
            brought[barrier] = np.maximum(brought.get(barrier, 0), most)

    def wait(self, key: Hashable, part: Grid, shift: int = 0, *, acquires: bool = True) -> None:
        """Note that threads know the object `key` of a block, as for `arrive`, to be complete.

        acquires: whether that orders what they do next
        """
        self._machine.races.wait(key, self._machine.mask(part), shift, acquires=acquires)
        for barrier, most in self._brought.get(key, {}).items():
            known = self.seen(barrier)
            np.maximum(known, np.roll(most, -shift), out=known, where=part)
