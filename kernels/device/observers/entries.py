"""Accesses to suspect cells as rows of a table: one row per cell and thread, with the thread's clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.device.observers.knowledge import Moment
from kernels.device.observers.suspects import Flags
from kernels.device.state.accesses import NEVER, Access, Transfer
from kernels.device.state.machine import Machine

Entries = NDArray[np.void]
"""Rows of ENTRY."""

ENTRY = np.dtype(
    [
        ("key", np.int64),  # the cell, and in shared memory its owner
        ("event", np.int64),  # the position in the order of this run
        ("block", np.int64),
        ("interval", np.int64),  # with `time`: the thread's clock; for an asynchronous copy, at its wait
        ("time", np.int64),
        ("landed", np.int64),  # the event of that wait; -1 without one
        ("thread", np.int32),
        ("column", np.int32),
        ("when", np.int32),  # the number of all threads' clocks at that moment
        ("site", np.int32),  # the number of the instruction at this variable
        ("value", np.int64),  # for an atomic that sets a value, the value
        ("home", np.int64),  # whose clock `interval` and `time` are: the block's, or below 0 a line's of transfers
        ("shown", np.int32),  # the number of what its thread had shown to the async proxy; -1 if it needs no fence
        ("generic", np.bool_),  # whether it isn't an operation of the async proxy
    ]
)
_BYTES = np.dtype((np.void, ENTRY.itemsize))
# One integer holds the variable and the cell, so that one sort brings equal cells together.
_NAME_BITS = 44
LANE_BITS = 24


@dataclass(slots=True, eq=False)
class Noted:
    """One access. `variable` and `site` are numbers, `event` counts accesses.

    homes, times: for a transfer, `home` and `time` of each listed thread; 0 if its end isn't known yet
    shown: likewise
    """

    machine: Machine
    access: Access
    moment: Moment
    when: int
    event: int
    variable: int
    site: int
    homes: NDArray[np.int64] | None = None
    times: NDArray[np.int64] | None = None
    shown: NDArray[np.int32] | None = None
    _alike: bool | None = None

    def end_by(self, chosen: NDArray[np.bool_] | slice, transfer: Transfer, homes: NDArray[np.int64]) -> None:
        """Note what ends the operations of the chosen threads. homes: the numbers of its lines."""
        assert self.access.lanes is not None
        if self.homes is None or self.times is None:
            self.homes, self.times = (np.zeros(len(self.access.lanes), np.int64) for _ in range(2))
        self.homes[chosen], self.times[chosen] = homes, transfer.times

    @property
    def alike(self) -> bool:
        """Whether every block does the same."""
        if self._alike is None:
            self._alike = self.access.alike(self.machine.shape)
        return self._alike

    @property
    def under_way(self) -> bool:
        """Whether it is an asynchronous copy for which some of its threads have not waited."""
        flight = self.access.flight
        return flight is not None and bool(((flight.event >= NEVER) & (self.homes is None or self.homes == 0)).any())

    def lasts(self, passed: NDArray[np.int64]) -> bool:
        """Whether it may still race after the barriers that the blocks have passed."""
        return self.under_way or self.homes is not None or not (self.moment.interval < passed).all()

    def entries(self, unit: int, suspects: Flags, *, alike: bool = False) -> Entries:
        """Return the rows of the suspect cells, of `unit` bytes each. `alike`: of the first block only."""
        cells, lanes = self.access.cells(self.machine.shape, unit, alike=alike)
        at = np.arange(len(cells)) // max(1, self.access.where.size // unit)
        if alike and self.access.lanes is not None:
            first = self.access.of_first_block(self.machine.shape)
            at = first[at % max(1, len(first))]
        per_event = max(1, len(cells) // 2 if self.access.where.by_warp else len(cells))
        chosen = suspects[cells]
        cells, lanes, at = cells[chosen], lanes[chosen], at[chosen]
        columns = 1 if alike else self.machine.shape.blocks
        thread, column = np.divmod(lanes, columns)
        moment, flight = self.moment, self.access.flight
        made = np.zeros(len(cells), ENTRY)
        own = self.access.allocation.space == "shared"
        owner = column if self.access.owners is None else self.access.owners[at]
        made["key"] = (self.variable << _NAME_BITS) + (cells * columns + owner if own else cells)
        # Both entries of a warp's access are one event.
        made["event"] = (self.event << LANE_BITS) + np.flatnonzero(chosen) % per_event
        made["block"], made["thread"], made["column"] = moment.blocks[column], thread, column
        made["when"], made["site"] = self.when, self.site
        if self.access.stored is not None:
            made["value"] = self.access.stored[lanes]
        made["home"], made["shown"] = made["block"], -1
        made["generic"] = self.access.transfer is None
        if flight is None:
            made["interval"] = moment.interval[column]
            made["time"] = moment.time[thread, column % moment.time.shape[1]]
            made["landed"] = -1
        else:
            made["interval"], made["time"] = flight.interval[at], flight.time[at]
            made["landed"] = flight.event[at] << LANE_BITS
        if self.homes is not None and self.times is not None:
            ends = self.homes[at] < 0
            made["home"][ends], made["time"][ends] = self.homes[at][ends], self.times[at][ends]
            made["landed"][ends], made["interval"][ends] = NEVER << LANE_BITS, 0
            if self.shown is not None:
                made["shown"] = self.shown[at]
        return made


def in_order(parts: Sequence[Entries]) -> Entries:
    """Join entries, and sort them by cell, then by event."""
    # numpy copies rows as plain bytes much faster than field by field, as indexing does
    entries = np.concatenate([part.view(_BYTES) for part in parts]).view(ENTRY)
    return entries.take(np.lexsort((entries["event"], entries["key"])))


def owner_of(key: int, columns: int) -> int:
    """Return the column of the block that owns a cell in shared memory."""
    return (key & ((1 << _NAME_BITS) - 1)) % columns


def cell_of(key: int, columns: int, *, shared: bool) -> int:
    rest = key & ((1 << _NAME_BITS) - 1)
    return rest // columns if shared else rest


def with_column(keys: NDArray[np.int64], columns: int, column: int) -> NDArray[np.int64]:
    """Return keys of shared cells for one of several blocks, from those of the first block alone."""
    cells = keys & (1 << _NAME_BITS) - 1
    made: NDArray[np.int64] = keys - cells + cells * columns + column
    return made
