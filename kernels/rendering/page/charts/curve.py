"""Speed over size: this kernel, cuBLAS, and the reference kernels, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kernels.rendering.page import numbers
from kernels.rendering.page.charts import svg

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
    """The chart, with each curve's name at its right end; the first is this kernel."""
    scale = _Scale.around(curves)
    body = [_axes(scale)]
    for curve in reversed(curves):
        points = [scale.place(size, speed) for size, speed in sorted(curve.speeds.items())]
        body.append(svg.line(_LOOKS[curve.kind], *points))
        body += [svg.dot(_DOTS[curve.kind], *point, 5 if curve.kind == "own" else 2.5) for point in points]
    body += _names(curves, scale)
    own = curves[0]
    said = "; ".join(f"at {size:,} {numbers.gflops(speed)}" for size, speed in sorted(own.speeds.items()))
    description = (
        f"{own.name}: {said}. Beside it: {', '.join(curve.name for curve in curves[1:]) or 'nothing'}."
    )
    return svg.figure(
        identity, "Speed over the size of the matrices", description, "".join(body), _WIDTH, _HEIGHT
    )


_LOOKS = {"own": "own", "reference": "roof second", "rung": "rung"}
_DOTS = {"own": "point", "reference": "ring", "rung": "rung-dot"}


def _names(curves: Sequence[Curve], scale: _Scale) -> list[str]:
    """The names one below the other, each as near to the end of its curve as there is room."""
    ends = sorted(
        ((scale.place(*max(curve.speeds.items()))[1], curve) for curve in curves), key=lambda end: end[0]
    )
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


@dataclass(frozen=True, slots=True)
class _Scale:
    left: float
    right: float
    low: float
    high: float

    @staticmethod
    def around(curves: Sequence[Curve]) -> _Scale:
        sizes = [size for curve in curves for size in curve.speeds]
        speeds = [speed for curve in curves for speed in curve.speeds.values() if speed > 0]
        low, high = 10.0 ** math.floor(math.log10(min(speeds))), 10.0 ** math.ceil(math.log10(max(speeds)))
        return _Scale(min(sizes), max(sizes), low, high if high > low else 10 * low)

    def place(self, size: float, speed: float) -> tuple[float, float]:
        across = _share(size, self.left, self.right)
        return _LEFT + across * (_RIGHT - _LEFT), _BOTTOM - _share(speed, self.low, self.high) * (
            _BOTTOM - _TOP
        )


def _share(value: float, low: float, high: float) -> float:
    if high <= low:
        return 0.5
    return min(1.0, max(0.0, math.log(max(value, 1e-9) / low) / math.log(high / low)))


def _axes(scale: _Scale) -> str:
    parts = []
    size = scale.left
    while size <= scale.right:
        x = scale.place(size, scale.low)[0]
        parts += [
            svg.line("grid", (x, _TOP), (x, _BOTTOM)),
            svg.text(x, _BOTTOM + 17, f"{size:,.0f}", anchor="middle"),
        ]
        size *= 2
    for step in range(round(math.log10(scale.high / scale.low)) + 1):
        speed = scale.low * 10**step
        y = scale.place(scale.left, speed)[1]
        parts += [
            svg.line("grid", (_LEFT, y), (_RIGHT, y)),
            svg.text(_LEFT - 7, y + 4, f"{speed:,g}", anchor="end"),
        ]
    parts.append(svg.text((_LEFT + _RIGHT) / 2, _BOTTOM + 38, "size of the matrices", anchor="middle"))
    parts.append(svg.text(_LEFT - 7, _TOP - 8, "GFLOPS", anchor="end"))
    return "".join(parts)
