"""A look at a compilation that no case of the CPU device's size is run with: a few blocks of the large case it is for.

Where the sizes of a case are compiled in, the ranking size has machine code of its own. It goes to a GPU only once
its PTX has run here: every access of the sampled blocks is checked as in any case, but no result is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kernels import device
from kernels.judging.judge import arguments, constants, full_budget
from kernels.judging.limits import launch_finding
from kernels.judging.plan import CasePlan, Plan
from kernels.verdict import Example, Finding

if TYPE_CHECKING:
    from worker.steps.modules import Loaded


def sampled_findings(plan: Plan, loaded: Sequence[Loaded]) -> tuple[Finding, ...]:
    """What a few blocks of each such case show."""
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
        [
            device.Buffer(
                matrix.name,
                np.ones(matrix.rows * matrix.columns, np.float32),
                initialised=matrix in case.inputs_of_kernel,
                columns=0 if matrix.vector else matrix.row_length,
            )
            for matrix in case.matrices
        ],
        symbols=on.named(case.symbols),
        shapes=case.shapes,
        state=on.named(constants(case)),
        budget=full_budget(case),
        warp_races=plan.warp_races,
        blocks=sample(case.launch.blocks),
    )
    for finding in ran.findings:
        yield replace(finding, example=replace(finding.example or Example(), case=case.name))


def sample(blocks: int) -> list[int]:
    """The first block, the last one, and one between them."""
    return sorted({0, blocks // 2, blocks - 1})
