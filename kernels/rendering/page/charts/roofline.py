"""The roofline: a device's largest speed at each ratio of computation to memory access, and a kernel's point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kernels.rendering.page import numbers
from kernels.rendering.page.charts import svg
from kernels.rendering.page.charts.axes import Axes, Axis

_WIDTH, _HEIGHT = 520, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 496, 28, 282


@dataclass(frozen=True, slots=True)
class Roof:
    """The slanted part of a roof: a memory.

    slope: GFLOPS for each operation per 4-byte access, which is GB/s / 4
    """

    name: str
    slope: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A kernel: its operations per 4-byte access, and the roof's speed at that ratio."""

    name: str
    ratio: float
    gflops: float


def attainable(ratio: float, peak: float, slope: float) -> float:
    """GFLOPS that a device allows at a ratio."""
    return min(peak, slope * ratio)


def roofline(
    device: str,
    peak: float,
    roofs: Sequence[Roof],
    mark: Mark,
    light: float | None = None,
    identity: str = "roofline-chart",
) -> Markup:
    """The chart; both axes are logarithmic.

    peak: GFLOPS; roofs: steepest memory last
    light: the kernel's speed of light in GFLOPS, which caches may lift above the roof
    """
    axes = _axes_around(peak, roofs, mark)
    body = [_grid(axes)]
    for number, roof in enumerate(roofs):
        edge = min(axes.across.high, peak / roof.slope)
        points = [
            (axes.across.low, roof.slope * axes.across.low),
            (edge, roof.slope * edge),
            (axes.across.high, min(peak, roof.slope * axes.across.high)),
        ]
        drawn = [axes.place(*point) for point in points]
        if number == 0:
            below = [*drawn, (_RIGHT, _BOTTOM), (_LEFT, _BOTTOM)]
            body.append(svg.area("under", below))
        body.append(svg.line("roof" if number == 0 else "roof second", *drawn))
        body.append(_slanted(axes, roof))
    x, y = axes.place(mark.ratio, mark.gflops)
    body += [svg.line("guide", (x, y), (x, _BOTTOM)), svg.dot("point", x, y, 6)]
    # The labels go below the roof, at the foot of the guide, on its wider side.
    side, anchor = (-9, "end") if x > (_LEFT + _RIGHT) / 2 else (9, "start")
    label = f"● {mark.name}: {numbers.gflops(mark.gflops)}"
    body.append(svg.text(x + side, _BOTTOM - 30, label, kind="strong", anchor=anchor))
    if light is not None:
        body.append(svg.dot("ring", *axes.place(mark.ratio, light)))
        label = f"○ speed of light: {numbers.gflops(light)}"
        body.append(svg.text(x + side, _BOTTOM - 12, label, kind="strong", anchor=anchor))
    top = axes.place(axes.across.high, peak)[1]
    body.append(svg.text(_RIGHT, top - 7, f"{numbers.gflops(peak)} at most", anchor="end"))
    title = f"Roofline of {device}"
    said = "; ".join(f"{roof.name} allows {numbers.gflops(roof.slope)} per operation per access" for roof in roofs)
    description = (
        f"{said}; the cores allow {numbers.gflops(peak)}. {mark.name}: {numbers.ratio(mark.ratio)} operations "
        f"per 4-byte access, {numbers.gflops(mark.gflops)}."
        + (f" Its speed of light is {numbers.gflops(light)}." if light is not None else "")
    )
    return svg.figure(identity, title, description, "".join(body), _WIDTH, _HEIGHT)


def _axes_around(peak: float, roofs: Sequence[Roof], mark: Mark) -> Axes:
    knees = [peak / roof.slope for roof in roofs]
    ratios = [value for value in (mark.ratio, *knees) if value > 0]
    across = Axis.of_decades(min(0.1, *ratios), max(ratios) * 1.5, _LEFT, _RIGHT)
    low = min(mark.gflops, *(roof.slope * across.low for roof in roofs))
    return Axes(across, Axis.of_decades(max(low, 1e-3), peak * 1.2, _BOTTOM, _TOP))


def _grid(axes: Axes) -> str:
    across, up = ([(value, f"{value:,g}") for value in axis.decades()] for axis in (axes.across, axes.up))
    return axes.grid(across, up, "operations per 4-byte access of a thread") + svg.text(
        _LEFT - 7, _TOP - 12, "GFLOPS", anchor="end"
    )


def _slanted(axes: Axes, roof: Roof) -> str:
    """The memory's name, drawn along its line."""
    first, second = (
        axes.place(axes.across.low, roof.slope * axes.across.low),
        axes.place(10 * axes.across.low, roof.slope * 10 * axes.across.low),
    )
    angle = math.degrees(math.atan2(second[1] - first[1], second[0] - first[0]))
    at = f"translate({first[0]:.0f} {first[1]:.0f}) rotate({angle:.1f})"
    return f'<text transform="{at}" x="60" y="-8">{svg.words(roof.name)}</text>'
