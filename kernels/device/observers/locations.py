"""The places in memory at which atomics release what their threads know."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from kernels.device.state.accesses import Access
from kernels.device.state.machine import Machine

Location = dict[Hashable, int]
"""A number of knowledge for each scope: a block, below 0 a cluster, or None for all blocks.

With a proxy: what was shown to it.
"""
Table = dict[tuple[int, int], Location]
"""The locations of a variable by byte offset, and in shared memory also by the column of its block."""


class Locations:
    """The locations of one launch. Locations in shared memory end with their chunk of blocks."""

    def __init__(self) -> None:
        self._shared: dict[str, Table] = {}
        self._global: dict[str, Table] = {}

    def start(self) -> None:
        self._shared.clear()

    def of(self, access: Access) -> Table:
        tables = self._shared if access.allocation.space == "shared" else self._global
        return tables.setdefault(access.allocation.name, {})

    def overwrite(self, machine: Machine, access: Access, unit: int) -> None:
        """End what was released at the locations that a plain store overwrites."""
        there = self.of(access)
        if there:
            cells, lanes = access.cells(machine.shape, unit)
            columns = access.columns(lanes, machine.shape, unit)
            written = set(zip((cells * unit // 4).tolist(), columns.tolist(), strict=True))
            for offset, column in list(there):
                if (offset // 4, column) in written:
                    del there[offset, column]


def offsets_of(
    machine: Machine, access: Access, unit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the offset, the thread and the block's column of each thread's place."""
    cells, lanes = access.cells(machine.shape, unit)
    pieces = max(1, access.where.size // unit)
    return cells[::pieces] * unit, lanes[::pieces], access.columns(lanes, machine.shape, unit)[::pieces]
