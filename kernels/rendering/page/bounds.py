"""The bounds of a device: speed of light, roofline, occupancy. All are modelled."""

from __future__ import annotations

from dataclasses import dataclass, replace

from markupsafe import Markup

from kernels.analysis.devices import Device, devices
from kernels.analysis.model import Analysis
from kernels.compile.diagnostics import Resources
from kernels.evidence import Light
from kernels.experiment.plot.charts import roofs_of
from kernels.experiment.plot.model import Chart, Join, Kind, Panel, Roofs, Scale, Series, Spot
from kernels.experiment.quantities import quantity
from kernels.occupancy import LIMITS, Occupancy, Resource
from kernels.occupancy.block_sizes import curve, suggest
from kernels.rendering.page import numbers
from kernels.rendering.page.charts import svg
from kernels.rendering.page.charts.plot import plot_svg
from kernels.wording import sizes_text

_WIDTH = 520
_MOST_THREADS = 1024
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
    roofs = roofs_of(device)
    roofs = replace(roofs, memories=roofs.memories[:1])
    bound = min(roofs.peak, roofs.memories[0].slope * ratio)
    return RooflineView(
        device=device.title,
        ratio=numbers.ratio(ratio),
        bound=numbers.gflops(bound),
        ridge=numbers.ratio(roofs.knee),
        peak=numbers.gflops(roofs.peak),
        bandwidth=f"{device.memory_gbs:,.0f}{numbers.SPACE}GB/s",
        drawing=plot_svg(_roofline(roofs, ratio, bound, evidence.light[0].gflops or None), "roofline-chart", _WIDTH),
    )


def _roofline(roofs: Roofs, ratio: float, bound: float, light: float | None) -> Chart:
    """The roof at the kernel's ratio, and its speed of light in GFLOPS, which caches may lift above the roof."""
    marks = [("the roof here", bound), *([("speed of light", light)] if light is not None else [])]
    series = tuple(
        Series(number, f"{name}: {numbers.gflops(speed)}", (Spot(ratio, speed, name),), Join.NONE)
        for number, (name, speed) in enumerate(marks)
    )
    x = Scale("Operations per 4-byte access of a thread", quantity("compute_to_memory"))
    y = Scale("Speed", quantity("bound"))
    return Chart(Kind.ROOFLINE, f"Roofline of {roofs.device}", x, y, (Panel("", series),), roofs=roofs)


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
    marks = [Series(1, f"{held.threads:,} threads: {numbers.percent(held.share)}", (_spot(held.threads, held.share),))]
    if best.threads not in {0, held.threads}:
        marks.append(Series(2, f"{best.threads:,}: most resident threads", (_spot(best.threads, share),)))
    # Occupancy changes only with the number of warps.
    steps = tuple(_spot(threads, share) for last, share in points for threads in (last - 31, last))
    panel = Panel("", (*marks, Series(0, "", steps, marked=False)))
    x = Scale("threads per block", ticks=tuple(range(0, _MOST_THREADS + 1, 128)))
    y = Scale("Occupancy", quantity("occupancy"), ticks=(0, 0.25, 0.5, 0.75, 1))
    chart = Chart(Kind.LINE, "Occupancy by block size", x, y, (panel,))
    return plot_svg(chart, "occupancy-curve", _WIDTH), best.threads


def _spot(threads: int, share: float) -> Spot:
    return Spot(threads, share, f"{threads:,} threads per block")
