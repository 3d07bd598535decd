"""How much of a grid's best speed a search finds with a part of its points, from ten seeds.

python -m bench.tuning FOLDER|--made-up SEED

The grid is a folder's, or made up by a formula. Each line is one search: Tilelab's own, a random sample, Optuna's TPE,
and strategies of Kernel Tuner. A package that isn't installed is left out. Each point that a search tries counts once.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.table import table
from bench.tuning_grid import Grid, made_up, recorded
from kernels.experiment.model import Design, DesignKind
from kernels.experiment.result import PointResult
from kernels.experiment.tuning.search import search

Strategy = Callable[[Grid, int, int], Sequence[int]]
"""Gives the points that it tries of a grid, with so many points and a seed."""


def main() -> None:
    """Search, then print."""
    parser = argparse.ArgumentParser(prog="python -m bench.tuning", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="results of a grid that was measured")
    parser.add_argument("--made-up", type=int, metavar="SEED", help="a made-up grid instead of a folder")
    parser.add_argument("--share", type=int, default=8, help="one of so many points is tried")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    if (options.folder is None) == (options.made_up is None):
        parser.error("give a folder or --made-up, not both")
    grid = recorded(options.folder) if options.folder is not None else made_up(options.made_up)
    budget = len(grid.points) // options.share
    print(f"{len(grid.points):,} points, {grid.near:,} within 3 % of the best, {budget:,} tried")
    rows = []
    for name, strategy in _strategies().items():
        print(f"bench: {name}", file=sys.stderr)
        rows.append(_row(name, [_found(grid, strategy, budget, seed) for seed in range(options.seeds)]))
    heads = ("search", "within 3 %", "median", "worst", "tried", "s")
    print(table(heads, rows))


@dataclass(frozen=True, slots=True)
class _Found:
    share: float
    tried: int
    seconds: float


def _found(grid: Grid, strategy: Strategy, budget: int, seed: int) -> _Found:
    began = time.process_time()
    tried = strategy(grid, budget, seed)
    seconds = time.process_time() - began
    if len(set(tried)) > budget:
        raise AssertionError("more points than the budget")
    return _Found(max((grid.speeds[number] for number in tried), default=0.0) / grid.best, len(set(tried)), seconds)


def _row(name: str, found: Sequence[_Found]) -> tuple[str, ...]:
    shares = [each.share for each in found]
    near = sum(share >= 0.97 for share in shares)
    return (
        name,
        f"{near} of {len(found)}",
        f"{statistics.median(shares):.3f}",
        f"{min(shares):.3f}",
        f"{statistics.median(each.tried for each in found):.0f}",
        f"{statistics.median(each.seconds for each in found):.2f}",
    )


def _strategies() -> Mapping[str, Strategy]:
    found: dict[str, Strategy] = {
        "tilelab": _tilelab,
        "tilelab without models": _without_models,
        "random sample": _random,
    }
    if importlib.util.find_spec("optuna") is not None:
        from bench.tuning_others import tpe

        found["Optuna TPE"] = tpe
    if importlib.util.find_spec("kernel_tuner") is not None:
        from bench.tuning_others import kernel_tuner

        for name in ("genetic_algorithm", "greedy_ils", "simulated_annealing"):
            found[f"Kernel Tuner {name}"] = kernel_tuner(name)
    return found


class _Recorded:
    """The results of a grid, as a run gives them to a search."""

    def __init__(self, grid: Grid, *, models: bool) -> None:
        self._grid, self.models = grid, models

    def model(self, numbers: Sequence[int]) -> list[PointResult]:
        return [replace(self._grid.results[number], measurement=None) for number in numbers]

    def measure(self, numbers: Sequence[int]) -> list[PointResult]:
        return [self._grid.results[number] for number in numbers]


def _tilelab(grid: Grid, budget: int, seed: int, *, models: bool = True) -> Sequence[int]:
    design = Design(DesignKind.TUNE, budget, seed, goal="gflops")
    *_, last = search(grid.points, design, _Recorded(grid, models=models))
    return last.tried


def _without_models(grid: Grid, budget: int, seed: int) -> Sequence[int]:
    return _tilelab(grid, budget, seed, models=False)


def _random(grid: Grid, budget: int, seed: int) -> Sequence[int]:
    return random.Random(seed).sample(range(len(grid.points)), budget)


if __name__ == "__main__":
    main()
