"""Memory as the kernel sees it: each variable has its own address window, stored as 32-bit words.

Windows are far apart, so an access past the end of one never hits another. Every access outside its window is out of
bounds, whatever is next to it on real hardware.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kernels.device.ptx.pointers import GENERIC_SHIFT
from kernels.device.state.mask import Mask
from kernels.device.state.values import Array, Lanes
from kernels.exercise.tensor_map import TensorMap

SHARED_BASE = 1 << GENERIC_SHIFT
LOCAL_BASE = 2 << GENERIC_SHIFT
_FIRST_GLOBAL = 8
_SHARED_SHIFT = 20
_DESCRIBED = 1 << 18
"""Descriptors of matrices hold so much of a shared address."""
_LOCAL_SHIFT = 24
CLUSTER = "cluster"
"""The space of accesses to the shared memory of any block of a cluster."""
_RANK_SHIFT = 27
_MOST_RANK = 14
"""Larger ranks than a cluster can have become this one, so that 32 bits are enough."""
_POISON = 0x7FFF_DEAD
WRITTEN = 0b1111

Words = NDArray[np.uint32]
Index = NDArray[np.intp]
Addresses = TypeVar("Addresses", int, NDArray[np.int64])


@dataclass(frozen=True, slots=True)
class Shape:
    """The threads of a block, and the blocks that run side by side."""

    threads: int
    blocks: int

    @property
    def lanes(self) -> int:
        return self.threads * self.blocks


class Allocation:
    """One variable's memory.

    copies: the number of copies of each word: 1 (global), one per block (shared), one per thread (local)
    valid: for each word and copy, a bit for each written byte; None if everything is initialised
    writers: the instructions that wrote to it, for global memory
    followed: whether its accesses are watched for data races (global memory: only if the kernel writes to it)
    seen: whether it was read unwatched
    missed: whether the kernel wrote to it after such a read
    clustered: whether the threads of several blocks can access one copy: shared memory in clusters
    origins: for local memory, the origins of unset values stored in it; made with the first one
    tensor: for the memory of a tensor map, the tensor
    """

    __slots__ = ("_own", "_stride", "clustered", "columns", "copies", "element", "flat", "flat_valid", "followed",
                 "missed", "name", "origins", "seen", "shape", "size", "space", "start", "tensor", "valid", "words",
                 "writable",
                 "writers")  # fmt: skip

    def __init__(
        self,
        name: str,
        space: str,
        start: int,
        size: int,
        copies: tuple[int, ...],
        *,
        initialised: bool,
        words: Words | None = None,
    ) -> None:
        self.name = name
        self.space = space
        self.start = start
        self.size = size
        self.copies = copies
        self._stride = prod(copies)
        self._own = np.arange(self._stride, dtype=np.intp).reshape(copies if len(copies) == 2 else (1, -1))
        if words is None:
            words = np.full(((size + 3) // 4, *copies), 0 if initialised else _POISON, np.uint32)
        self.words = words
        self.valid: NDArray[np.uint8] | None = None if initialised else np.zeros(self.words.shape, np.uint8)
        self.flat = self.words.reshape(-1)
        self.flat_valid = None if self.valid is None else self.valid.reshape(-1)
        self.origins: NDArray[np.int32] | None = None
        self.writable = True
        self.writers: set[int] = set()
        self.followed = space == "shared"
        self.seen = False
        self.missed = False
        self.clustered = False
        self.element = 4
        self.shape: tuple[int, ...] = ()
        self.tensor: Tensor | None = None

    def keep_origins(self) -> NDArray[np.int32]:
        """Record from now on where unset values in this memory come from."""
        if self.origins is None:
            self.origins = np.zeros(self.words.shape, np.int32)
        return self.origins

    def write_by(self, pc: int) -> None:
        self.writers.add(pc)
        if not self.followed:
            self.followed = True
            self.missed = self.seen

    def fill(self, data: bytes) -> None:
        padded = data + bytes(-len(data) % 4)
        self.words[: len(padded) // 4] = np.frombuffer(padded, np.uint32).reshape(-1, *(1 for _ in self.copies))

    # -- a word for every thread, by lanes of word numbers ------------------------------------------------------------

    def flat_index(self, words: Lanes) -> Index:
        """Return the position of each thread's word in the flat memory."""
        made: Index = words.derive(("flat", self.space), lambda: words.array * self._stride + self._own)
        return made

    def reader(self, words: Lanes, shift: int) -> Callable[[], Array]:
        """Return a function that reads the words `words + shift` of every thread, again and again."""
        fetch: Callable[[], Array] = partial(self.gather, self.words, words, shift)
        if words.bounds[0] < 0 or shift < 0:
            return fetch
        if self._alike(words):
            take: Any = self.words[shift:].take
            return partial(take, words.array[:, 0], 0, None, "clip")
        take = self.flat[shift * self._stride :].take
        return partial(take, self._index(words), None, None, "clip")

    def _alike(self, words: Lanes) -> bool:
        """Whether every block uses the same words of its own copy, so that whole rows can be read."""
        return len(self.copies) == 1 and words.array.shape[1] == 1

    def _index(self, words: Lanes) -> Index:
        return self.flat_index(words) if self.copies else words.array

    def gather(self, source: Array, words: Lanes | None, shift: int) -> Array:
        """Return element `words + shift` of `source` (`words` or `valid` of this memory) for every thread."""
        if words is None:
            picked = source[shift]
            return picked.reshape((1, 1)) if not self.copies else np.array(picked, ndmin=2)
        if self._alike(words):
            return self._taken(source, words.array[:, 0] + shift)
        return self._taken(source.reshape(-1), self._index(words) + shift * self._stride)

    @staticmethod
    def _taken(source: Array, index: Index) -> Array:
        taken: Array = source.take(index, 0, None, "clip")
        return taken

    def scatter(self, target: Array, words: Lanes | None, shift: int, new: Any, mask: Mask | None) -> None:
        """Write `new` (an array per thread or one number) to element `words + shift` of `target`."""
        if mask is None and words is None and self.copies:
            # If the threads of a block share the word, the last one's value stays.
            target[shift] = new if len(self.copies) == 2 or np.ndim(new) == 0 else new[-1]
            return
        if mask is None and words is not None and self._alike(words):
            first: int | None = words.derive("first", lambda: _first_of_row(words.array[:, 0]))
            if first is None:
                target[words.array[:, 0] + shift] = new
            else:
                target[first + shift : first + shift + len(words.array)] = new
            return
        index = (self._own if words is None else self._index(words)) + shift * self._stride
        flat = target.reshape(-1)
        if mask is None:
            flat[np.broadcast_to(index, np.broadcast_shapes(index.shape, np.shape(new)))] = new
            return
        places = mask.pick(index)
        values = new if np.ndim(new) == 0 else mask.pick(new)
        # All threads write to one place: the last one's value stays.
        flat[places] = values[-1:] if places.size == 1 and np.ndim(values) else values

    # -- single accesses, by lists ------------------------------------------------------------------------------------

    def position(self, word: Index, thread: Index, block: Index, grid: Shape) -> Index:
        """Return the positions of the listed threads' words in the flat memory."""
        if not self.copies:
            return word
        if len(self.copies) == 1:
            return word * grid.blocks + block
        return (word * grid.threads + thread) * grid.blocks + block


