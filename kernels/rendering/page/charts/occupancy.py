"""Occupancy over the size of a block: how full a multiprocessor is at each, and where this kernel's block stands."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from kernels.rendering.page import numbers
from kernels.rendering.page.charts import svg
from kernels.rendering.page.charts.axes import Axes, Axis

_WIDTH, _HEIGHT = 520, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 496, 20, 202
_MOST = 1024

Place = tuple[int, float]
"""Threads of a block, share of the warps that a multiprocessor holds."""


def occupancy_chart(
    curve: Sequence[Place], here: Place, suggested: Place | None = None, identity: str = "occupancy-curve"
) -> Markup:
    """The chart. here: this kernel's block; suggested: the block with the most threads at once, None to leave out."""
    body = [_grid(), svg.line("roof", *_steps(curve))]
    if suggested is not None and suggested[0] != here[0]:
        x, y = _AXES.place(*suggested)
        body += [svg.dot("ring", x, y), svg.text(x, _above(y), f"{suggested[0]:,}", anchor=_anchor(x))]
    x, y = _AXES.place(*here)
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


_AXES = Axes(Axis(0, _MOST, _LEFT, _RIGHT, logarithmic=False), Axis(0, 1, _BOTTOM, _TOP, logarithmic=False))


def _steps(curve: Sequence[Place]) -> list[tuple[float, float]]:
    """Occupancy jumps from one number of warps to the next: a line of steps."""
    points: list[tuple[float, float]] = []
    for threads, share in curve:
        points += [_AXES.place(threads - 31, share), _AXES.place(threads, share)]
    return points


def _grid() -> str:
    return _AXES.grid(
        ((threads, "" if threads % 256 else f"{threads:,}") for threads in range(0, _MOST + 1, 128)),
        ((share, numbers.percent(share)) for share in (0, 0.25, 0.5, 0.75, 1)),
        "threads of a block",
    )


def _above(y: float) -> float:
    return y - 9 if y > _TOP + 16 else y + 18


def _anchor(x: float) -> str:
    return "end" if x > _RIGHT - 150 else "start"
