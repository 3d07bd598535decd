"""Two experiments on one page: a plot of both, the ratio of all points, and each pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernels.evidence import Basis
from kernels.experiment.comparison import compare
from kernels.experiment.plot.chosen import choices
from kernels.experiment.plot.compared import comparison_plot
from kernels.experiment.plot.model import NoPlot, Plot
from kernels.experiment.quantities import NoSuchQuantity, Quantity, quantity, speed_of
from kernels.experiment.result import PointResult
from kernels.rendering.experiment import overall_text, pair_cells, unlike_text
from kernels.wording import plural

MOST_COMPARED = 5_000
"""Points of an experiment that a page compares; more take several seconds."""


class NoComparison(ValueError):
    """The two can't be compared; the text says why."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison.

    options: quantities to choose from
    unlike: what else differs between the two; "" for nothing
    rows: the cells of each pair, first its kernel if `several`
    """

    names: tuple[str, str]
    quantity: Quantity
    options: list[tuple[str, str]]
    plots: list[Plot]
    overall: str
    unlike: str
    several: bool
    rows: list[list[str]]


def compared(
    first: Sequence[PointResult],
    second: Sequence[PointResult],
    names: tuple[str, str],
    wanted: str,
    exercises: tuple[str, str],
) -> Compared:
    """Compare two experiments by a quantity, by default the speed; raises NoComparison."""
    everything = [*first, *second]
    try:
        what = quantity(wanted) if wanted else speed_of(everything) or quantity("bound")
    except NoSuchQuantity as error:
        raise NoComparison(str(error)) from error
    if what.needs_gpu and what.basis is not Basis.MEASURED:
        raise NoComparison("This comes from one sample of the power, so it can’t be compared.")
    found = compare(first, second, what)
    if not found.pairs:
        raise NoComparison("The two have no point in common. Choose an experiment with the same axes.")
    several = len({pair.kernel for pair in found.pairs}) > 1
    offered = [each for each in choices(everything).quantities if each.name != "energy"]
    if wanted and what.name not in {each.name for each in offered}:
        offered.append(what)
    alone = [
        f" {plural(count, 'point')} only in {letter}."
        for letter, count in (("A", found.only_first), ("B", found.only_second))
        if count
    ]
    return Compared(
        names,
        what,
        [(each.name, f"{each.title}, {each.basis}") for each in offered],
        _plots(first, second, names, what),
        overall_text(found) + "".join(alone),
        unlike_text(first, second, exercises),
        several,
        [[*([pair.kernel] if several else []), *pair_cells(pair, what)] for pair in found.pairs],
    )


def _plots(
    first: Sequence[PointResult], second: Sequence[PointResult], names: tuple[str, str], what: Quantity
) -> list[Plot]:
    try:
        return [comparison_plot(first, second, names, what)]
    except NoPlot:  # the table says which points have no value
        return []
