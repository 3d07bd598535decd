"""Accesses as the search for data races sees them: which threads access which bytes, and how."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.state.mask import Mask
from kernels.device.state.space import Allocation, Shape
from kernels.device.state.values import Lanes

Cells = NDArray[np.int64]
Chosen = NDArray[np.intp] | NDArray[np.bool_] | slice
Numbers = NDArray[np.int64]


class Kind(Enum):
    READ = "reads"
    WRITE = "writes"
    UPDATE = "atomically updates"
    COPY = "copies asynchronously to"

    @property
    def writes(self) -> bool:
        return self is not Kind.READ


class Strength(IntEnum):
    """The strength of an access: plain, volatile, or atomic for the threads of a block, a cluster or the device."""

    PLAIN = 0
    VOLATILE = 1
    BLOCK = 2
    CLUSTER = 3
    DEVICE = 4

    @property
    def atomic(self) -> bool:
        """Whether accesses of this strength don't race with each other, if their scope permits."""
        return self >= Strength.BLOCK


STORE = "store"
"""The change of an atomic that sets a value. Two such atomics commute if their values are equal."""

OLD = "old"
"""The change of an atomic whose old value is used. It doesn't commute even with itself."""

BLIND = "blind"
"""The change of an atomic whose old value isn't used, but that doesn't commute even with itself."""

BEGIN = "begin"
"""The change that makes a barrier in shared memory, for which there is a fence of its own."""

HALF_FENCE = "half of a fence"
"""A proxy that stands for what threads released to the async proxy, until a later thread acquires it."""

NEVER_COMMUTES = frozenset({OLD, BLIND})


@dataclass(frozen=True, slots=True)
class Where:
    """An instruction that accesses memory: its number, its kind, and the bytes per thread.

    change: how an atomic changes memory. Only changes of one name commute: "add.u4" with another "add.u4"
    by_warp: whether all threads of a warp make it together, so that none of them makes it alone
    """

    pc: int
    kind: Kind
    size: int
    strength: Strength = Strength.PLAIN
    change: str = ""
    by_warp: bool = False

    @property
    def stores(self) -> bool:
        """Whether it is an atomic that sets a value, whatever was there."""
        return self.change == STORE

    @property
    def looks(self) -> bool:
        """Whether it is a read, or an atomic whose old value counts. Others can't know which changes came before."""
        return self.kind is Kind.READ or self.change == OLD


