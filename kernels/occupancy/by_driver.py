"""What the driver says of a launch: how many blocks of it one multiprocessor holds at once, beside the table's answer.

The table (kernels.occupancy) needs no GPU; the driver knows the device. Where the two part, the report says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.occupancy.calculation import LIMITS, WARP, Occupancy, occupancy
from kernels.wording import plural


@dataclass(frozen=True, slots=True)
class MeasuredOccupancy:
    """The driver's answer for the measured launch.

    shared_bytes: of a block, static and dynamic
    local_bytes: of a thread
    max_warps: what a multiprocessor holds; 0 where the table does not know the device
    limit: what stops one more block, by the table; "" where the table says otherwise than the driver
    note: where the two part, a sentence; "" where they agree
    """

    threads: int
    registers: int
    shared_bytes: int
    local_bytes: int
    blocks_per_sm: int
    warps_per_sm: int
    max_warps: int = 0
    limit: str = ""
    note: str = ""

    @property
    def share(self) -> float:
        """Of the warps that a multiprocessor can hold; 0 where that is not known."""
        return self.warps_per_sm / self.max_warps if self.max_warps else 0.0


def by_driver(
    cc: str,
    threads: int,
    blocks_per_sm: int,
    *,
    registers: int,
    shared_static: int,
    shared_dynamic: int = 0,
    local_bytes: int = 0,
    barriers: int = 1,
) -> MeasuredOccupancy:
    """The driver's answer, with what the table says limits it; all figures are the driver's own."""
    table = None
    if cc in LIMITS:
        table = occupancy(LIMITS[cc], threads, registers, shared_static, shared_dynamic, barriers=barriers)
    note = driver_differs(threads, blocks_per_sm, table) if table is not None else None
    return MeasuredOccupancy(
        threads=threads,
        registers=registers,
        shared_bytes=shared_static + shared_dynamic,
        local_bytes=local_bytes,
        blocks_per_sm=blocks_per_sm,
        warps_per_sm=blocks_per_sm * -(-threads // WARP),
        max_warps=LIMITS[cc].warps if cc in LIMITS else 0,
        limit=table.limit if table is not None and not note else "",
        note=note or "",
    )


def driver_differs(threads: int, blocks_per_sm: int, table: Occupancy) -> str | None:
    """A sentence where the driver holds another number of blocks than the table; None where both agree.

    A table's answer for blocks of another size says nothing about this launch, and is passed over.
    """
    if table.threads != threads or table.blocks_per_sm == blocks_per_sm:
        return None
    return (
        f"The driver holds {plural(blocks_per_sm, 'block')} of {plural(threads, 'thread')} on a multiprocessor, "
        f"the table for compute capability {table.cc} says {table.blocks_per_sm:,}: one of them is mistaken."
    )
