"""A chart of speed over size for this kernel, cuBLAS and the reference kernels; both axes are logarithmic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kernels.rendering.page import numbers
from kernels.rendering.page.charts import svg
from kernels.rendering.page.charts.axes import Axes, Axis

_WIDTH, _HEIGHT = 720, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 520, 20, 330
_LINE = 14
_LONGEST = 30


@dataclass(frozen=True, slots=True)
class Curve:
    """One kernel: GFLOPS by size. kind: "own", "reference" or "rung"."""

    name: str
    speeds: Mapping[int, float]
    kind: str


def curve_chart(curves: Sequence[Curve], identity: str = "curve-chart") -> Markup:
    """The chart, with each curve's name at its right end. The first curve is this kernel."""
    axes = _axes_around(curves)
    body = [_grid(axes)]
    for curve in reversed(curves):
        points = [axes.place(size, speed) for size, speed in sorted(curve.speeds.items())]
        body.append(svg.line(_LOOKS[curve.kind], *points))
        body += [svg.dot(_DOTS[curve.kind], *point, 5 if curve.kind == "own" else 2.5) for point in points]
    body += _names(curves, axes)
    own = curves[0]
    said = "; ".join(f"at {size:,} {numbers.gflops(speed)}" for size, speed in sorted(own.speeds.items()))
    description = f"{own.name}: {said}. Compared with: {', '.join(curve.name for curve in curves[1:]) or 'nothing'}."
    return svg.figure(identity, "Speed over the size of the matrices", description, "".join(body), _WIDTH, _HEIGHT)


_LOOKS = {"own": "own", "reference": "roof second", "rung": "rung"}
_DOTS = {"own": "point", "reference": "ring", "rung": "rung-dot"}


def _names(curves: Sequence[Curve], axes: Axes) -> list[str]:
    """The names one below the other, each as near to the end of its curve as there is room."""
    ends = sorted(((axes.place(*max(curve.speeds.items()))[1], curve) for curve in curves), key=lambda end: end[0])
    drawn = []
    free: float = _TOP
    for place, (y, curve) in enumerate(ends):
        below = _LINE * (len(ends) - place - 1)
        at = min(max(y, free), _BOTTOM - below)
        free = at + _LINE
        kind = "strong" if curve.kind == "own" else ""
        name = curve.name if len(curve.name) <= _LONGEST else f"{curve.name[: _LONGEST - 1]}…"
        drawn.append(svg.text(_RIGHT + 12, at + 4, name, kind=kind))
    return drawn


def _axes_around(curves: Sequence[Curve]) -> Axes:
    sizes = [size for curve in curves for size in curve.speeds]
    speeds = [speed for curve in curves for speed in curve.speeds.values() if speed > 0]
    return Axes(Axis(min(sizes), max(sizes), _LEFT, _RIGHT), Axis.of_decades(min(speeds), max(speeds), _BOTTOM, _TOP))


def _grid(axes: Axes) -> str:
    sizes = [axes.across.low]
    while 2 * sizes[-1] <= axes.across.high:
        sizes.append(2 * sizes[-1])
    return axes.grid(
        ((size, f"{size:,.0f}") for size in sizes),
        ((speed, f"{speed:,g}") for speed in axes.up.decades()),
        "size of the matrices",
    ) + svg.text(_LEFT - 7, _TOP - 8, "GFLOPS", anchor="end")
