"""The axes of a chart: the positions of values, and the grid with its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from kernels.rendering.page.charts import svg

Marks = Iterable[tuple[float, str]]
"""Values with their labels."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A map from values to positions. A value beyond an end is drawn at that end.

    low, high: the values at the positions start and end
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = True

    @classmethod
    def of_decades(cls, low: float, high: float, start: float, end: float) -> Axis:
        """A logarithmic axis over whole powers of ten, at least one."""
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        return cls(10.0**first, 10.0 ** max(last, first + 1), start, end)

    def place(self, value: float) -> float:
        if self.high <= self.low:
            share = 0.5
        elif self.logarithmic:
            share = math.log(max(value, 1e-9) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def decades(self) -> list[float]:
        return [self.low * 10**step for step in range(round(math.log10(self.high / self.low)) + 1)]


@dataclass(frozen=True, slots=True)
class Axes:
    """A horizontal and a vertical axis."""

    across: Axis
    up: Axis

    def place(self, x: float, y: float) -> tuple[float, float]:
        return self.across.place(x), self.up.place(y)

    def grid(self, columns: Marks, rows: Marks, foot: str) -> str:
        """Lines with their numbers. foot: the title of the horizontal axis."""
        left, right, bottom, top = self.across.start, self.across.end, self.up.start, self.up.end
        parts = []
        for value, label in columns:
            x = self.across.place(value)
            parts.append(svg.line("grid", (x, top), (x, bottom)))
            if label:
                parts.append(svg.text(x, bottom + 17, label, anchor="middle"))
        for value, label in rows:
            y = self.up.place(value)
            parts += [svg.line("grid", (left, y), (right, y)), svg.text(left - 7, y + 4, label, anchor="end")]
        parts.append(svg.text((left + right) / 2, bottom + 38, foot, anchor="middle"))
        return "".join(parts)