def _first_of_row(words: Index) -> int | None:
    """Return the first of words that lie one after the other; None if they don't."""
    return int(words[0]) if (np.diff(words) == 1).all() else None


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor map, and the memory of its tensor."""

    map: TensorMap
    memory: Allocation


class Memory:
    def __init__(self) -> None:
        self._windows: dict[tuple[str, int], Allocation] = {}
        self.by_name: dict[str, Allocation] = {}
        self._next = {"global": _FIRST_GLOBAL, "shared": 1, "local": 1}
        self._used = 0

    def place(
        self,
        name: str,
        space: str,
        size: int,
        copies: tuple[int, ...],
        *,
        initialised: bool,
        words: Words | None = None,
        align: int = 16,
    ) -> Allocation:
        """Make a window for a variable. Constants and parameters count as global or local memory.

        words: the content, which the variable keeps as its memory
        """
        kind = kind_of(space)
        number = self._next[kind]
        self._next[kind] += 1
        # In the middle, so that addresses shortly before the variable belong to its window too.
        start = (number << _SHIFTS[kind]) + (1 << _SHIFTS[kind] - 1)
        if kind == "shared":
            # Their last 18 bits are as if the variables lay side by side, because descriptors hold no more.
            self._used = -(-self._used // align) * align
            start += self._used % _DESCRIBED
            self._used += size
        allocation = Allocation(name, kind, start, size, copies, initialised=initialised, words=words)
        self._windows[kind, number] = allocation
        self.by_name[name] = allocation
        return allocation

    def share(self, other: Memory) -> None:
        for (kind, number), allocation in other._windows.items():
            self._windows[kind, number] = allocation
        self.by_name.update(other.by_name)
        self._next.update({kind: number for kind, number in other._next.items() if kind == "global"})

    def shared_from(self, described: int) -> int:
        """Return what to add to the last bits of a shared address to get the address; 0 if no variable is there."""
        for (kind, _), allocation in self._windows.items():
            first = allocation.start % _DESCRIBED
            if kind == "shared" and first <= described < first + allocation.size:
                return allocation.start - first
        return 0

    def find(self, space: str, address: int) -> Allocation | None:
        """Return the window of an address, which may be past its variable's end."""
        return self._windows.get((space, address >> _SHIFTS[space]))


def in_block(addresses: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the addresses of the same places in the shared memory of the blocks with these ranks in their clusters."""
    tags = np.where((ranks < 0) | (ranks > _MOST_RANK), _MOST_RANK, ranks) + 1 << _RANK_SHIFT
    found: NDArray[np.int64] = own_address(addresses) | tags
    return found


def own_address(addresses: Addresses) -> Addresses:
    """Return addresses in shared memory without a block's rank. Bits of a generic address stay."""
    return addresses & ~(_MOST_RANK + 1 << _RANK_SHIFT)


def rank_of(addresses: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ranks in addresses in shared memory; -1 without one, for the thread's own block."""
    found: NDArray[np.int64] = (addresses >> _RANK_SHIFT & _MOST_RANK + 1) - 1
    return found


_SHIFTS = {"global": GENERIC_SHIFT, "shared": _SHARED_SHIFT, "local": _LOCAL_SHIFT}
_KINDS = {
    "global": "global", "const": "global", "shared": "shared", "shared::cta": "shared", "shared::cluster": CLUSTER,
    "local": "local", "param": "local",
}  # fmt: skip


def kind_of(space: str) -> str:
    """Return the kind of memory of a PTX state space; CLUSTER stands for the shared memory of several blocks."""
    return _KINDS[space]


def window_of(space: str, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the window numbers of many addresses."""
    return addresses >> _SHIFTS[space]


def window_at(space: str, address: int) -> int:
    return address >> _SHIFTS[space]
