"""A chart of occupancy over block size, with this kernel's block."""

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
"""Threads of a block, share of the multiprocessor's warps."""


def occupancy_chart(
    curve: Sequence[Place], here: Place, suggested: Place | None = None, identity: str = "occupancy-curve"
) -> Markup:
    """The chart. here: this kernel's block; suggested: the block size with the most resident threads, or None."""
    body = [_grid(), svg.line("roof", *_steps(curve))]
    if suggested is not None and suggested[0] != here[0]:
        x, y = _AXES.place(*suggested)
        body += [svg.dot("ring", x, y), svg.text(x, _above(y), f"{suggested[0]:,}", anchor=_anchor(x))]
    x, y = _AXES.place(*here)
    body += [svg.line("guide", (x, y), (x, _BOTTOM)), svg.dot("point", x, y, 6)]
    side = -9 if _anchor(x) == "end" else 9
    label = f"{here[0]:,} threads: {numbers.percent(here[1])}"
    body.append(svg.text(x + side, _BOTTOM - 12, label, kind="strong", anchor=_anchor(x)))
    best = f" A block of {suggested[0]} threads gives the most resident threads." if suggested else ""
    description = f"With {here[0]} threads per block, occupancy is {numbers.percent(here[1])}.{best}"
    return svg.figure(identity, "Occupancy by block size", description, "".join(body), _WIDTH, _HEIGHT)


_AXES = Axes(Axis(0, _MOST, _LEFT, _RIGHT, logarithmic=False), Axis(0, 1, _BOTTOM, _TOP, logarithmic=False))


def _steps(curve: Sequence[Place]) -> list[tuple[float, float]]:
    """A line of steps, because occupancy changes only with the number of warps."""
    points: list[tuple[float, float]] = []
    for threads, share in curve:
        points += [_AXES.place(threads - 31, share), _AXES.place(threads, share)]
    return points


def _grid() -> str:
    return _AXES.grid(
        ((threads, "" if threads % 256 else f"{threads:,}") for threads in range(0, _MOST + 1, 128)),
        ((share, numbers.percent(share)) for share in (0, 0.25, 0.5, 0.75, 1)),
        "threads per block",
    )


def _above(y: float) -> float:
    return y - 9 if y > _TOP + 16 else y + 18


def _anchor(x: float) -> str:
    return "end" if x > _RIGHT - 150 else "start"
