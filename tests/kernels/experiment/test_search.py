"""A search on made-up spaces: what it finds, what it leaves out, why it stops, and that it repeats."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from kernels.experiment.model import Design, DesignKind, Point
from kernels.experiment.result import PointResult
from kernels.experiment.tuning.search import coordinates, next_points, search
from kernels.experiment.tuning.state import Stop, Tuning, tuning_of
from kernels.verdict import Verdict
from tests.kernels.experiment.made import failed, result

POINTS = tuple(
    Point("a.cu", {"BM": bm, "BN": bn, "TM": tm, "TN": tn})
    for bm, bn in itertools.product((16, 32, 64, 128, 256), repeat=2)
    for tm, tn in itertools.product((1, 2, 4, 8), repeat=2)
)


def speed(point: Point) -> float:
    """A hill over four axes that depend on each other, with a ripple."""
    bm, bn, tm, tn = (math.log2(value) for value in point.params.values())
    hill = (bm - 6.7) ** 2 / 6 + (bn - 6.2) ** 2 / 9 + (tm + tn - 4.1) ** 2 / 3 + (bm - bn - tm + tn) ** 2 / 20
    ripple = 0.02 * math.sin(7 * bm + 5 * bn + 3 * tm + 11 * tn)
    return 30_000 * math.exp(ripple - hill / 2)


class Grid:
    """Results of a whole grid, and what a search asked of it."""

    def __init__(self, *, models: bool = True, over: float = 1.3, unfit: Sequence[int] = ()) -> None:
        self.models = models
        self.modelled: list[int] = []
        self.measured: list[int] = []
        self._over, self._unfit = over, unfit

    def model(self, numbers: Sequence[int]) -> list[PointResult]:
        self.modelled += numbers
        return [self._model(number) for number in numbers]

    def measure(self, numbers: Sequence[int]) -> list[PointResult]:
        self.measured += numbers
        return [result(number, speed(POINTS[number])) for number in numbers]

    def _model(self, number: int) -> PointResult:
        if number in self._unfit:
            return failed(number, Verdict.RESOURCE_LIMIT)
        made = result(number)
        assert made.modelled is not None
        return replace(made, modelled=replace(made.modelled, gflops=self._over * speed(POINTS[number])))


def searched(grid: Grid, points: int, seed: int = 0, goal: str = "gflops") -> Tuning:
    design = Design(DesignKind.TUNE, points, seed, goal=goal)
    return list(search(POINTS, design, grid))[-1]


BEST = max(map(speed, POINTS))


@pytest.mark.one_in(2, "one of two")
@pytest.mark.parametrize("models", [True, False])
def test_an_eighth_of_the_points_finds_the_best_within_three_percent(models):
    for seed in range(3):
        found = searched(Grid(models=models), len(POINTS) // 8, seed)
        assert found.best is not None
        assert speed(POINTS[found.best]) >= 0.97 * BEST


def test_points_are_tried_once_and_within_the_budget():
    grid = Grid()
    found = searched(grid, 50)
    assert len(grid.measured) == len(set(grid.measured)) == 50
    assert found.tried == tuple(grid.measured)
    assert found.stopped is Stop.BUDGET
    assert len(grid.modelled) == len(set(grid.modelled)) == found.modelled >= 50


def test_a_search_repeats_with_its_seed():
    first, again, other = Grid(), Grid(), Grid()
    assert searched(first, 40, 3) == searched(again, 40, 3)
    searched(other, 40, 4)
    assert first.measured == again.measured != other.measured


def test_no_point_is_measured_after_its_model_said_that_it_cannot_win():
    grid = Grid()
    states = list(search(POINTS, Design(DesignKind.TUNE, 200, 0, goal="gflops"), grid))
    for before, after in itertools.pairwise(states):
        assert not set(before.pruned) & set(after.tried)
    last = states[-1]
    assert last.best is not None
    assert last.pruned
    assert all(1.3 * speed(POINTS[number]) < speed(POINTS[last.best]) for number in last.pruned)
    assert last.stopped is Stop.IN_VAIN
    assert len(last.tried) < 200
    assert speed(POINTS[last.best]) == BEST


def test_a_model_below_what_was_measured_is_not_believed():
    found = searched(Grid(over=0.5), 200)
    assert found.best is not None
    assert speed(POINTS[found.best]) == BEST


def test_points_that_are_not_accepted_cost_nothing():
    unfit = range(0, len(POINTS), 3)
    grid = Grid(over=9.0, unfit=unfit)
    found = searched(grid, 50)
    assert len(found.tried) == 50
    assert found.unfit
    assert set(found.unfit) <= set(unfit)
    assert not set(found.tried) & set(unfit)


def test_a_small_space_is_tried_whole():
    points = POINTS[:5]
    grid = Grid(models=False)
    *_, found = search(points, Design(DesignKind.TUNE, 100, 0, goal="gflops"), grid)
    assert sorted(found.tried) == [0, 1, 2, 3, 4]
    assert found.budget == found.space == 5
    assert found.stopped is Stop.BUDGET


def test_less_is_better_of_a_counter_and_zero_is_best():
    class Counts(Grid):
        def measure(self, numbers: Sequence[int]) -> list[PointResult]:
            return [result(number, loads=abs(number - 123)) for number in numbers]

    assert searched(Counts(models=False), 200, goal="loads").best == 123


def test_a_space_without_any_value_is_searched_and_has_no_best():
    class Broken(Grid):
        def measure(self, numbers: Sequence[int]) -> list[PointResult]:
            return [failed(number) for number in numbers]

    found = searched(Broken(models=False), 30)
    assert found.best is None
    assert len(found.tried) == 30


def test_coordinates_are_places_of_values_and_a_column_for_each_kernel():
    points = [Point(kernel, {"T": value}) for kernel in ("a", "b") for value in (1, 4, 64)]
    assert coordinates(points).tolist() == [
        [0, 1, 0], [0.5, 1, 0], [1, 1, 0], [0, 0, 1], [0.5, 0, 1], [1, 0, 1],
    ]  # fmt: skip


def test_a_search_goes_on_from_its_results_whatever_their_order():
    design, known = Design(DesignKind.TUNE, 24, seed=5, goal="gflops"), list[PointResult]()
    while chosen := next_points(POINTS, design, known):
        assert next_points(POINTS, design, known[::-1]) == chosen
        known = [*(result(number, speed(POINTS[number])) for number in chosen), *known]
    found = tuning_of(design, len(POINTS), known)
    assert (len(found.tried), len(set(found.tried)), found.stopped) == (24, 24, Stop.BUDGET)
    assert found.best == max(found.tried, key=lambda number: speed(POINTS[number]))
