"""Groups of asynchronous operations. Each thread closes its groups, and then waits for all but the last of them."""

from __future__ import annotations

from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


class Grouped(Enum):
    """The operations that make up groups."""

    COPIES = auto()
    BULK_COPIES = auto()
    PRODUCTS = auto()


class Groups:
    """For each kind and thread, the number of the group to which its next operation belongs, from 1 on."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._present: dict[Grouped, Counts] = {}

    def present(self, kind: Grouped) -> Counts:
        if kind not in self._present:
            self._present[kind] = np.ones(self._lanes, np.int64)
        return self._present[kind]

    def close(self, kind: Grouped, lanes: NDArray[np.intp]) -> None:
        """End the present group of these threads, and begin the next."""
        self.present(kind)[lanes] += 1

    def before(self, kind: Grouped, allowed: int) -> Counts:
        """The last group that is over once a thread has waited for all except the last `allowed` ones."""
        before: Counts = self.present(kind) - 1 - allowed
        return before
