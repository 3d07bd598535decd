"""The lines of a plot: points of an experiment by one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernels.experiment.quantities import Quantity
from kernels.experiment.result import PointResult


@dataclass(frozen=True, slots=True)
class Line:
    """Points with growing values of one axis.

    name: what they have in common, "" for the only line
    """

    name: str
    points: tuple[PointResult, ...]


class NoLines(ValueError):
    """Nothing can be drawn; the message is a sentence."""


def varied(results: Sequence[PointResult]) -> list[str]:
    """The axes with more than one value."""
    names = list(results[0].params) if results else []
    return [name for name in names if len({each.params[name] for each in results}) > 1]


def lines(results: Sequence[PointResult], across: str, what: Quantity, by: str | None = None) -> list[Line]:
    """The lines of a quantity over an axis; raises NoLines.

    by: the axis, or "kernel", that tells lines apart. Of points that differ in other axes the best is on the line.
        None for a line for each combination of the other axes
    """
    names = list(results[0].params) if results else []
    for name in (across, *([by] if by not in {None, "kernel"} else [])):
        if name not in names:
            raise NoLines(
                f"`{name}` isn't an axis of this experiment. Its axes are {', '.join(names) or 'none'}."
            )
    others = [name for name in varied(results) if name != across] if by is None else [by]
    if by is None and len({each.kernel for each in results}) > 1:
        others.insert(0, "kernel")
    found: dict[str, dict[int, PointResult]] = {}
    for each in results:
        if what.of(each) is not None:
            line = found.setdefault(_name(each, others), {})
            line[each.params[across]] = _better(line.get(each.params[across]), each, what)
    if not found:
        raise NoLines(f"No point has this: {what.title.lower()}, {what.basis}.")
    return [Line(name, tuple(spots[x] for x in sorted(spots))) for name, spots in found.items()]


def _name(result: PointResult, others: Sequence[str | None]) -> str:
    said = (result.kernel if name == "kernel" else f"{name}={result.params[name or '']}" for name in others)
    return ", ".join(said)


def _better(known: PointResult | None, new: PointResult, what: Quantity) -> PointResult:
    if known is None:
        return new
    more = (what.of(new) or 0) > (what.of(known) or 0)
    return new if more == (what.better == "more") else known
