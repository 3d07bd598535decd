"""How many passes through the banks of shared memory a warp's requests take, computed from addresses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
