"""The driver's answer to how many blocks a multiprocessor holds, compared with the table's answer.

The table (kernels.occupancy) needs no GPU. The driver knows the device. If they differ, the report says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.occupancy.calculation import LIMITS, WARP, Occupancy, occupancy
from kernels.wording import plural


@dataclass(frozen=True, slots=True)
class MeasuredOccupancy:
    """The driver's answer for the measured launch.

    shared_bytes: per block, static and dynamic
    local_bytes: per thread
    max_warps: the warps that a multiprocessor can hold; 0 if the table doesn't have the device
    limit: the resource that allows no more blocks, by the table; "" if the table and the driver differ
    note: a sentence on how they differ; "" if they agree
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
        """The share of the warps that a multiprocessor can hold; 0 if unknown."""
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
    """Return the driver's answer, with the limit by the table. All figures are the driver's."""
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
    """Return a sentence if the driver and the table differ; None if they agree.

    A table's answer for another block size is ignored, because it says nothing about this launch.
    """
    if table.threads != threads or table.blocks_per_sm == blocks_per_sm:
        return None
    return (
        f"The driver fits {plural(blocks_per_sm, 'block')} of {plural(threads, 'thread')} on a multiprocessor, "
        f"but the table for compute capability {table.cc} says {table.blocks_per_sm:,}. One of them is incorrect."
    )
