"""Speed of light: the least time that a launch can take on a device, from what was counted.

Each resource is taken alone, as if it never waited: what it has to do, over what it does in one clock on every
multiprocessor that has a block. The slowest sets the bound. Only work that no compiler or cache can take away is
counted, so that no run is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernels.analysis.devices import Device
from kernels.counters import Totals
from kernels.evidence import Light, ResourceTime
from kernels.launch import Launch

_FLOAT = 4
_WARP = 32
_SECTOR = 32
_WAVEFRONT = 128  # bytes that a pass over the banks of shared memory delivers
_MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes of the operands, each counted once: what the launch reads, what it writes."""

    read: int = 0
    written: int = 0


@dataclass(frozen=True, slots=True)
class _Work:
    """What is asked of a device."""

    totals: Totals
    footprint: Footprint
    device: Device

    @property
    def fused(self) -> int:
        """Warp instructions of arithmetic, were every one a multiply-add of 32 threads."""
        return -(-self.totals.flops // (2 * _WARP))

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
        """Bytes that have to come from memory at least once; a kernel that leaves some out reads less."""
        return min(self.footprint.read, _SECTOR * self.totals.global_load_sectors)

    @property
    def written(self) -> int:
        return min(self.footprint.written, _SECTOR * self.totals.global_store_sectors)


@dataclass(frozen=True, slots=True)
class _Resource:
    """A resource of each multiprocessor.

    clocks: that it needs for the whole work, on one multiprocessor
    """

    key: str
    title: str
    clocks: Callable[[_Work], float]
    explanation: str


_RESOURCES = (
    _Resource(
        "fp32",
        "FP32 units",
        lambda work: work.totals.flops / 2 / work.device.fp32_lanes,
        "Every floating-point operation, two in each multiply-add.",
    ),
    _Resource(
        "issue",
        "Issue slots",
        lambda work: (work.fused + work.requests) / work.device.schedulers,
        "Multiply-adds and memory accesses of warps: of the instructions, those that no compiler can leave out.",
    ),
    _Resource(
        "lsu",
        "Load/store units",
        lambda work: work.requests * _WARP / work.device.lsu_lanes,
        "Accesses of warps to global and shared memory, whatever they find there.",
    ),
    _Resource(
        "l1_tags",
        "L1 lookups",
        lambda work: (
            (work.totals.global_load_segments + work.totals.global_store_segments) / work.device.tags
        ),
        "Each 128-byte line that a global access touches is looked up by itself.",
    ),
    _Resource(
        "l1_data",
        "L1 and shared memory",
        lambda work: (_shared_bytes(work.totals) + _sector_bytes(work.totals)) / work.device.l1_bytes,
        "Passes over the banks of shared memory, conflicts included, and the sectors that L1 hands over.",
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
    footprint: bytes of the operands; caches hold none of them before the launch
    alike: whether every block does the same: then the multiprocessor with the most blocks is as late as it has more
    """
    work = _Work(totals, footprint or Footprint(), device)
    share = _busiest_share(launch.blocks, device.multiprocessors, alike=alike)
    times = (
        *(
            ResourceTime(
                each.key,
                each.title,
                each.clocks(work) * share / (1000 * device.clock_mhz),
                each.explanation,
            )
            for each in _RESOURCES
        ),
        _level_two(work),
        _memory(work),
    )
    slowest = max(times, key=lambda time: time.milliseconds)
    gflops = totals.flops / slowest.milliseconds / 1e6 if slowest.milliseconds else 0.0
    return Light(device.title, dict(sizes), times, slowest.resource, slowest.milliseconds, gflops)


def roofline(compute_to_memory: float, bandwidth_gbs: float, peak_gflops: float) -> float:
    """The course's bound in GFLOPS: so many operations for each 4-byte value that memory delivers, up to the peak."""
    return min(peak_gflops, compute_to_memory * bandwidth_gbs / _FLOAT)


def ridge(bandwidth_gbs: float, peak_gflops: float) -> float:
    """The ratio from which on memory is no longer the limit."""
    return peak_gflops * _FLOAT / bandwidth_gbs


def _busiest_share(blocks: int, multiprocessors: int, *, alike: bool) -> float:
    """The least part of all the work that the multiprocessor with the most of it has."""
    if blocks <= multiprocessors or not alike:
        return 1 / max(1, min(blocks, multiprocessors))
    return -(-blocks // multiprocessors) / blocks


def _shared_bytes(totals: Totals) -> int:
    return _WAVEFRONT * (totals.shared_load_wavefronts + totals.shared_store_wavefronts)


def _sector_bytes(totals: Totals) -> int:
    return _SECTOR * (totals.global_load_sectors + totals.global_store_sectors)


def _level_two(work: _Work) -> ResourceTime:
    each = work.read + work.written
    return ResourceTime(
        "l2",
        "L2 cache",
        each / work.device.l2_gbs / 1e6,
        "Every operand once between L2 and the multiprocessors; what L1 cannot keep comes again.",
    )


def _memory(work: _Work) -> ResourceTime:
    """What is written may stay in L2 for as long as the launch lasts."""
    left = max(0, work.written - round(work.device.l2_mb * _MEGABYTE))
    return ResourceTime(
        "dram",
        "Memory",
        (work.read + left) / work.device.memory_gbs / 1e6,
        "Every input once from memory, and of the outputs what L2 cannot hold.",
    )
