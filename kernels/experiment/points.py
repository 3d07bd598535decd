"""The points of an experiment, in the order in which they are tried."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Sequence

from kernels.experiment.constraint import Constraint
from kernels.experiment.model import MOST_POINTS, Axis, DesignKind, Experiment, Params, Point

MOST_WORK = 2_000_000
"""Of `work_of`: about 0.2 s. A server lists the points in a request, and again in its dispatcher."""

MOST_LOCAL_WORK = 25 * MOST_WORK
"""On someone's own machine."""

_ROW = 8
"""The work for one row of values, in operations of a constraint."""


class TooManyPoints(ValueError):
    """More combinations than an experiment may have."""


class TooMuchWork(TooManyPoints):
    """Too many combinations for the length of the constraints. work, most: the work, and its limit."""

    def __init__(self, combinations: int, work: int, most: int) -> None:
        super().__init__(
            f"{combinations:,} combinations, too many for {work // combinations:,} steps each: "
            f"the limit is {most:,} steps in all"
        )
        self.work, self.most = work, most


def points(experiment: Experiment, most_work: int = MOST_WORK) -> tuple[Point, ...]:
    """All points, kernel by kernel, of a search those to choose from; raises TooManyPoints before they are listed."""
    most = MOST_POINTS // len(experiment.kernels)
    params = tuple(itertools.islice(_chosen(experiment, most_work), most + 1))
    if len(params) > most:
        raise TooManyPoints(f"more than {MOST_POINTS:,} points")
    return tuple(Point(kernel, param) for kernel in experiment.kernels for param in params)


def work_of(experiment: Experiment) -> int:
    """At most how many operations it takes to list all valid combinations."""
    rows, work = 1, 0
    for axis, constraints in _levels(experiment):
        rows *= len(axis.values)
        work += rows * (_ROW + sum(constraint.cost for constraint in constraints))
    return work


def _chosen(experiment: Experiment, most_work: int) -> Iterator[Params]:
    design = experiment.design
    if design.kind is DesignKind.LIST:
        _check_work(experiment, len(design.rows), len(design.rows) * _try_work(experiment), most_work)
        return (row for row in design.rows if _valid(experiment, row))
    work = work_of(experiment)
    if design.kind is DesignKind.RANDOM:
        if work > MOST_WORK:
            return _drawn(experiment, most_work)
        valid = list(_combinations(experiment))
        wanted = min(experiment.design.points, len(valid))
        return iter(random.Random(experiment.design.seed).sample(valid, wanted))  # noqa: S311 - it must repeat
    _check_work(experiment, math.prod(len(axis.values) for axis in experiment.axes), work, most_work)
    return _combinations(experiment)


def _check_work(experiment: Experiment, combinations: int, work: int, most: int) -> None:
    if work > most:
        raise TooMuchWork(combinations, work, most)


def _levels(experiment: Experiment) -> Iterator[tuple[Axis, list[Constraint]]]:
    """Each axis, with the constraints whose names all have values from there on."""
    known: set[str] = set()
    left = list(experiment.constraints)
    for axis in experiment.axes:
        known.add(axis.name)
        yield axis, [each for each in left if each.names <= known]
        left = [each for each in left if not each.names <= known]


def _try_work(experiment: Experiment) -> int:
    """The operations for one whole row of values."""
    return _ROW * len(experiment.axes) + sum(constraint.cost for constraint in experiment.constraints)


def _combinations(experiment: Experiment) -> Iterator[Params]:
    """All valid combinations. A constraint drops rows as soon as the axes that it names have values."""
    rows: Iterable[Params] = ({},)
    for axis, constraints in _levels(experiment):
        rows = _extended(rows, axis, constraints)
    return iter(rows)


def _extended(rows: Iterable[Params], axis: Axis, constraints: Sequence[Constraint]) -> Iterator[Params]:
    for row in rows:
        for value in axis.values:
            longer = {**row, axis.name: value}
            if all(constraint.holds(longer) for constraint in constraints):
                yield longer


def _valid(experiment: Experiment, row: Params) -> bool:
    return all(constraint.holds(row) for constraint in experiment.constraints)


def _drawn(experiment: Experiment, most_work: int) -> Iterator[Params]:
    """A sample of a space too large to list: values are drawn until enough points are valid."""
    wanted, tries = experiment.design.points, most_work // _try_work(experiment)
    if wanted > tries:
        raise TooManyPoints(f"a random design of {wanted:,} points; here it can have {tries:,}")
    return _draws(experiment, wanted, tries)


def _draws(experiment: Experiment, wanted: int, tries: int) -> Iterator[Params]:
    dice = random.Random(experiment.design.seed)  # noqa: S311 - it must repeat
    seen: set[tuple[int, ...]] = set()
    for _ in range(tries):
        if len(seen) == wanted:
            return
        row = {axis.name: dice.choice(axis.values) for axis in experiment.axes}
        key = tuple(row.values())
        if key not in seen and _valid(experiment, row):
            seen.add(key)
            yield row
