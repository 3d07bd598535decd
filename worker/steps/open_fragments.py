"""Kernels whose results depend on where `wmma` fragments hold their elements, which CUDA leaves open.

Such a kernel may be correct on one device only. So a passed case of each size runs again with the elements at other
places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kernels import device
from kernels.judging.inputs import make_inputs
from kernels.judging.judge import buffers, constants, full_budget, judge_run
from kernels.judging.outcomes import size_text
from kernels.judging.plan import CasePlan, Plan
from kernels.verdict import CaseCheck, CaseStatus, Example, Finding, Severity, Verdict, errors_of

if TYPE_CHECKING:
    from kernels.judging.judge import Solve
    from worker.steps.modules import Loaded


def fragment_findings(
    plan: Plan, loaded: Sequence[Loaded], checks: Sequence[CaseCheck], solve: Solve | None
) -> Iterator[Finding]:
    """A remark, if a passed case isn't correct with the elements at other places."""
    used = [[device.first_use(program) for program in (on.program, *on.others.values())] for on in loaded]
    passed = {check.case for check in checks if check.status is CaseStatus.PASSED}
    # The inputs of one size differ in their values only.
    by_size = {tuple(case.sizes.items()): case for case in plan.cases if case.name in passed}
    for case in sorted(by_size.values(), key=lambda case: case.weight):
        use = next((each for each in used[case.module] if each is not None), None)
        if use is None or not _depends(plan, case, loaded[case.module], solve):
            continue
        message = (
            f"The result depends on where `wmma` fragments hold their elements ({size_text(case)}). CUDA leaves this "
            "open, so another device may differ. Treat all elements alike in a loop up to `num_elements`. Or use "
            "`mma.sync`, whose layout is documented."
        )
        example = Example(case=case.name)
        yield Finding(Verdict.REJECTED, message, use.line, example=example, severity=Severity.WARNING)
        return


def _depends(plan: Plan, case: CasePlan, on: Loaded, solve: Solve | None) -> bool:
    others = {name: device.elsewhere(program) for name, program in on.others.items()}
    moved = replace(on, program=device.elsewhere(on.program), others=others)
    inputs = make_inputs(case, int(plan.seed, 16))
    try:
        ran = device.run_in_turn(
            moved.calls(case),
            buffers(case, inputs),
            device.Options(
                symbols=on.named(case.symbols),
                state=on.state | on.named(constants(case)),
                budget=full_budget(case),
                observe=False,
            ),
        )
    except device.Unsupported:
        return False
    # Nothing shows how long the kernel may take on another device.
    return any(error.kind is not Verdict.TIME_LIMIT for error in errors_of(judge_run(plan, case, inputs, ran, solve)))
