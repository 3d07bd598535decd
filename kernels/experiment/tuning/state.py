"""What a search did: the points it tried, the points that can't win, and why it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from kernels.experiment.model import Design, DesignKind, Experiment
from kernels.experiment.quantities import Quantity, quantity
from kernels.experiment.result import PointResult
from kernels.verdict import Verdict


class Stop(StrEnum):
    BUDGET = "budget"
    NONE_LEFT = "none_left"
    IN_VAIN = "in_vain"


@dataclass(frozen=True, slots=True)
class Tuning:
    """A search. Points are named by their number.

    goal: the quantity whose best value is looked for
    space: the number of valid points
    budget: the most points to try
    tried: in the order of their choice
    modelled: how many points were modelled
    pruned: modelled, and too slow at the speed of light
    unfit: modelled, and not accepted on the CPU device
    best: None if no point has a value
    stopped: None while the search goes on
    """

    goal: str
    space: int
    budget: int
    tried: tuple[int, ...] = ()
    modelled: int = 0
    pruned: tuple[int, ...] = ()
    unfit: tuple[int, ...] = ()
    best: int | None = None
    stopped: Stop | None = None


def unmeasurable(experiment: Experiment, device_class: str) -> str:
    """Why the goal of a search has no values; "" if it may have some.

    device_class: what measures; "" for the CPU device
    """
    if experiment.design.kind is not DesignKind.TUNE:
        return ""
    goal = quantity(experiment.design.goal)
    if not goal.needs_gpu:
        return "" if experiment.measure.counts else f"`{goal.name}` needs counts, and [measure] leaves them out."
    if device_class:
        return ""
    return f'`{goal.name}` needs a GPU. Use one, or a goal such as "bound" or "loads".'


def tuning_of(design: Design, space: int, results: Sequence[PointResult]) -> Tuning:
    """A search without models, judging by the results of the points that it tried."""
    goal, budget = quantity(design.goal), min(design.points, space)
    values = {result.number: goal.of(result) for result in results if result.verdict is Verdict.ACCEPTED}
    known = {number: value for number, value in values.items() if value is not None}
    best = max if goal.better == "more" else min
    return Tuning(
        goal=goal.name,
        space=space,
        budget=budget,
        tried=tuple(result.number for result in results),
        best=best(known, key=known.__getitem__, default=None),
        stopped=Stop.BUDGET if len(results) == budget else None,
    )


def limit(result: PointResult, goal: Quantity) -> float | None:
    """The value at a point's speed of light; None if the goal has no such limit."""
    if result.modelled is None:
        return None
    return {"gflops": result.modelled.gflops, "ms": result.modelled.milliseconds}.get(goal.name)
