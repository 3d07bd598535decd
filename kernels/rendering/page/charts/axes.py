"""A pair of axes in a picture: the places of values, and the grid with its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernels.rendering.page.charts import svg
from kernels.rendering.plot.axes import Axis

Marks = Iterable[tuple[float, str]]
"""Values with their labels."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The place of a pair of axes."""

    left: float
    right: float
    top: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left


@dataclass(frozen=True, slots=True)
class Axes:
    """A horizontal and a vertical axis in a frame."""

    across: Axis
    up: Axis
    frame: Frame

    def x(self, value: float) -> float:
        return self.frame.left + self.across.share(value) * self.frame.width

    def y(self, value: float) -> float:
        return self.frame.bottom - self.up.share(value) * (self.frame.bottom - self.frame.top)

    def place(self, x: float, y: float) -> tuple[float, float]:
        return self.x(x), self.y(y)

    def grid(self, columns: Marks, rows: Marks, foot: str) -> str:
        """Lines with their numbers. foot: the title of the horizontal axis."""
        left, right, top, bottom = self.frame.left, self.frame.right, self.frame.top, self.frame.bottom
        parts = []
        for value, label in columns:
            x = self.x(value)
            parts.append(svg.line("grid", (x, top), (x, bottom)))
            if label:
                parts.append(svg.text(x, bottom + 17, label, anchor="middle"))
        for value, label in rows:
            y = self.y(value)
            parts += [svg.line("grid", (left, y), (right, y)), svg.text(left - 7, y + 4, label, anchor="end")]
        parts.append(svg.text((left + right) / 2, bottom + 38, foot, anchor="middle"))
        return "".join(parts)
