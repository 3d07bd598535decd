"""The check step: runs a compiled kernel on the CPU device and judges it, inside the sandbox.

Plain dictionaries in and out, because the two ends are different processes; the data classes are the contract. The
request holds all that the step needs: it runs where no file can be opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernels.diagnostics import Resources
from kernels.launch import Launch
from kernels.plan import Plan
from kernels.verdict import CaseCheck, CaseStatus, Finding, Verdict
from kernels.wire import from_plain, to_plain

if TYPE_CHECKING:
    from kernels.device import Budget, Buffer, Execution, Program, Schedule
    from kernels.judge import RunKernel

NOT_STARTED = "not run, because the kernel could not be read"


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """A plan and the kernel to run it with.

    globals: the mangled names of module globals, by their names in the source
    """

    plan: Plan
    ptx: str
    entry: str
    globals: Mapping[str, str]
    resources: Resources


@dataclass(frozen=True, slots=True)
class CheckResponse:
    """What the cases showed; the fields are those of kernels.judge.Judgement and of kernels.report.Report."""

    findings: tuple[Finding, ...]
    checks: tuple[CaseCheck, ...]
    printed: str = ""
    printed_case: str | None = None
    launch: Launch | None = None


def warm_up() -> None:
    """Load all that a check needs, down to what numpy loads at first use: nothing can be opened afterwards."""
    import numpy as np
    import numpy.ma  # numpy.unique looks at it

    from kernels import device, judge

    assert device is not None
    assert judge is not None
    np.random.Generator(np.random.Philox(np.random.SeedSequence(1))).integers(0, 2, 1)


def check_step(request: dict[str, Any]) -> dict[str, Any]:
    """The step itself."""
    plain: dict[str, Any] = to_plain(check(from_plain(CheckRequest, request)))
    return plain


def check(request: CheckRequest) -> CheckResponse:
    """Read the PTX and judge all cases of the plan."""
    from kernels import device
    from kernels.judge import judge

    try:
        program = device.load_program(request.ptx, request.entry)
        device.check(program)
        found = judge(request.plan, _runner(request, program), request.resources)
    except device.Unsupported as reason:
        return _unsupported(request.plan, str(reason), reason.line)
    except device.Malformed as reason:
        return _unsupported(request.plan, f"The compiled kernel cannot be read: {reason}.", None)
    return CheckResponse(found.findings, found.checks, found.printed, found.printed_case, found.launch)


def _runner(request: CheckRequest, program: Program) -> RunKernel:
    """The CPU device with this program in it.

    The module stays loaded over all cases, as on a GPU: what one launch leaves in `__device__` variables the next one
    finds, so that a kernel which hands out an earlier result again is found out.
    """
    from kernels import device

    plan = request.plan
    symbols = {request.globals[symbol]: matrix for symbol, matrix in plan.symbols.items()}
    state: dict[str, bytes] = {}

    def run(
        launch: Launch,
        arguments: Sequence[str | int | float],
        buffers: Sequence[Buffer],
        schedule: Schedule,
        budget: Budget,
    ) -> Execution:
        execution = device.run(
            program,
            launch,
            arguments,
            buffers,
            symbols=symbols,
            shapes=plan.shapes,
            state=state,
            schedule=schedule,
            budget=budget,
            warp_races=plan.warp_races,
        )
        state.update(execution.state)
        return execution

    return run


def _unsupported(plan: Plan, message: str, line: int | None) -> CheckResponse:
    finding = Finding(Verdict.UNSUPPORTED, message, line)
    checks = tuple(CaseCheck(case.name, CaseStatus.NOT_RUN, NOT_STARTED) for case in plan.cases)
    return CheckResponse((finding,), checks)
