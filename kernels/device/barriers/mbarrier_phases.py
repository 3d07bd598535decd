"""The state of a barrier in shared memory, and its phases."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.device.barriers.ordering import Counts
from kernels.device.state.accesses import Transfer

# PTX allows 2**20 - 1 arrivals. It keeps the layout of the 64 bits secret, so any layout will do.
_BITS = 20
MOST_ARRIVALS = (1 << _BITS) - 1
LIFE_BITS = 16
"""The phases of a barrier's life have numbers of so many bits. The bits above count how often it was initialised."""
LIVES = 1 << 63 - 2 * _BITS - LIFE_BITS


@dataclass(frozen=True, slots=True)
class States:
    """The states of barriers that the listed threads of a part see."""

    expected: Counts
    missing: Counts
    phase: Counts

    @staticmethod
    def of(words: Counts) -> States:
        return States(words & MOST_ARRIVALS, words >> _BITS & MOST_ARRIVALS, words >> 2 * _BITS)

    @property
    def words(self) -> Counts:
        joined: Counts = self.expected | self.missing << _BITS | self.phase << 2 * _BITS
        return joined


def missing_arrivals(tokens: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the `mbarrier.pending_count` of tokens: the arrivals that the phase still missed."""
    missing: NDArray[np.int32] = States.of(tokens).missing.astype(np.int32)
    return missing


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of a barrier, by its variable and byte offset, and its block's rank in the cluster.

    number: counts on from life to life
    """

    name: str
    offset: int
    rank: int
    number: int

    @property
    def barrier(self) -> Hashable:
        """A key for the barrier's life. Another life has another key, so its phases order nothing of this one."""
        return "mbarrier", self.name, self.offset, self.rank, self.number >> LIFE_BITS

    def ends(self, lanes: NDArray[np.intp]) -> Transfer:
        """What ends the operations of threads for which the phase waits."""
        return Transfer(self.barrier, np.full(len(lanes), self.number + 1))
