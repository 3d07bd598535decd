"""Accesses to the shared memory of other blocks, which must have started and must not have returned.

A block's shared memory exists from its start to its end. So an access by a thread of another block must come after
something that the block did, and before one of the block's threads returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.device.observers.clocks import Clocks
from kernels.device.observers.conflicts import Order
from kernels.device.observers.entries import ENTRY, Entries, Noted
from kernels.device.observers.knowledge import Knowledge
from kernels.device.state.accesses import Access, Kind
from kernels.device.state.element_names import element_name
from kernels.device.state.machine import EXIT, Machine
from kernels.device.state.mask import Mask
from kernels.facts import Element

_MOST_ROWS = 200_000


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

    Of each thread's accesses by one instruction to one block's memory, the last is enough.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._rows = np.zeros(0, ENTRY)
        self._noted: list[Noted] = []
        self._exited = np.zeros(machine.shape.blocks, np.int64)

    def exited(self, mask: Mask | None) -> None:
        self._exited += self._machine.shape.threads if mask is None else mask.array.sum(axis=0)

    def record(self, noted: Noted, knowledge: Knowledge) -> Outlived | None:
        """Note an access. Return it if a block whose memory it uses may not have started."""
        access = noted.access
        assert access.owners is not None
        assert access.lanes is not None
        thread, column = np.divmod(access.lanes, self._machine.shape.blocks)
        remote = np.flatnonzero(access.owners != column)
        if not len(remote):
            return None
        self._keep(noted, remote, thread, column)
        owners, others = access.owners[remote], noted.moment.others
        numbers = np.zeros(len(remote), np.int64) if others is None else others[thread[remote], column[remote]]
        blocks = self._machine.geometry.numbers
        early = np.zeros(len(remote), np.bool_)
        for number, owner in np.unique(np.stack((numbers, owners), axis=1), axis=0).tolist():
            if int(blocks[owner]) not in knowledge.of(number):
                early |= (numbers == number) & (owners == owner)
        at = remote[early]
        return self._outlived(access, int(at[0]), len(at), begun=False) if len(at) else None

    def _keep(self, noted: Noted, remote: NDArray[np.intp], thread: NDArray[np.intp], column: NDArray[np.intp]) -> None:
        access, moment = noted.access, noted.moment
        assert access.owners is not None
        rows = np.zeros(len(remote), ENTRY)
        rows["key"], rows["site"], rows["event"] = access.owners[remote], noted.site, len(self._noted)
        rows["value"], rows["thread"], rows["column"] = remote, thread[remote], column[remote]
        if access.transfer is not None and noted.homes is not None:
            rows["home"], rows["time"] = noted.homes[remote], access.transfer.times[remote]
        else:
            rows["home"] = moment.blocks[column[remote]]
            rows["interval"] = moment.interval[column[remote]]
            rows["time"] = moment.time[thread[remote], column[remote] % moment.time.shape[1]]
        self._noted.append(noted)
        self._rows = np.concatenate((self._rows, rows))
        if len(self._rows) > _MOST_ROWS:
            self._rows = _latest(self._rows)

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
        rows = _latest(self._rows)
        for owner in np.unique(rows["key"]).tolist():
            # A block that a mistake stopped didn't return.
            if self._exited[owner] < self._machine.shape.threads:
                continue
            own = rows[rows["key"] == owner]
            known = np.full(len(own), clocks.left_at(EXIT, owner), np.int32)
            late = own[~order.covered(known, own)]
            for site in np.unique(late["site"]).tolist():
                there = late[late["site"] == site]
                access = self._noted[int(there[0]["event"])].access
                yield access.where.pc, self._outlived(access, int(there[0]["value"]), len(there), begun=True)


def _latest(rows: Entries) -> Entries:
    """Return the last row of each thread, instruction and block."""
    order = np.lexsort((rows["time"], rows["interval"], rows["key"], rows["site"], rows["thread"], rows["home"]))
    ordered = rows.take(order)
    last = np.ones(len(rows), np.bool_)
    same = [ordered[name][1:] == ordered[name][:-1] for name in ("key", "site", "thread", "home")]
    last[:-1] = ~np.logical_and.reduce(same)
    return ordered.compress(last)
