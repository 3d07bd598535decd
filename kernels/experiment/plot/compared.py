"""A plot of two experiments: the same quantity of both, as series A and B."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernels.experiment.plot.chosen import plot
from kernels.experiment.plot.model import KERNEL, Plot, Request
from kernels.experiment.quantities import Quantity
from kernels.experiment.result import PointResult


def comparison_plot(
    first: Sequence[PointResult], second: Sequence[PointResult], names: tuple[str, str], what: Quantity
) -> Plot:
    """The quantity over the axis that suits best; raises NoPlot. names: of A and B, for the plot's key."""
    joined = [*_renamed(first, "A"), *_renamed(second, "B")]
    made = plot(joined, Request(y=what.name, by=KERNEL))
    return replace(made, kernels={**dict(zip("AB", names, strict=True)), **made.kernels})


def _renamed(results: Sequence[PointResult], letter: str) -> Iterator[PointResult]:
    several = len({result.kernel for result in results}) > 1
    return (replace(each, kernel=f"{letter} {each.kernel}" if several else letter) for each in results)
