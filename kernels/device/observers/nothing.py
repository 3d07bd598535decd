"""Observers that see nothing, for measuring what watching costs."""

from __future__ import annotations

from numpy import bool_, intp
from numpy.typing import NDArray

from kernels.device.machine import Machine
from kernels.device.mask import Mask
from kernels.device.memory import Allocation
from kernels.device.observers.races import Access, RaceObserver
from kernels.device.observers.stores import StoreObserver


class NoRaces(RaceObserver):
    """Sees no race."""

    def record(self, access: Access) -> None:
        """Looks away."""

    def copy_pending(self, accesses: list[Access]) -> None:
        """Looks away."""

    def warp_sync(self, mask: Mask | None) -> None:
        """Looks away."""

    def barrier(self, blocks: NDArray[bool_] | None) -> None:
        """Looks away."""


class NoStores(StoreObserver):
    """Sees of a store only where it went: what a kernel leaves in module variables outlives the launch."""

    def record(
        self,
        machine: Machine,  # noqa: ARG002
        pc: int,
        allocation: Allocation,
        words: NDArray[intp],  # noqa: ARG002
        lanes: NDArray[intp],  # noqa: ARG002
        unit: int = 4,  # noqa: ARG002
    ) -> None:
        """Notes the name."""
        self._pcs.setdefault(allocation.name, set()).add(pc)

    def read(
        self,
        machine: Machine,
        pc: int,
        allocation: Allocation,
        words: NDArray[intp],
        lanes: NDArray[intp],
    ) -> None:
        """Looks away."""
