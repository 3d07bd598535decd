"""The clocks of all threads of a chunk at one moment. They are never changed, so that an access can keep its moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.device.observers.knowledge import Ids, Times
from kernels.device.state.accesses import Strength


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """The clocks of all threads of a chunk at one moment; arrays with one column hold for every block.

    blocks: the numbers of the blocks in the grid
    interval: for each block, how many barriers it has passed
    time: each thread's own time since the last of them
    rows: for each thread the known times of the lanes of its warp; None while none are known
    others: what each thread knows of other warps and blocks; None for nothing
    pending: by scope, what each thread saw released and has not acquired by a fence
    """

    blocks: NDArray[np.int64]
    interval: NDArray[np.int64]
    time: Times
    rows: Times | None
    others: Ids | None
    pending: dict[Strength, Ids]

    @property
    def alike(self) -> bool:
        """Whether all blocks have the same clocks."""
        same = self.time.shape[1] == 1 and (self.rows is None or self.rows.shape[2] == 1)
        level = bool((self.interval == self.interval[0]).all())
        return same and level and self.others is None and not self.pending