@dataclass(slots=True, eq=False)
class Access:
    """One execution of an instruction that accesses memory.

    words, shift: the word of each thread, `words + shift`; `words` is None if all use the same word
    offsets: instead of words, byte offsets
    lanes: the threads of these offsets
    owners: the columns of the blocks whose copies they access; None for their own blocks
    flight: for an asynchronous copy, when each of the listed threads waited for it
    transfer: for an operation of the async proxy, what ends it
    failed: for a compare-and-swap, the listed threads that wrote nothing
    stored: for an atomic that sets a value, the value by the number of the thread
    """

    where: Where
    allocation: Allocation
    mask: Mask | None = None
    words: Lanes | None = None
    shift: int = 0
    offsets: NDArray[np.int64] | None = None
    lanes: NDArray[np.intp] | None = None
    owners: NDArray[np.intp] | None = None
    flight: Flight | None = None
    transfer: Transfer | None = None
    failed: NDArray[np.bool_] | None = None
    stored: NDArray[np.int64] | None = None
    _key: tuple[object, ...] | None = field(default=None, repr=False)

    @property
    def strength(self) -> Strength:
        """Return its strength. DEVICE also means that its scope has all threads that can access the memory."""
        strength, allocation = self.where.strength, self.allocation
        if strength.atomic and allocation.space == "shared":
            return Strength.DEVICE if strength >= Strength.CLUSTER or not allocation.clustered else strength
        return strength

    def alike(self, shape: Shape) -> bool:
        """Whether the same threads of every block access the same bytes of their copy."""
        if self.stored is not None or self.owners is not None:
            return False
        if self.offsets is not None and self.lanes is not None:
            if len(self.lanes) % shape.blocks:
                return False
            offsets, threads = self.offsets.reshape(-1, shape.blocks), self.lanes.reshape(-1, shape.blocks)
            whole = (threads % shape.blocks == np.arange(shape.blocks)) & (
                threads // shape.blocks == threads[:, :1] // shape.blocks
            )
            return bool(whole.all() and (offsets == offsets[:, :1]).all())
        words = self.words
        same = words is None or words.array.shape[1] == 1 or words.derive("alike", lambda: _alike(words.array))
        return bool(same) and (self.mask is None or self.mask.alike)

    def in_pieces(self, size: int) -> bool:
        """Whether it accesses whole pieces of so many bytes, from a multiple of them on."""
        if self.where.size % size:
            return False
        if self.offsets is not None:
            return not (self.offsets % size).any()
        words = self.shift if self.words is None else self.words.array + self.shift
        return not np.any(words * 4 % size)

    def of_first_block(self, shape: Shape) -> NDArray[np.intp]:
        """Return which of the listed threads are of the first block."""
        assert self.lanes is not None
        return np.flatnonzero(self.lanes % shape.blocks == 0)

    def key(self) -> tuple[object, ...]:
        """A key, equal for accesses in which the same threads access the same bytes with the same instruction."""
        if self._key is None:
            self._key = self._make_key()
        return self._key

    def _make_key(self) -> tuple[object, ...]:
        pc, name = self.where.pc, self.allocation.name
        if self.stored is not None:
            name = f"{name} {hash(self.stored.tobytes())}"
        if self.offsets is not None and self.lanes is not None:
            owners = None if self.owners is None else hash(self.owners.tobytes())
            return (pc, name, hash(self.offsets.tobytes()), hash(self.lanes.tobytes()), owners)
        words = None if self.words is None else self.words.digest
        return (pc, name, words, self.shift, self.mask and self.mask.digest)

    def cells(self, shape: Shape, unit: int, *, alike: bool = False) -> tuple[Cells, Numbers]:
        """Return pairs of a cell and the number (lane) of a thread that accesses it. A cell has `unit` bytes.

        An access of a whole warp has all pairs twice, the second time with another thread: order for both threads is
        order for the warp, because no other access can be of both.

        alike: for the first block only, which represents all
        """
        columns = 1 if alike else shape.blocks
        pieces = max(1, self.where.size // unit)
        if self.offsets is not None and self.lanes is not None:
            starts, lanes = self.offsets // unit, self.lanes.astype(np.int64)
            if alike:
                chosen = self.of_first_block(shape)
                starts, lanes = starts[chosen], lanes[chosen] // shape.blocks
        else:
            if self.mask is None:
                lanes = np.arange(shape.threads * columns, dtype=np.int64)
            else:
                lanes = (np.flatnonzero(self.mask.array[:, 0]) if alike else self.mask.flat).astype(np.int64)
            words = np.zeros((1, 1), np.int64) if self.words is None else self.words.array[:, :columns]
            whole = np.broadcast_to(words, (shape.threads, columns)).reshape(-1)
            starts = (whole[lanes].astype(np.int64) + self.shift) * 4 // unit
        if pieces > 1:
            starts = (starts[:, np.newaxis] + np.arange(pieces)).reshape(-1)
            lanes = np.repeat(lanes, pieces)
        if self.where.by_warp:
            others = (lanes // columns ^ 1) * columns + lanes % columns
            starts, lanes = np.tile(starts, 2), np.concatenate((lanes, others))
        return starts, lanes

    def columns(self, lanes: Numbers, shape: Shape, unit: int) -> Numbers:
        """Return the column of each copy's block, for the threads that `cells` returns; 0 for global memory."""
        if self.allocation.space != "shared":
            return np.zeros_like(lanes)
        if self.owners is None:
            return lanes % shape.blocks
        return np.repeat(self.owners.astype(np.int64), max(1, self.where.size // unit))


def _alike(array: NDArray[Any]) -> bool:
    return bool((array == array[:, :1]).all())


NEVER = np.int64(1) << 38


@dataclass(slots=True, eq=False)
class Flight:
    """When the threads of an asynchronous copy waited for it: interval, time and event. NEVER: not yet."""

    interval: Numbers
    time: Numbers
    event: Numbers

    @staticmethod
    def begun(threads: int) -> Flight:
        """Return the flight of a copy for which no thread has waited."""
        return Flight(*(np.full(threads, NEVER) for _ in range(3)))


@dataclass(frozen=True, slots=True, eq=False)
class Transfer:
    """What ends an operation of the async proxy, such as a bulk copy. Its thread goes on meanwhile.

    line: of operations that end one after the other: those of a barrier in shared memory, or of each thread's groups
    times: for each listed thread, the place in this line, from 1 on
    proxy: whether it needs a fence to see what threads wrote before
    """

    line: Hashable
    times: Numbers
    proxy: bool = True


@dataclass(frozen=True, slots=True)
class Part:
    """Threads `lanes` that access one variable at byte `offsets`.

    owners: the columns of the blocks whose shared memory they access; None for their own blocks
    """

    allocation: Allocation
    offsets: NDArray[np.int64]
    lanes: NDArray[np.intp]
    owners: NDArray[np.intp] | None = None

    def some(self, chosen: Chosen) -> Part:
        """Return the part of some threads, by their places in the list."""
        owners = None if self.owners is None else self.owners[chosen]
        return Part(self.allocation, self.offsets[chosen], self.lanes[chosen], owners)

    def copies(self, shape: Shape) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the thread and the block of each copy that is accessed."""
        thread, column = np.divmod(self.lanes, shape.blocks)
        return thread, column if self.owners is None else self.owners


@dataclass(slots=True)
class PendingCopy:
    """An asynchronous copy under way.

    groups: for each thread, the number of the group to which its copy will belong
    access: the access for the search for data races
    waits: for each thread, whether it still has to wait
    """

    part: Part
    data: NDArray[np.uint8]
    valid: NDArray[np.bool_]
    groups: NDArray[np.int64]
    access: Access
    waits: NDArray[np.bool_]


@dataclass(slots=True)
class Handed:
    """The last copies of each thread for which a barrier in shared memory waits: their groups, and when they end.

    times: as in `Transfer`; 0 without such a copy
    """

    groups: NDArray[np.int64]
    times: NDArray[np.int64]

    @staticmethod
    def none(lanes: int) -> Handed:
        return Handed(np.zeros(lanes, np.int64), np.zeros(lanes, np.int64))
