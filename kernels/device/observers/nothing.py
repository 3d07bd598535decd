"""An observer that sees nothing: what the others build on, and what measures the cost of watching."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from kernels.device.execution.findings import Findings
from kernels.device.execution.machine import Machine
from kernels.device.execution.mask import Mask
from kernels.device.observers.accesses import Access, Strength

Grid = NDArray[np.bool_]


class Unwatched:
    """All that the search for data races is told; each observer listens to what it needs."""

    def start(self, machine: Machine) -> None:
        """A chunk of blocks begins."""

    def record(self, access: Access) -> None:
        """Threads touch memory."""

    def update(self, access: Access, *, acquires: bool, releases: bool) -> None:  # noqa: ARG002
        """The same, atomically, thread by thread in the order of their numbers."""
        self.record(access)

    def copying(self, accesses: list[Access]) -> None:
        """These asynchronous copies are under way."""

    def landed(self, access: Access, chosen: Grid) -> None:
        """The chosen ones of the threads of an asynchronous copy have waited for it."""

    def barrier(self, blocks: Grid | None) -> None:
        """All threads of the given blocks (None: of all) met at a barrier."""

    def met(self, groups: NDArray[np.int64]) -> None:
        """Threads of one block with the same number, 0 or more, met at a barrier of their own."""

    def arrive(self, key: Hashable, mask: Mask | None) -> None:
        """Threads arrived at an object of their block that others wait for."""

    def wait(self, key: Hashable, mask: Mask | None) -> None:
        """Threads have seen that an object of their block is complete."""

    def fence(self, mask: Mask | None, scope: Strength, *, acquires: bool, releases: bool) -> None:
        """Threads executed a fence, which may have one side only."""

    def finish(self) -> None:
        """The chunk of blocks is at its end."""

    def end(self, findings: Findings) -> None:
        """The launch is at its end."""
