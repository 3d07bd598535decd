"""What a search did: the points it tried, the points that can't win, and why it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kernels.experiment.quantities import Quantity
from kernels.experiment.result import PointResult


class Stop(StrEnum):
    """Why a search ended."""

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


def limit(result: PointResult, goal: Quantity) -> float | None:
    """The value at a point's speed of light; None if the goal has no such limit."""
    if result.modelled is None:
        return None
    return {"gflops": result.modelled.gflops, "ms": result.modelled.milliseconds}.get(goal.name)
