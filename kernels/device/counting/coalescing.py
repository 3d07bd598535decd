"""How many pieces of global memory the requests of warps access, computed from addresses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Addresses = NDArray[np.int64]
Active = NDArray[np.bool_]
Numbers = NDArray[np.int64]

SECTOR = 32
SEGMENT = 128
_NOBODY = np.iinfo(np.int64).max


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
