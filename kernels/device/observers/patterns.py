"""What the addresses of a block's threads mean for the memory: each pattern of addresses is looked at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.device.banks import wavefronts
from kernels.device.coalescing import SEGMENT, coalescing, interleaved
from kernels.device.counts import ACCESS_FIELDS
from kernels.device.machine import WARP

Numbers = NDArray[np.int64]
Active = NDArray[np.bool_]
_MOST_BYTES = 64 << 20


class Patterns:
    """The numbers of one block's access, by what decides about them.

    Addresses that differ by a multiple of 128 bytes in all threads of a block give the same numbers.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._known: dict[tuple[str, int, bytes], Numbers] = {}
        self._most = max(64, _MOST_BYTES // (16 * threads))

    def numbers(self, space: str, width: int, addresses: Numbers, active: Active | None) -> Numbers:
        """A row for each of ACCESS_FIELDS and one for whether an address is misaligned; a column for each block.

        addresses, active: a row for each thread or one, a column for each block or one; likewise the result
        """
        moved = addresses - (addresses[:1] // SEGMENT * SEGMENT)
        if active is None and (moved.shape[1] == 1 or bool((moved == moved[:, :1]).all())):
            moved = moved[:, :1]
        columns = max(moved.shape[1], 1 if active is None else active.shape[1])
        by_block = np.ascontiguousarray(np.broadcast_to(moved, (len(moved), columns)).T)
        parts = None if active is None else np.ascontiguousarray(active.T)
        keys = [(space, width, _content(by_block, parts, column)) for column in range(columns)]
        missing = {key: column for column, key in enumerate(keys) if key not in self._known}
        if len(self._known) + len(missing) > self._most:
            self._known.clear()
            missing = {key: column for column, key in enumerate(keys)}
        if missing:
            chosen = list(missing.values())
            found = self._look(space, width, by_block[chosen], None if parts is None else parts[chosen])
            self._known.update(zip(missing, found.T, strict=True))
        return np.stack([self._known[key] for key in keys], axis=1)

    def _look(self, space: str, width: int, addresses: Numbers, active: Active | None) -> Numbers:
        """A column for each row of addresses, which are those of one block."""
        blocks, threads = len(addresses), self._threads
        warps = -(-threads // WARP)
        padded = np.zeros((blocks, warps * WARP), np.int64)
        padded[:, :threads] = addresses
        takes_part = np.zeros(padded.shape, np.bool_)
        takes_part[:, :threads] = True if active is None else active
        each = _of_warps(space, width, padded.reshape(-1, WARP), takes_part.reshape(-1, WARP))
        found: Numbers = each.reshape(len(each), blocks, warps).sum(axis=2)
        return found


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
    found[8] = ((addresses % width != 0) & active).any(axis=1)
    return found
