"""Sampled blocks of compilations that no small case runs.

If sizes are compiled in, the ranking size has its own machine code. It goes to a GPU only after a few blocks of it have
run on the CPU device. Their accesses are checked as in any case, but no results are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kernels import device
from kernels.exercise import Operation
from kernels.judging.inputs import Matrix, make_inputs
from kernels.judging.judge import arguments, buffers, constants, full_budget
from kernels.judging.limits import launch_finding
from kernels.judging.plan import CasePlan, Plan
from kernels.verdict import Example, Finding

if TYPE_CHECKING:
    from worker.steps.modules import Loaded


def sampled_findings(plan: Plan, loaded: Sequence[Loaded]) -> tuple[Finding, ...]:
    """The findings in a few blocks of each such case."""
    checked = {case.module for case in plan.cases if case.on_cpu}
    found: list[Finding] = []
    for case in plan.cases:
        if case.module not in checked and case.module < len(loaded):
            checked.add(case.module)
            found += _findings(plan, case, loaded[case.module])
    return tuple(found)


def _findings(plan: Plan, case: CasePlan, on: Loaded) -> Iterator[Finding]:
    problem = case.problem or launch_finding(case, on.module.resources)
    if case.launch is None or problem is not None:
        if problem is not None:
            yield problem
        return
    ran = device.run(
        on.program,
        case.launch,
        arguments(case),
        buffers(case, _inputs(case)),
        device.Options(
            symbols=on.named(case.symbols),
            shapes=case.shapes,
            state=on.named(constants(case)),
            budget=full_budget(case),
            warp_races=plan.warp_races,
            blocks=sample(case.launch.blocks),
        ),
    )
    for finding in ran.findings:
        yield replace(finding, example=replace(finding.example or Example(), case=case.name))


def _inputs(case: CasePlan) -> dict[str, Matrix]:
    """Ones, which nothing depends on; for the operation SOLUTION, values that the kernel may use as indices."""
    if case.operation is Operation.SOLUTION:
        return make_inputs(case, 1)
    return {matrix.name: np.ones((matrix.rows, matrix.columns), np.float32) for matrix in case.inputs_of_kernel}


def sample(blocks: int) -> list[int]:
    """The first, the middle and the last block."""
    return sorted({0, blocks // 2, blocks - 1})
