"""What the search for data races is told of an access: which threads touched which bytes, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum

import numpy as np
from numpy.typing import NDArray

from kernels.device.state.mask import Mask
from kernels.device.state.space import Allocation, Shape
from kernels.device.state.values import Lanes

Cells = NDArray[np.int64]
Numbers = NDArray[np.int64]


class Kind(Enum):
    """What an access does."""

    READ = "reads"
    WRITE = "writes"
    UPDATE = "atomically updates"
    COPY = "copies asynchronously to"

    @property
    def writes(self) -> bool:
        return self is not Kind.READ


class Strength(IntEnum):
    """How strong an access is: plain, volatile, or atomic for the threads of a block or of the device."""

    PLAIN = 0
    VOLATILE = 1
    BLOCK = 2
    DEVICE = 3

    @property
    def atomic(self) -> bool:
        """Whether accesses of this strength do not race with each other, their scope permitting."""
        return self >= Strength.BLOCK


@dataclass(frozen=True, slots=True)
class Where:
    """An instruction that touches memory: its number, what it does, and the bytes that each thread touches."""

    pc: int
    kind: Kind
    size: int
    strength: Strength = Strength.PLAIN


@dataclass(slots=True, eq=False)
class Access:
    """What one instruction touched in one go.

    words, shift: the word of each thread, `words + shift`; `words` None where it is the same for all
    offsets, lanes: instead of words, byte offsets and the numbers of the threads they belong to
    flight: of an asynchronous copy, when each of the listed threads waited for it
    failed: of a compare-and-swap, the listed threads that wrote nothing
    """

    where: Where
    allocation: Allocation
    mask: Mask | None = None
    words: Lanes | None = None
    shift: int = 0
    offsets: NDArray[np.int64] | None = None
    lanes: NDArray[np.intp] | None = None
    flight: Flight | None = None
    failed: NDArray[np.bool_] | None = None
    _key: tuple[object, ...] | None = field(default=None, repr=False)

    @property
    def strength(self) -> Strength:
        """How strong it is for all threads that can reach the memory: of shared memory, those of one block."""
        strength = self.where.strength
        return Strength.DEVICE if strength.atomic and self.allocation.space == "shared" else strength

    @property
    def alike(self) -> bool:
        same = self.words is None or self.words.array.shape[1] == 1
        return same and self.mask is None and self.offsets is None

    def key(self) -> tuple[object, ...]:
        """Equal keys: the same threads touch the same bytes by the same instruction."""
        if self._key is None:
            self._key = self._make_key()
        return self._key

    def _make_key(self) -> tuple[object, ...]:
        pc, name = self.where.pc, self.allocation.name
        if self.offsets is not None and self.lanes is not None:
            return (pc, name, hash(self.offsets.tobytes()), hash(self.lanes.tobytes()))
        words = None if self.words is None else self.words.digest
        return (pc, name, words, self.shift, self.mask and self.mask.digest)

    def cells(self, shape: Shape, unit: int, *, alike: bool = False) -> tuple[Cells, Numbers]:
        """Pairs of a cell and a thread's number (lane) that touches it; a cell has `unit` bytes.

        alike: for the first block only, which stands for all
        """
        columns = 1 if alike else shape.blocks
        pieces = max(1, self.where.size // unit)
        if self.offsets is not None and self.lanes is not None:
            starts, lanes = self.offsets // unit, self.lanes.astype(np.int64)
        else:
            if alike or self.mask is None:
                lanes = np.arange(shape.threads * columns, dtype=np.int64)
            else:
                lanes = self.mask.flat.astype(np.int64)
            words = np.zeros((1, 1), np.int64) if self.words is None else self.words.array
            whole = np.broadcast_to(words, (shape.threads, columns)).reshape(-1)
            starts = (whole[lanes].astype(np.int64) + self.shift) * (4 // unit)
        if pieces == 1:
            return starts, lanes
        cells = (starts[:, np.newaxis] + np.arange(pieces)).reshape(-1)
        return cells, np.repeat(lanes, pieces)


NEVER = np.int64(1) << 38


@dataclass(slots=True, eq=False)
class Flight:
    """When the threads of an asynchronous copy waited for it: interval, time and event of each; NEVER before that."""

    interval: Numbers
    time: Numbers
    event: Numbers

    @staticmethod
    def begun(threads: int) -> Flight:
        """A copy that no thread has waited for."""
        return Flight(*(np.full(threads, NEVER) for _ in range(3)))


@dataclass(frozen=True, slots=True)
class Part:
    """The threads `lanes` touch one variable at byte `offsets`."""

    allocation: Allocation
    offsets: NDArray[np.int64]
    lanes: NDArray[np.intp]


@dataclass(slots=True)
class PendingCopy:
    """An asynchronous copy under way.

    groups: for each thread the number of the group that its copy will belong to
    access: how the search for data races is told of it
    waits: for each thread whether it has yet to wait
    """

    part: Part
    data: NDArray[np.uint8]
    valid: NDArray[np.bool_]
    groups: NDArray[np.int64]
    access: Access
    waits: NDArray[np.bool_]
