"""The roofline: what a device lets through at each ratio of computation to memory access, and where a kernel stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kernels.rendering.page import numbers
from kernels.rendering.page.charts import svg

_WIDTH, _HEIGHT = 520, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 504, 28, 282


@dataclass(frozen=True, slots=True)
class Roof:
    """The slanted part of a roof: a memory.

    slope: GFLOPS for each operation per 4-byte access, which is GB/s / 4
    """

    name: str
    slope: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A kernel: its operations per 4-byte access, and the speed that the roof allows it there."""

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
    light: GFLOPS that the speed of light allows the kernel, which may lie above the roof where caches help
    """
    scale = _Scale.around(peak, roofs, mark)
    body = [_axes(scale)]
    for number, roof in enumerate(roofs):
        edge = min(scale.right, peak / roof.slope)
        points = [
            (scale.left, roof.slope * scale.left),
            (edge, roof.slope * edge),
            (scale.right, min(peak, roof.slope * scale.right)),
        ]
        drawn = [scale.place(*point) for point in points]
        if number == 0:
            below = [*drawn, (_RIGHT, _BOTTOM), (_LEFT, _BOTTOM)]
            body.append(svg.area("under", below))
        body.append(svg.line("roof" if number == 0 else "roof second", *drawn))
        body.append(_slanted(scale, roof))
    x, y = scale.place(mark.ratio, mark.gflops)
    body += [svg.line("guide", (x, y), (x, _BOTTOM)), svg.dot("point", x, y, 6)]
    # Below the roof there is room at the foot of the guide, on the side of the longer half.
    side, anchor = (-9, "end") if x > (_LEFT + _RIGHT) / 2 else (9, "start")
    label = f"● {mark.name}: {numbers.gflops(mark.gflops)}"
    body.append(svg.text(x + side, _BOTTOM - 30, label, kind="strong", anchor=anchor))
    if light is not None:
        body.append(svg.dot("ring", *scale.place(mark.ratio, light)))
        label = f"○ speed of light: {numbers.gflops(light)}"
        body.append(svg.text(x + side, _BOTTOM - 12, label, kind="strong", anchor=anchor))
    top = scale.place(scale.right, peak)[1]
    body.append(svg.text(_RIGHT, top - 7, f"{numbers.gflops(peak)} at most", anchor="end"))
    title = f"Roofline of {device}"
    said = "; ".join(
        f"{roof.name} allows {numbers.gflops(roof.slope)} per operation per access" for roof in roofs
    )
    description = (
        f"{said}; the cores allow {numbers.gflops(peak)}. {mark.name} makes {numbers.ratio(mark.ratio)} operations "
        f"per 4-byte access, where the roof is at {numbers.gflops(mark.gflops)}."
        + (f" Its speed of light is {numbers.gflops(light)}." if light is not None else "")
    )
    return svg.figure(identity, title, description, "".join(body), _WIDTH, _HEIGHT)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Logarithmic axes over whole powers of ten."""

    left: float
    right: float
    low: float
    high: float

    @staticmethod
    def around(peak: float, roofs: Sequence[Roof], mark: Mark) -> _Scale:
        knees = [peak / roof.slope for roof in roofs]
        ratios = [value for value in (mark.ratio, *knees) if value > 0]
        left, right = _decade(min(0.1, *ratios), down=True), _decade(max(ratios) * 1.5, down=False)
        low = min(mark.gflops, *(roof.slope * left for roof in roofs))
        return _Scale(left, right, _decade(max(low, 1e-3), down=True), _decade(peak * 1.2, down=False))

    def place(self, ratio: float, gflops: float) -> tuple[float, float]:
        across = _share(ratio, self.left, self.right)
        up = _share(gflops, self.low, self.high)
        return _LEFT + across * (_RIGHT - _LEFT), _BOTTOM - up * (_BOTTOM - _TOP)


def _share(value: float, low: float, high: float) -> float:
    """Where a value lies between two, by logarithm; at an end where it lies beyond."""
    return min(1.0, max(0.0, math.log10(max(value, 1e-9) / low) / math.log10(high / low)))


def _decade(value: float, *, down: bool) -> float:
    exponent = math.log10(value)
    return float(10 ** (math.floor(exponent) if down else math.ceil(exponent)))


def _axes(scale: _Scale) -> str:
    parts = []
    for ratio in _decades(scale.left, scale.right):
        x = scale.place(ratio, scale.low)[0]
        parts += [
            svg.line("grid", (x, _TOP), (x, _BOTTOM)),
            svg.text(x, _BOTTOM + 17, f"{ratio:,g}", anchor="middle"),
        ]
    for speed in _decades(scale.low, scale.high):
        y = scale.place(scale.left, speed)[1]
        parts += [
            svg.line("grid", (_LEFT, y), (_RIGHT, y)),
            svg.text(_LEFT - 7, y + 4, f"{speed:,g}", anchor="end"),
        ]
    parts.append(
        svg.text(
            (_LEFT + _RIGHT) / 2, _BOTTOM + 38, "operations per 4-byte access of a thread", anchor="middle"
        )
    )
    parts.append(svg.text(_LEFT - 7, _TOP - 12, "GFLOPS", anchor="end"))
    return "".join(parts)


def _decades(low: float, high: float) -> list[float]:
    steps = round(math.log10(high / low))
    return [low * 10**step for step in range(steps + 1)]


def _slanted(scale: _Scale, roof: Roof) -> str:
    """The memory's name along its line."""
    first, second = (
        scale.place(scale.left, roof.slope * scale.left),
        scale.place(10 * scale.left, roof.slope * 10 * scale.left),
    )
    angle = math.degrees(math.atan2(second[1] - first[1], second[0] - first[0]))
    at = f"translate({first[0]:.0f} {first[1]:.0f}) rotate({angle:.1f})"
    return f'<text transform="{at}" x="60" y="-8">{svg.words(roof.name)}</text>'
