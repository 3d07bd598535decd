"""The memory numbers for the addresses of a block's threads. Each pattern of addresses is analysed once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from kernels.device.counting.counts import ACCESS_FIELDS
from kernels.device.state.geometry import WARP

Addresses = NDArray[np.int64]
Active = NDArray[np.bool_]
Numbers = NDArray[np.int64]

BANKS = 32
_WORD = 4
_NOBODY = np.iinfo(np.int64).max
_LANES = 32
_LANES_TOGETHER = {8: 16, 16: 8}
"""The most threads that one pass serves, by bytes per thread; 32 for up to 4 bytes."""


def wavefronts(addresses: Addresses, active: Active, width: int) -> Numbers:
    """Return a column for each row of 32 threads that access `width` bytes each.

    A pass reads one word from each bank, for any number of threads. Wide accesses are served for half or a quarter of a
    warp at a time. Two of these groups go together if neighbours access the same.

    return: passes, and the passes without bank conflicts
    """
    together = _LANES_TOGETHER.get(width, _LANES)
    if together == _LANES:
        return _passes(addresses, active, width, together)
    # Threads are paired if each active one's neighbour (the next, or the one after) is idle or accesses the same.
    lane = np.arange(_LANES)
    paired = np.zeros(len(addresses), np.bool_)
    for distance in (1, 2):
        other = lane ^ distance
        alike = ~active | ~active[:, other] | (addresses == addresses[:, other])
        paired |= alike.all(axis=1)
    return np.where(
        paired, _passes(addresses, active, width, 2 * together), _passes(addresses, active, width, together)
    )


def _passes(addresses: Addresses, active: Active, width: int, together: int) -> Numbers:
    rows = len(addresses)
    pieces = max(1, width // _WORD)
    words = (addresses[:, :, np.newaxis] >> 2) + np.arange(pieces, dtype=np.int64)
    wanted = np.where(active[:, :, np.newaxis], words, _NOBODY).reshape(-1, together * pieces)
    ordered = np.sort(wanted, axis=1)
    fresh = ordered != _NOBODY
    fresh[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    group, place = np.nonzero(fresh)
    bank = group * BANKS + ordered[group, place] % BANKS
    load = np.bincount(bank, minlength=len(ordered) * BANKS).reshape(-1, BANKS).max(axis=1)
    each: Numbers = load.reshape(rows, -1)
    return np.stack((each.sum(axis=1), (each > 0).sum(axis=1)))


SECTOR = 32
SEGMENT = 128


def coalescing(addresses: Addresses, active: Active, width: int) -> Numbers:
    """Return a column for each row of 32 threads that access `width` bytes each.

    return: requests, threads, sectors, segments, distinct bytes, and the fewest sectors that hold these bytes
    """
    requests = active.any(axis=1).astype(np.int64)
    unique = _distinct_bytes(addresses, active, width)
    return np.stack(
        (
            requests,
            active.sum(axis=1),
            _pieces(addresses, active, width, SECTOR),
            _pieces(addresses, active, width, SEGMENT),
            unique,
            -(-unique // SECTOR),
        )
    )


def bulk(addresses: Addresses, sizes: Numbers) -> Numbers:
    """Return a column for each bulk copy, from the rows that it moves: the same numbers."""
    total = sizes.sum(axis=1)
    moves = (total > 0).astype(np.int64)
    pieces = [_pieces_of_rows(addresses, sizes, size) for size in (SECTOR, SEGMENT)]
    return np.stack((moves, moves, *pieces, total, -(-total // SECTOR)))


def _pieces_of_rows(addresses: Addresses, sizes: Numbers, size: int) -> Numbers:
    first, last = addresses // size, (addresses + sizes - 1) // size
    most = int((last - first).max(initial=0)) + 1
    each = first[:, :, np.newaxis] + np.arange(most)
    there = (each <= last[:, :, np.newaxis]) & (sizes > 0)[:, :, np.newaxis]
    return distinct(each.reshape(len(each), -1), there.reshape(len(each), -1))


def interleaved(addresses: Addresses, active: Active, width: int) -> Numbers:
    """Do the same for local memory, in which the words of a warp's threads are side by side.

    addresses: in each thread's own memory
    """
    lane = np.arange(addresses.shape[1], dtype=np.int64)
    words = (addresses[:, :, np.newaxis] >> 2) + np.arange(max(1, width // 4), dtype=np.int64)
    spread = words * SEGMENT + lane[np.newaxis, :, np.newaxis] * 4 + (addresses & 3)[:, :, np.newaxis]
    rows = len(addresses)
    shares = np.repeat(active, words.shape[2], axis=1)
    found = coalescing(spread.reshape(rows, -1), shares, min(width, 4))
    found[1] = active.sum(axis=1)
    return found


def _pieces(addresses: Addresses, active: Active, width: int, size: int) -> Numbers:
    """Return distinct aligned pieces of `size` bytes. An access across a border uses both pieces."""
    first, last = addresses // size, (addresses + (width - 1)) // size
    if (first == last).all():
        return distinct(first, active)
    return distinct(np.concatenate((first, last), axis=1), np.concatenate((active, active), axis=1))


def _distinct_bytes(addresses: Addresses, active: Active, width: int) -> Numbers:
    if not (addresses % width)[active].any():
        return distinct(addresses, active) * width
    each = (addresses[:, :, np.newaxis] + np.arange(width, dtype=np.int64)).reshape(len(addresses), -1)
    return distinct(each, np.repeat(active, width, axis=1))


def distinct(numbers: Addresses, active: Active) -> Numbers:
    """Return how many different numbers the active lanes of each row have."""
    ordered = np.sort(np.where(active, numbers, _NOBODY), axis=1)
    steps: Numbers = (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)
    found: Numbers = steps + 1 - (ordered[:, -1] == _NOBODY)
    return found


_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Columns:
    """The different columns of an array of addresses, one for each kind of block.

    addresses: a row for each kind, a column for each thread or a single one
    active: in the same shape, which threads take part; None for all
    starts: for each kind, its first address modulo 128; `addresses` are relative to the first address
    numbers: the identity of each kind apart from that; the same each time the kind occurs
    kinds: for each block its kind; a single one if all blocks are of one kind
    """

    addresses: Numbers
    active: Active | None
    starts: tuple[int, ...]
    numbers: tuple[int, ...]
    kinds: NDArray[np.intp]


class Patterns:
    """The numbers of one block's access, by everything that decides about them.

    If all addresses of a block differ by a multiple of 128 bytes, the numbers are the same.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._most = max(64, _MOST_BYTES // (16 * threads))
        self._seen: dict[bytes, int] = {}
        self._next = count()
        self._known: dict[tuple[str, int, int, int], Numbers] = {}

    def columns(self, addresses: Numbers, active: Active | None) -> Columns:
        """Sort blocks by their addresses: a row for each thread or one, a column for each block or one."""
        firsts, moved = _relative(addresses, active)
        starts = firsts % SEGMENT
        if bool((starts == starts[0]).all()) and bool((moved == moved[:, :1]).all()):
            moved, starts = moved[:, :1], starts[:1]
        blocks = max(moved.shape[1], 1 if active is None else active.shape[1])
        by_block = np.ascontiguousarray(np.broadcast_to(moved, (len(moved), blocks)).T)
        parts = None if active is None else np.ascontiguousarray(active.T)
        remainders = np.broadcast_to(starts, blocks).tolist()
        first: dict[tuple[bytes, int], int] = {}
        kinds = np.empty(blocks, np.intp)
        chosen: list[int] = []
        for block in range(blocks):
            kind = first.setdefault((_content(by_block, parts, block), remainders[block]), len(first))
            kinds[block] = kind
            if kind == len(chosen):
                chosen.append(block)
        numbers = tuple(self._number(content) for content, _ in first)
        starting = tuple(start for _, start in first)
        return Columns(by_block[chosen], None if parts is None else parts[chosen], starting, numbers, kinds)

    def _number(self, content: bytes) -> int:
        if content not in self._seen:
            if len(self._seen) >= self._most:
                self._seen.clear()
            self._seen[content] = next(self._next)
        return self._seen[content]

    def numbers(self, space: str, width: int, columns: Columns, shift: int) -> Numbers:
        """Return a row for each of ACCESS_FIELDS and one for misaligned addresses, and a column for each block.

        shift: the number added to all addresses
        """
        shifts = [(shift + start) % SEGMENT for start in columns.starts]
        keys = [(space, width, *pair) for pair in zip(columns.numbers, shifts, strict=True)]
        missing = [at for at, key in enumerate(keys) if key not in self._known]
        if missing:
            active = None if columns.active is None else columns.active[missing]
            moved = np.array([[shifts[at]] for at in missing])
            found = self._look(space, width, columns.addresses[missing] + moved, active)
            if len(self._known) > self._most:
                self._known.clear()
                return self.numbers(space, width, columns, shift)
            self._known.update((keys[at], one) for at, one in zip(missing, found.T, strict=True))
        each = np.array([self._known[key] for key in keys])
        return each[columns.kinds].T

    def _look(self, space: str, width: int, addresses: Numbers, active: Active | None) -> Numbers:
        blocks, threads = len(addresses), self._threads
        warps = -(-threads // WARP)
        padded = np.zeros((blocks, warps * WARP), np.int64)
        padded[:, :threads] = addresses
        takes_part = np.zeros(padded.shape, np.bool_)
        takes_part[:, :threads] = True if active is None else active
        each = _of_warps(space, width, padded.reshape(-1, WARP), takes_part.reshape(-1, WARP))
        found: Numbers = each.reshape(len(each), blocks, warps).sum(axis=2)
        return found


def _relative(addresses: Numbers, active: Active | None) -> tuple[Numbers, Numbers]:
    """Return the first active thread's address of each block, and all addresses relative to it.

    The address of an inactive thread has no meaning and is often left over. It becomes 0.
    """
    if active is None:
        return addresses[0], addresses - addresses[:1]
    whole = np.broadcast_to(addresses, active.shape)
    firsts = np.take_along_axis(whole, active.argmax(axis=0)[np.newaxis], axis=0)
    return firsts[0], np.where(active, whole - firsts, 0)


def _content(addresses: Numbers, active: Active | None, column: int) -> bytes:
    own: bytes = addresses[column].tobytes()
    return own if active is None else own + active[column].tobytes()


def _of_warps(space: str, width: int, addresses: Numbers, active: Active) -> Numbers:
    found = np.zeros((len(ACCESS_FIELDS) + 1, len(addresses)), np.int64)
    if space == "shared":
        found[0], found[1] = active.any(axis=1), active.sum(axis=1)
        found[6:8] = wavefronts(addresses, active, width)
    else:
        found[:6] = (interleaved if space == "local" else coalescing)(addresses, active, width)
    found[-1] = ((addresses % width != 0) & active).any(axis=1)
    return found
