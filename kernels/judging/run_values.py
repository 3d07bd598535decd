"""The values of a trial's run: what the kernel got, what it computed, and what is correct."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device import Execution
from kernels.exercise.trial import Difference, RunValues, ValueTable
from kernels.judging.compare import Mask, Output, is_poison, mismatch, show, wrong_elements
from kernels.judging.inputs import Matrix, make_inputs
from kernels.judging.judge import Solve, buffers
from kernels.judging.operations import results
from kernels.judging.plan import Plan

_MOST_SHOWN = 256
"""Elements of a matrix of which all are listed."""

_WIDEST = 16
_MOST_DIFFERENCES = 8


def run_values(plan: Plan, execution: Execution | None, solve: Solve | None) -> RunValues:
    """Of a plan's first case. execution: None if the kernel didn't run; solve: as for `judge`."""
    case = plan.cases[0]
    inputs = make_inputs(case, int(plan.seed, 16))
    given = [_table(name, matrix) for name, matrix in inputs.items()]
    outputs: list[ValueTable | str] = []
    differences: list[Difference] = []
    if execution is not None:
        solved = None if solve is None else solve(case, buffers(case.by_solution(), inputs))
        for output in results(case, plan.tile, inputs, execution, solved):
            wrong = wrong_elements(output.actual, output.expected)
            outputs.append(_table(output.names[-1], output.actual, output.expected.values, wrong))
            differences += _differences(output, wrong)
    every = [*given, *outputs]
    return RunValues(
        tuple(each for each in given if isinstance(each, ValueTable)),
        tuple(each for each in outputs if isinstance(each, ValueTable)),
        tuple(dict.fromkeys(each for each in every if isinstance(each, str))),
        tuple(differences[:_MOST_DIFFERENCES]),
    )


def _table(
    name: str, values: Matrix, expected: NDArray[Any] | None = None, wrong: Mask | None = None
) -> ValueTable | str:
    """A matrix with all elements, vectors as one row; its name if it is too large for that."""
    if values.shape[1] == 1:
        values = values.T
    rows, columns = values.shape
    if values.size > _MOST_SHOWN or (rows > 1 and columns > _WIDEST):
        return name
    written = ~is_poison(values) if expected is not None and values.itemsize >= 4 else np.ones(values.shape, np.bool_)
    texts = tuple(_text(each) if has else "" for each, has in zip(values.ravel(), written.ravel(), strict=True))
    if expected is None or wrong is None:
        return ValueTable(name, rows, columns, texts)
    right = tuple(_text(each) for each in expected.astype(values.dtype).ravel())
    return ValueTable(name, rows, columns, texts, right, tuple(int(each) for each in np.flatnonzero(wrong)))


def _differences(output: Output, wrong: Mask) -> Iterator[Difference]:
    left = wrong.copy()
    for place in np.flatnonzero(wrong)[:_MOST_DIFFERENCES]:
        found = mismatch(output, left)
        assert found is not None, "one element is still left"
        yield Difference(str(found.element), found.found, found.right)
        left.flat[place] = False


def _text(value: Any) -> str:
    return str(int(value)) if value.dtype.kind in "iu" else show(float(value), wide=value.dtype == np.float64)
