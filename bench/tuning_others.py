"""Searches of other packages on a grid."""

from __future__ import annotations

import contextlib
import io
import json
import random
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bench.tuning_grid import Grid

_AT_ONCE = 8
_TRIES = 80
"""For TPE: so often it may name a point that isn't valid or was tried, then chance chooses."""


def tpe(grid: Grid, budget: int, seed: int) -> Sequence[int]:
    """Optuna's TPE over the places of each axis, with all axes together."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    values = _values(grid)
    encoded = [{name: values[name].index(value) for name, value in point.params.items()} for point in grid.points]
    where = {tuple(each.values()): number for number, each in enumerate(encoded)}
    axes = {name: optuna.distributions.IntDistribution(0, len(found) - 1) for name, found in values.items()}
    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    dice = random.Random(seed)
    tried = dice.sample(range(len(grid.points)), min(12, budget))
    new = list(tried)
    while True:
        for number in new:
            study.add_trial(
                optuna.trial.create_trial(params=encoded[number], distributions=axes, value=grid.speeds[number])
            )
        new = []
        while len(new) < min(_AT_ONCE, budget - len(tried)):
            for _ in range(_TRIES):
                trial = study.ask(axes)
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
                number = where.get(tuple(trial.params[name] for name in values), -1)
                if number >= 0 and number not in tried and number not in new:
                    break
            else:
                number = dice.choice([each for each in where.values() if each not in tried and each not in new])
            new.append(number)
        if not new:
            return tried
        tried += new


def kernel_tuner(strategy: str) -> Callable[[Grid, int, int], Sequence[int]]:
    """A strategy of Kernel Tuner, which reads the grid as its cache of an earlier run."""

    def tried(grid: Grid, budget: int, seed: int) -> Sequence[int]:
        import kernel_tuner

        values = _values(grid)
        where = {tuple(point.params.values()): number for number, point in enumerate(grid.points)}
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - what Kernel Tuner uses
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            cache = Path(folder) / "grid.json"
            cache.write_text(json.dumps(_cache(grid, values)))
            results, _ = kernel_tuner.tune_kernel(
                "kernel",
                "__global__ void kernel(float* P) {}",
                (1,),
                [np.zeros(1, np.float32)],
                values,
                restrictions=[f"({', '.join(values)}) in {set(where)}"],
                block_size_names=[next(iter(values))],
                lang="CUDA",
                strategy=strategy,
                strategy_options={"max_fevals": budget},
                cache=str(cache),
                simulation_mode=True,
                quiet=True,
                seed=seed,
            )
        return [where[tuple(each[name] for name in values)] for each in results]

    return tried


def _values(grid: Grid) -> dict[str, list[int]]:
    names = grid.points[0].params
    return {name: sorted({point.params[name] for point in grid.points}) for name in names}


def _cache(grid: Grid, values: dict[str, list[int]]) -> dict[str, object]:
    entries = {
        ",".join(map(str, point.params.values())): {
            **point.params,
            "time": 1e6 / speed if speed else "CompilationFailedConfig",
            **dict.fromkeys(("compile_time", "verification_time", "benchmark_time"), 0.0),
        }
        for point, speed in zip(grid.points, grid.speeds, strict=True)
    }
    return {
        "device_name": "recorded",
        "kernel_name": "kernel",
        "problem_size": [1],
        "tune_params_keys": list(values),
        "tune_params": values,
        "objective": "time",
        "cache": entries,
    }
