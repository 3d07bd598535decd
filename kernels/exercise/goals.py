"""What an exercise asks of the counts beside a right result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from kernels.evidence import GoalResult, Totals
from kernels.exercise.model import Exercise, GoalRule
from kernels.expression import Expression

_PER_REQUEST = {
    "global_load_sectors_per_request": ("global_load_sectors", "global_load_requests"),
    "global_store_sectors_per_request": ("global_store_sectors", "global_store_requests"),
}

COUNTERS = frozenset({field.name for field in fields(Totals)} | _PER_REQUEST.keys()) | {
    "shared_wavefronts_per_request"
}
"""What a goal may name: the totals, and those of them that are divided by a number of requests."""


def goals(
    exercise: Exercise,
    sizes: Mapping[str, int],
    tile: int,
    totals: Totals,
    own: Mapping[str, int] | None = None,
) -> tuple[GoalResult, ...]:
    """Each goal of the exercise beside what was counted at these sizes.

    own: values that the submission gives to macros itself
    """
    names = exercise.names(tile, sizes, own)
    return tuple(_result(goal, names, totals) for goal in exercise.goals)


def _result(goal: GoalRule, names: Mapping[str, int], totals: Totals) -> GoalResult:
    counted = counter(goal.counter, totals)
    at_most = goal.at_most.evaluate(names) if isinstance(goal.at_most, Expression) else goal.at_most
    return GoalResult(goal.text, goal.counter, counted, float(at_most), counted <= at_most)


def counter(name: str, totals: Totals) -> float:
    """The value of one of COUNTERS; 0 for an average over no request."""
    if name == "shared_wavefronts_per_request":
        requests = totals.shared_load_requests + totals.shared_store_requests
        return _ratio(totals.shared_load_wavefronts + totals.shared_store_wavefronts, requests)
    if name in _PER_REQUEST:
        part, whole = (getattr(totals, each) for each in _PER_REQUEST[name])
        return _ratio(part, whole)
    return float(getattr(totals, name))


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
