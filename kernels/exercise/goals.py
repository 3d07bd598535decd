"""The goals of an exercise: limits on counts, besides a correct result."""

from __future__ import annotations

from collections.abc import Mapping

from kernels.counters import Totals, number
from kernels.evidence import GoalResult
from kernels.exercise.model import Exercise, GoalRule
from kernels.expression import Expression


def goals(
    exercise: Exercise, sizes: Mapping[str, int], tile: int, totals: Totals, own: Mapping[str, int] | None = None
) -> tuple[GoalResult, ...]:
    names = exercise.names(tile, sizes, own)
    return tuple(_result(goal, names, totals) for goal in exercise.goals)


def _result(goal: GoalRule, names: Mapping[str, int], totals: Totals) -> GoalResult:
    counted = number(goal.counter, totals)
    at_most = goal.at_most.evaluate(names) if isinstance(goal.at_most, Expression) else goal.at_most
    return GoalResult(goal.text, goal.counter, counted, float(at_most), counted <= at_most)
