"""The bounds of a device: speed of light, roofline, occupancy. All are modelled."""

from __future__ import annotations

from dataclasses import dataclass, replace

from markupsafe import Markup

from kernels.analysis.devices import Device, devices
from kernels.analysis.model import Analysis
from kernels.compile.diagnostics import Resources
from kernels.evidence import Light
from kernels.occupancy import LIMITS, Occupancy, Resource
from kernels.occupancy.block_sizes import curve, suggest
from kernels.rendering.page import numbers
from kernels.rendering.page.charts import svg
from kernels.rendering.page.charts.occupancy import occupancy_chart
from kernels.rendering.page.charts.roofline import Mark, Roof, attainable, roofline
from kernels.wording import sizes_text

_FLOAT = 4
_RESOURCES = {
    Resource.WARPS: ("warps", "a multiprocessor has a largest number of warps"),
    Resource.BLOCKS: ("blocks", "a multiprocessor has a largest number of blocks of any size"),
    Resource.REGISTERS: ("registers", "the threads of all blocks share the registers"),
    Resource.SHARED: ("shared memory", "all blocks share it"),
    Resource.BARRIERS: ("barriers", "all blocks share them"),
}


@dataclass(frozen=True, slots=True)
class Bar:
    """The time of one resource.

    binds: whether it is the longest, the likely bottleneck
    """

    title: str
    drawing: Markup
    time: str
    explanation: str
    binds: bool


@dataclass(frozen=True, slots=True)
class LightView:
    """The speed of light on one device."""

    device: str
    sizes: str
    least: str
    speed: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class RooflineView:
    """The course's roofline.

    ridge: operations per access above which memory isn't the limit
    """

    device: str
    ratio: str
    bound: str
    ridge: str
    peak: str
    bandwidth: str
    drawing: Markup


@dataclass(frozen=True, slots=True)
class Limit:
    """The number of blocks that one resource allows.

    limits: whether no resource allows fewer
    """

    title: str
    blocks: int
    explanation: str
    limits: bool


@dataclass(frozen=True, slots=True)
class OccupancyView:
    """Occupancy on one compute capability.

    suggested: the block size with the most threads at once, 0 for none
    """

    held: Occupancy
    limits: tuple[Limit, ...]
    drawing: Markup | None
    suggested: int


def light_bars(light: Light) -> LightView:
    """The times of all resources, the longest first."""
    longest = max((each.milliseconds for each in light.resources), default=0.0) or 1.0
    bars = tuple(
        Bar(
            each.title,
            svg.bar(each.milliseconds / longest),
            numbers.milliseconds(each.milliseconds),
            each.explanation,
            each.resource == light.limit,
        )
        for each in sorted(light.resources, key=lambda each: -each.milliseconds)
    )
    sizes = sizes_text(light.sizes)
    speed = numbers.gflops(light.gflops) if light.gflops else ""
    return LightView(light.device, sizes, numbers.milliseconds(light.milliseconds), speed, bars)


def roofline_of(analysis: Analysis) -> RooflineView | None:
    """The roofline of the first modelled device; None without a device or operations."""
    evidence = analysis.evidence
    ratio = evidence.totals.compute_to_memory
    device = _device(evidence.light[0].device) if evidence.light else None
    if device is None or ratio <= 0:
        return None
    slope, peak = device.memory_gbs / _FLOAT, device.peak_gflops
    bound = attainable(ratio, peak, slope)
    speed = evidence.light[0].gflops or None
    roof = Roof(f"memory: {device.memory_gbs:,.0f} GB/s", slope)
    drawing = roofline(device.title, peak, (roof,), Mark("the roof here", ratio, bound), speed)
    return RooflineView(
        device=device.title,
        ratio=numbers.ratio(ratio),
        bound=numbers.gflops(bound),
        ridge=numbers.ratio(peak / slope),
        peak=numbers.gflops(peak),
        bandwidth=f"{device.memory_gbs:,.0f}{numbers.SPACE}GB/s",
        drawing=drawing,
    )


def _device(title: str) -> Device | None:
    return next((device for device in devices().values() if device.title == title), None)


def occupancy_view(analysis: Analysis) -> OccupancyView | None:
    """The occupancy with its limits, and its curve over block sizes if the kernel's needs are known."""
    held = analysis.occupancy
    if held is None:
        return None
    limits = tuple(
        Limit(*_named(name, blocks), limits=name in held.limiting) for name, blocks in (held.limits or {}).items()
    )
    if analysis.resources is None or held.cc not in LIMITS or not held.threads:
        return OccupancyView(held, limits, None, 0)
    dynamic = analysis.launch.shared if analysis.launch is not None else 0
    drawing, suggested = _curve(held, analysis.resources, dynamic)
    return OccupancyView(held, limits, drawing, suggested)


def _named(name: str, blocks: int) -> tuple[str, int, str]:
    title, explanation = _RESOURCES[Resource(name)] if name in set(Resource) else (name, "")
    return title, blocks, explanation


def _curve(held: Occupancy, use: Resources, dynamic: int) -> tuple[Markup, int]:
    """The chart, and the block size with the most resident threads; 0 for no better size."""
    limits, fixed = LIMITS[held.cc], (use.registers, use.shared_bytes, lambda _: dynamic)
    points = [(each.threads, each.share) for each in curve(limits, *fixed, barriers=use.barriers)]
    best = suggest(limits, *fixed, barriers=use.barriers)
    share = best.threads * best.blocks_per_sm / limits.threads
    if share <= held.share:
        best = replace(best, threads=0)
    chart = occupancy_chart(points, (held.threads, held.share), (best.threads, share) if best.threads else None)
    return chart, best.threads
