"""Speed of light: the least time of a launch on a device, computed from the counts.

The model treats each resource alone, as if it never waited. The time is the work divided by the throughput of all
multiprocessors that have a block. The slowest resource sets the bound. Only work that no compiler or cache can remove
counts, so no run is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernels.analysis.devices import Device
from kernels.counters import HALF_WORK, Totals
from kernels.evidence import Light, ResourceTime
from kernels.launch import Launch

_FLOAT = 4
_WARP = 32
_SECTOR = 32
_WAVEFRONT = 128  # bytes that a pass over the banks of shared memory delivers
_MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes of the operands that the launch reads and writes, each counted once."""

    read: int = 0
    written: int = 0


@dataclass(frozen=True, slots=True)
class _Work:
    """The work of a launch for a device."""

    totals: Totals
    footprint: Footprint
    device: Device

    @property
    def ordinary(self) -> int:
        """Floating-point operations of ordinary units."""
        return self.totals.flops - self.totals.tensor_flops

    @property
    def fused(self) -> int:
        """Arithmetic warp instructions, if each is a multiply-add of 32 threads."""
        return -(-self.ordinary // (2 * _WARP))

    @property
    def requests(self) -> int:
        return (
            self.totals.global_load_requests
            + self.totals.global_store_requests
            + self.totals.global_atomic_requests
            + self.totals.shared_load_requests
            + self.totals.shared_store_requests
        )

    @property
    def read(self) -> int:
        """Bytes that must come from memory at least once. A kernel that skips some reads less."""
        return min(self.footprint.read, _SECTOR * (self.totals.global_load_sectors + self.totals.bulk_load_sectors))

    @property
    def written(self) -> int:
        sectors = self.totals.global_store_sectors + self.totals.bulk_store_sectors
        return min(self.footprint.written, _SECTOR * sectors)

    @property
    def copied(self) -> int:
        """Bytes that multiprocessors copy at once from L2 and to it, past L1. Each that gets a copy takes its time."""
        return self.totals.bulk_received_bytes + self.totals.bulk_store_bytes


@dataclass(frozen=True, slots=True)
class _Resource:
    """A resource of each multiprocessor.

    clocks: for the whole work on one multiprocessor
    rare: whether it is left out for a launch that doesn't use it
    """

    key: str
    title: str
    clocks: Callable[[_Work], float]
    explanation: str
    rare: bool = False


_RESOURCES = (
    _Resource(
        "fp32",
        "FP32 units",
        lambda work: work.ordinary / 2 / work.device.fp32_lanes,
        "Every floating-point operation outside tensor cores, two in each multiply-add.",
    ),
    _Resource(
        "tensor",
        "Tensor cores",
        lambda work: work.totals.tensor_work / HALF_WORK / 2 / work.device.tensor_macs,
        "Every operation of tensor cores. On types of 8 bits it takes half as long as on 16 bits, on tf32 twice.",
        rare=True,
    ),
    _Resource(
        "issue",
        "Issue slots",
        lambda work: (work.fused + work.requests) / work.device.schedulers,
        "Multiply-adds and memory accesses of warps. No compiler can remove these instructions.",
    ),
    _Resource(
        "lsu",
        "Load/store units",
        lambda work: work.requests * _WARP / work.device.lsu_lanes,
        "Accesses of warps to global and shared memory.",
    ),
    _Resource(
        "l1_tags",
        "L1 lookups",
        lambda work: (work.totals.global_load_segments + work.totals.global_store_segments) / work.device.tags,
        "One lookup for each 128-byte line that a global access touches.",
    ),
    _Resource(
        "l1_data",
        "L1 and shared memory",
        lambda work: _delivered(work.totals) / work.device.l1_bytes,
        "Passes over the banks of shared memory, including conflicts. Sectors that L1 delivers. What wgmma reads.",
    ),
    _Resource(
        "bulk",
        "Bulk copies",
        lambda work: work.copied / work.device.l2_bytes,
        "Every byte of a bulk copy, for each multiprocessor that sends or gets it. L1 keeps none of them.",
        rare=True,
    ),
)


def light(
    totals: Totals,
    launch: Launch,
    sizes: Mapping[str, int],
    device: Device,
    footprint: Footprint | None = None,
    *,
    alike: bool = False,
) -> Light:
    """The bound for one launch.

    totals: of the whole launch
    footprint: bytes of the operands; no cache has them before the launch
    alike: whether every block does the same work, so the multiprocessor with the most blocks ends last
    """
    work = _Work(totals, footprint or Footprint(), device)
    share = _busiest_share(launch.blocks, device.multiprocessors, alike=alike)
    times = (
        *(
            ResourceTime(each.key, each.title, each.clocks(work) * share / (1000 * device.clock_mhz), each.explanation)
            for each in _RESOURCES
            if each.clocks(work) or not each.rare
        ),
        _level_two(work),
        _memory(work),
    )
    slowest = max(times, key=lambda time: time.milliseconds)
    gflops = totals.flops / slowest.milliseconds / 1e6 if slowest.milliseconds else 0.0
    return Light(device.title, dict(sizes), times, slowest.resource, slowest.milliseconds, gflops)


def roofline(compute_to_memory: float, bandwidth_gbs: float, peak_gflops: float) -> float:
    """The course's bound in GFLOPS: operations for each 4-byte value from memory, up to the peak."""
    return min(peak_gflops, compute_to_memory * bandwidth_gbs / _FLOAT)


def _busiest_share(blocks: int, multiprocessors: int, *, alike: bool) -> float:
    """The least share of the work on the busiest multiprocessor."""
    # Different blocks may be spread so evenly that all multiprocessors end together.
    if blocks <= multiprocessors or not alike:
        return 1 / max(1, min(blocks, multiprocessors))
    return -(-blocks // multiprocessors) / blocks


def _delivered(totals: Totals) -> int:
    passes = _WAVEFRONT * (totals.shared_load_wavefronts + totals.shared_store_wavefronts)
    return passes + _SECTOR * (totals.global_load_sectors + totals.global_store_sectors) + totals.product_bytes


def _level_two(work: _Work) -> ResourceTime:
    each = work.read + work.written
    return ResourceTime(
        "l2",
        "L2 cache",
        each / work.device.l2_gbs / 1e6,
        "Every operand once between L2 and the multiprocessors. Elements that L1 can't keep come again.",
    )


def _memory(work: _Work) -> ResourceTime:
    """The time of memory. Written bytes may stay in L2 until the launch ends."""
    left = max(0, work.written - round(work.device.l2_mb * _MEGABYTE))
    return ResourceTime(
        "dram",
        "Memory",
        (work.read + left) / work.device.memory_gbs / 1e6,
        "Every input once from memory, and the part of the outputs that L2 can't hold.",
    )
