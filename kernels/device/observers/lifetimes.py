"""Accesses to the shared memory of other blocks, which must have started and must not have returned.

A block's shared memory exists from its start to its end. So an access by a thread of another block must come after
something that the block did, and before one of the block's threads returns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.device.observers.clocks import Clocks
from kernels.device.observers.conflicts import Order
from kernels.device.observers.entries import ENTRY, Entries, Noted
from kernels.device.observers.knowledge import Knowledge, Moment
from kernels.device.state.accesses import Access, Kind
from kernels.device.state.element_names import element_name
from kernels.device.state.machine import EXIT, Machine
from kernels.device.state.mask import Mask
from kernels.facts import Element

_WORD = 4


@dataclass(frozen=True, slots=True)
class Outlived:
    """Accesses by one instruction that a block's memory may not live long enough for, or not yet.

    block, thread: of the first of them; owner: the block whose memory it is; all by number
    begun: whether the owner has certainly started; then it may have returned
    """

    kind: Kind
    block: int
    thread: int
    owner: int
    element: Element
    count: int
    begun: bool


class Lifetimes:
    """The accesses of one chunk of blocks to each other's shared memory.

    Of equal accesses by the same threads, the last is enough: if it comes before the end, all of them do.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._noted: dict[Hashable, Noted] = {}
        self._looked: dict[tuple[str, int, int], int] = {}
        self._exited = np.zeros(machine.shape.blocks, np.int64)
        self._moment: Moment | None = None
        self._begun: set[Hashable] = set()

    def exited(self, mask: Mask | None) -> None:
        self._exited += self._machine.shape.threads if mask is None else mask.array.sum(axis=0)

    def looked(self, access: Access, event: int) -> None:
        """Note that threads see what other threads' atomics left in their own block's shared memory."""
        shape = self._machine.shape
        cells, lanes = access.cells(shape, _WORD)
        columns = access.columns(lanes, shape, _WORD)
        own = columns == lanes % shape.blocks
        for cell, column in set(zip(cells[own].tolist(), columns[own].tolist(), strict=True)):
            self._looked[access.allocation.name, cell, column] = event

    def record(self, noted: Noted, knowledge: Knowledge) -> Outlived | None:
        """Note an access. Return it if a block whose memory it uses may not have started."""
        access, moment = noted.access, noted.moment
        _, _, offsets, lanes, owners = access.key()
        line = None if access.transfer is None else access.transfer.line
        # An atomic may be known to be over because its value was seen, which depends on the place.
        self._noted[noted.site, line, lanes, owners, offsets if access.where.strength.atomic else None] = noted
        if moment is not self._moment:
            self._moment = moment
            self._begun.clear()
        if (lanes, owners) in self._begun:
            return None
        self._begun.add((lanes, owners))
        at = self._early(noted, knowledge)
        return self._outlived(access, int(at[0]), len(at), begun=False) if len(at) else None

    def _early(self, noted: Noted, knowledge: Knowledge) -> NDArray[np.intp]:
        """Return the places in the access's list of threads that don't know that the memory's block has started."""
        thread, column, owners, remote = self._places(noted.access)
        others, columns = noted.moment.others, self._machine.shape.blocks
        numbers = np.zeros(len(remote), np.int64) if others is None else others[thread, column].astype(np.int64)
        pairs = numbers * columns + owners
        blocks = self._machine.geometry.numbers
        unknown = [
            pair
            for pair in np.unique(pairs).tolist()
            if int(blocks[pair % columns]) not in knowledge.of(pair // columns)
        ]
        early: NDArray[np.intp] = remote[np.isin(pairs, unknown) & (owners != column)]
        return early

    def _places(self, access: Access) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Return thread, column, owner and place in the list of accesses to other blocks' memory.

        A copy to another block ends there. So what it reads in its own block may outlast this block, too.
        """
        assert access.owners is not None
        assert access.lanes is not None
        thread, column = np.divmod(access.lanes, self._machine.shape.blocks)
        sent = access.transfer is not None and access.where.kind is Kind.READ
        remote = np.flatnonzero((access.owners != column) | sent)
        return thread[remote], column[remote], access.owners[remote], remote

    def _rows(self, noted: Noted) -> tuple[Entries, NDArray[np.intp]]:
        """Return the accesses to other blocks' memory as rows, keyed by owner, and their places."""
        access, moment = noted.access, noted.moment
        thread, column, owners, remote = self._places(access)
        rows = np.zeros(len(remote), ENTRY)
        rows["key"], rows["thread"] = owners, thread
        if noted.homes is not None and noted.times is not None:
            rows["home"], rows["time"] = noted.homes[remote], noted.times[remote]
        else:
            rows["home"], rows["interval"] = moment.blocks[column], moment.interval[column]
            rows["time"] = moment.time[thread, column % moment.time.shape[1]]
        return rows, remote

    def _outlived(self, access: Access, at: int, count: int, *, begun: bool) -> Outlived:
        """Describe an access by the thread with a place in the access's list."""
        assert access.owners is not None
        assert access.lanes is not None
        assert access.offsets is not None
        blocks = self._machine.geometry.numbers
        thread, column = divmod(int(access.lanes[at]), self._machine.shape.blocks)
        element = element_name(access.allocation, int(access.offsets[at]))
        owner = int(blocks[access.owners[at]])
        return Outlived(access.where.kind, int(blocks[column]), thread, owner, element, count, begun)

    def finish(self, clocks: Clocks, order: Order) -> Iterator[tuple[int, Outlived]]:
        """Yield accesses to the memory of blocks that may have returned, each with its instruction."""
        # A block that a mistake stopped didn't return.
        returned = self._exited >= self._machine.shape.threads
        last = np.array([clocks.left_at(EXIT, column) for column in range(len(returned))], np.int32)
        for noted in self._noted.values():
            rows, at = self._rows(noted)
            owners = rows["key"]
            late = returned[owners] & ~order.covered(last[owners], rows)
            if late.any() and noted.access.where.change:
                late &= ~self._seen(noted, at, owners)
            if late.any():
                yield noted.access.where.pc, self._outlived(noted.access, int(at[late][0]), int(late.sum()), begun=True)

    def _seen(self, noted: Noted, at: NDArray[np.intp], owners: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the block has seen the atomics, or later ones at their places."""
        assert noted.access.offsets is not None
        cells = (noted.access.offsets[at] // _WORD).tolist()
        name, found = noted.access.allocation.name, zip(cells, owners.tolist(), strict=True)
        return np.array([self._looked.get((name, cell, owner), -1) > noted.event for cell, owner in found], np.bool_)
