"""The points of an experiment, in the order in which they are tried."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Sequence

from kernels.experiment.constraint import Constraint
from kernels.experiment.model import MOST_POINTS, Axis, DesignKind, Experiment, Params, Point

_MOST_TRIED = 20 * MOST_POINTS


class TooManyPoints(ValueError):
    """More combinations than an experiment may have."""


def points(experiment: Experiment) -> tuple[Point, ...]:
    """All points, kernel by kernel, of a search those to choose from; raises TooManyPoints before they are listed."""
    most = MOST_POINTS // len(experiment.kernels)
    params = tuple(itertools.islice(_chosen(experiment), most + 1))
    if len(params) > most:
        raise TooManyPoints(f"more than {MOST_POINTS:,} points")
    return tuple(Point(kernel, each) for kernel in experiment.kernels for each in params)


def _chosen(experiment: Experiment) -> Iterator[Params]:
    design = experiment.design
    if design.kind is DesignKind.LIST:
        return (row for row in design.rows if _valid(experiment, row))
    whole = design.kind in {DesignKind.GRID, DesignKind.TUNE}
    combinations = math.prod(len(axis.values) for axis in experiment.axes)
    if whole or combinations <= _MOST_TRIED:
        if combinations > _MOST_TRIED:
            raise TooManyPoints(f"{combinations:,} combinations, more than {_MOST_TRIED:,}")
        valid = _combinations(experiment)
        return valid if whole else _sample(experiment, list(valid))
    return _drawn(experiment)


def _combinations(experiment: Experiment) -> Iterator[Params]:
    """All valid combinations. A constraint drops rows as soon as the axes that it names have values."""
    rows: Iterable[Params] = ({},)
    known: set[str] = set()
    left = list(experiment.constraints)
    for axis in experiment.axes:
        known.add(axis.name)
        rows = _extended(rows, axis, [each for each in left if each.names <= known])
        left = [each for each in left if not each.names <= known]
    return iter(rows)


def _extended(rows: Iterable[Params], axis: Axis, constraints: Sequence[Constraint]) -> Iterator[Params]:
    for row in rows:
        for value in axis.values:
            longer = {**row, axis.name: value}
            if all(each.holds(longer) for each in constraints):
                yield longer


def _valid(experiment: Experiment, row: Params) -> bool:
    return all(constraint.holds(row) for constraint in experiment.constraints)


def _sample(experiment: Experiment, valid: list[Params]) -> Iterator[Params]:
    wanted = min(experiment.design.points, len(valid))
    return iter(random.Random(experiment.design.seed).sample(valid, wanted))  # noqa: S311 - it must repeat


def _drawn(experiment: Experiment) -> Iterator[Params]:
    """A sample of a space too large to list: values are drawn until enough points are valid."""
    dice = random.Random(experiment.design.seed)  # noqa: S311 - it must repeat
    seen: set[tuple[int, ...]] = set()
    for _ in range(_MOST_TRIED):
        if len(seen) == experiment.design.points:
            return
        row = {axis.name: dice.choice(axis.values) for axis in experiment.axes}
        key = tuple(row.values())
        if key not in seen and _valid(experiment, row):
            seen.add(key)
            yield row
