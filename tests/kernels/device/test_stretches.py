"""A stretch of steps that runs as one shows the same as its steps one by one."""

from __future__ import annotations

import os

import numpy as np
import pytest

from kernels.device import Budget, Buffer, Execution, Options, load_program, run
from kernels.launch import Launch
from tests.kernels.device.random_loops import THREADS, loop

# TILELAB_LOOPS=100000 tries so many kernels.
ALL = int(os.environ.get("TILELAB_LOOPS", "2000"))
BATCH = 100


def shown_both_ways(seed: int) -> list[tuple[object, ...]]:
    """What a run shows with stretches, and what it shows step by step. A wrapper of steps gets each of them."""
    made = loop(seed)
    program = load_program(made.ptx, "K")
    launch = Launch((2, 1, 1), (THREADS, 1, 1), 0)
    output = np.full(64, np.nan, np.float32)
    buffers = (Buffer("M", made.values, initialised=True), Buffer("P", output, initialised=False))
    options = (Options(budget=Budget(10_000), count=seed % 4 == 0, wrap=wrap) for wrap in (None, lambda step: step))
    return [_everything(run(program, launch, ("M", "P"), buffers, each)) for each in options]


def _everything(execution: Execution) -> tuple[object, ...]:
    return (
        execution.findings,
        {name: values.tobytes() for name, values in execution.values.items()},
        {name: valid.tobytes() for name, valid in execution.valid.items()},
        repr(execution.counts),
        execution.stored,
        execution.instructions,
        execution.steps,
        [_everything(other) for other in execution.others],
        execution.unordered,
    )


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=pytest.mark.long("the short suite has the first batch") if first else ())
        for first in range(0, ALL, BATCH)
    ],
)
def test_a_stretch_shows_the_same_as_its_steps(first):
    for seed in range(first, first + BATCH):
        together, alone = shown_both_ways(seed)
        assert together == alone, loop(seed).ptx
