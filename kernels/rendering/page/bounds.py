"""The bounds of a device: speed of light, roofline, occupancy. All are modelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from markupsafe import Markup

from kernels.analysis.devices import devices
from kernels.analysis.model import Analysis
from kernels.compile.diagnostics import Resources
from kernels.experiment.plot.charts import roofs_of
from kernels.experiment.plot.model import Chart, Join, Kind, Panel, Roofs, Scale, Series, Spot
from kernels.experiment.quantities import quantity
from kernels.occupancy import LIMITS, Occupancy, Resource
from kernels.occupancy.block_sizes import curve, suggest
from kernels.rendering.page import numbers
from kernels.rendering.page.charts.plot import plot_svg

_WIDTH = 520
_MOST_THREADS = 1024
RESOURCES: Mapping[str, str] = {
    Resource.WARPS: "a multiprocessor has a largest number of warps",
    Resource.BLOCKS: "a multiprocessor has a largest number of blocks of any size",
    Resource.REGISTERS: "the threads of all blocks share the registers",
    Resource.SHARED: "all blocks share it",
    Resource.BARRIERS: "all blocks share them",
}
"""Why each resource limits the number of blocks."""


@dataclass(frozen=True, slots=True)
class RooflineView:
    """The course's roofline, with the kernel's operations per 4 bytes and the roof's GFLOPS there."""

    roofs: Roofs
    ratio: float
    bound: float
    drawing: Markup


@dataclass(frozen=True, slots=True)
class OccupancyView:
    """Occupancy on one compute capability. suggested: the block size with the most threads at once, 0 for none."""

    held: Occupancy
    drawing: Markup | None = None
    suggested: int = 0


def roofline_of(analysis: Analysis) -> RooflineView | None:
    """The roofline of the first modelled device; None without a device or operations."""
    evidence = analysis.evidence
    ratio = evidence.totals.compute_to_memory
    names = {light.device for light in evidence.light[:1]}
    device = next((device for device in devices().values() if device.title in names), None)
    if device is None or ratio <= 0:
        return None
    roofs = roofs_of(device, [evidence.totals])
    roofs = replace(roofs, memories=roofs.memories[:1])
    bound = min(roofs.peak, roofs.memories[0].slope * ratio)
    chart = _roofline(roofs, ratio, bound, evidence.light[0].gflops or None)
    return RooflineView(roofs, ratio, bound, plot_svg(chart, "roofline-chart", _WIDTH))


def _roofline(roofs: Roofs, ratio: float, bound: float, light: float | None) -> Chart:
    """The roof at the kernel's ratio, and its speed of light in GFLOPS, which caches may lift above the roof."""
    marks = [("the roof here", bound), *([("speed of light", light)] if light is not None else [])]
    series = tuple(
        Series(number, f"{name}: {numbers.gflops(speed)}", (Spot(ratio, speed, name),), Join.NONE)
        for number, (name, speed) in enumerate(marks)
    )
    x = Scale("Operations per 4 bytes that threads request", quantity("compute_to_memory"))
    y = Scale("Speed", quantity("bound"))
    return Chart(Kind.ROOFLINE, f"Roofline of {roofs.device}", x, y, (Panel("", series),), roofs=roofs)


def occupancy_view(analysis: Analysis) -> OccupancyView | None:
    """The occupancy with its limits, and its curve over block sizes if the kernel's needs are known."""
    held = analysis.occupancy
    if held is None:
        return None
    if analysis.resources is None or held.cc not in LIMITS or not held.threads:
        return OccupancyView(held)
    dynamic = analysis.launch.shared if analysis.launch is not None else 0
    return OccupancyView(held, *_curve(held, analysis.resources, dynamic))


def _curve(held: Occupancy, use: Resources, dynamic: int) -> tuple[Markup, int]:
    """The chart, and the block size with the most resident threads; 0 for no better size."""
    limits, fixed = LIMITS[held.cc], (use.registers, use.shared_bytes, lambda _: dynamic)
    points = [(each.threads, each.share) for each in curve(limits, *fixed, barriers=use.barriers)]
    best = suggest(limits, *fixed, barriers=use.barriers)
    share = best.threads * best.blocks_per_sm / limits.threads
    if share <= held.share:
        best = replace(best, threads=0)
    marks = [
        Series(
            1, f"{held.threads:,} threads: {numbers.percent(held.share)}", (_spot(held.threads, held.share),), Join.NONE
        )
    ]
    if best.threads not in {0, held.threads}:
        marks.append(Series(2, f"{best.threads:,}: most resident threads", (_spot(best.threads, share),), Join.NONE))
    # Occupancy changes only with the number of warps.
    steps = tuple(_spot(threads, share) for last, share in points for threads in (last - 31, last))
    panel = Panel("", (*marks, Series(0, "", steps, marked=False)))
    x = Scale("threads per block", ticks=tuple(range(0, _MOST_THREADS + 1, 128)))
    y = Scale("Occupancy", quantity("occupancy"), ticks=(0, 0.25, 0.5, 0.75, 1))
    chart = Chart(Kind.LINE, "Occupancy by block size", x, y, (panel,))
    return plot_svg(chart, "occupancy-curve", _WIDTH), best.threads


def _spot(threads: int, share: float) -> Spot:
    return Spot(threads, share, f"{threads:,} threads per block")
