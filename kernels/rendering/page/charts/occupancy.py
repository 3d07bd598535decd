"""Occupancy over the size of a block: how full a multiprocessor is at each, and where this kernel's block stands."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from kernels.rendering.page import numbers
from kernels.rendering.page.charts import svg

_WIDTH, _HEIGHT = 520, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 496, 20, 202
_MOST = 1024

Place = tuple[int, float]
"""Threads of a block, share of the warps that a multiprocessor holds."""


def occupancy_chart(
    curve: Sequence[Place], here: Place, suggested: Place | None = None, identity: str = "occupancy-curve"
) -> Markup:
    """The chart. here: this kernel's block; suggested: the block with the most threads at once, None to leave out."""
    body = [_axes(), svg.line("roof", *_steps(curve))]
    if suggested is not None and suggested[0] != here[0]:
        x, y = _place(suggested)
        body += [svg.dot("ring", x, y), svg.text(x, _above(y), f"{suggested[0]:,}", anchor=_anchor(x))]
    x, y = _place(here)
    body += [svg.line("guide", (x, y), (x, _BOTTOM)), svg.dot("point", x, y, 6)]
    side = -9 if _anchor(x) == "end" else 9
    label = f"{here[0]:,} threads: {numbers.percent(here[1])}"
    body.append(svg.text(x + side, _BOTTOM - 12, label, kind="strong", anchor=_anchor(x)))
    best = f" The block size with the most threads at once is {suggested[0]}." if suggested else ""
    description = (
        f"With {here[0]} threads a block, a multiprocessor is {numbers.percent(here[1])} full.{best}"
    )
    return svg.figure(
        identity, "Occupancy over the size of a block", description, "".join(body), _WIDTH, _HEIGHT
    )


def _place(place: Place) -> tuple[float, float]:
    threads, share = place
    return _LEFT + threads / _MOST * (_RIGHT - _LEFT), _BOTTOM - min(1.0, share) * (_BOTTOM - _TOP)


def _steps(curve: Sequence[Place]) -> list[tuple[float, float]]:
    """Occupancy jumps from one number of warps to the next: a line of steps."""
    points: list[tuple[float, float]] = []
    for threads, share in curve:
        points += [_place((threads - 31, share)), _place((threads, share))]
    return points


def _axes() -> str:
    parts = []
    for threads in range(0, _MOST + 1, 128):
        x = _place((threads, 0))[0]
        parts.append(svg.line("grid", (x, _TOP), (x, _BOTTOM)))
        if threads % 256 == 0:
            parts.append(svg.text(x, _BOTTOM + 17, f"{threads:,}", anchor="middle"))
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = _place((0, share))[1]
        parts += [
            svg.line("grid", (_LEFT, y), (_RIGHT, y)),
            svg.text(_LEFT - 7, y + 4, numbers.percent(share), anchor="end"),
        ]
    parts.append(svg.text((_LEFT + _RIGHT) / 2, _BOTTOM + 38, "threads of a block", anchor="middle"))
    return "".join(parts)


def _above(y: float) -> float:
    return y - 9 if y > _TOP + 16 else y + 18


def _anchor(x: float) -> str:
    return "end" if x > _RIGHT - 150 else "start"
