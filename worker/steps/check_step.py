"""The check step: runs a compiled kernel on the CPU device in the sandbox, and judges it.

Requests and responses are dictionaries between two processes, in the form of the data classes. The request has all
that the step needs, because the sandbox can't open files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kernels.exercise.trial import RunValues
from kernels.judging.limits import with_launch
from kernels.judging.plan import CasePlan, Plan
from kernels.launch import Launch
from kernels.verdict import CaseCheck, CaseStatus, Example, Finding, Severity, Verdict, errors_of, finding_order
from kernels.wire import from_plain, to_plain
from worker.contract.measure_work import digest
from worker.sandbox.progress_messages import tell
from worker.steps.modules import Loaded, Module

if TYPE_CHECKING:
    from kernels import device
    from kernels.device import Budget, Buffer, Execution, Schedule
    from kernels.judging.inputs import Matrix
    from kernels.judging.judge import RunKernel


NOT_STARTED = "not run, because Tilelab could not read the kernel"
NOT_EMULATED = "not run, because the CPU device doesn't emulate the kernel"
NOT_FILLED = "not run, because a module variable does not fit"
_LIVE_PRINTED = 1_000


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """A plan with its compilations, by `CasePlan.module`.

    solution: the compilations of the exercise's solution, for the operation SOLUTION
    """

    plan: Plan
    modules: tuple[Module, ...]
    solution: tuple[Module, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckResponse:
    """The outcome of the cases, with the fields of kernels.judging.judge.Judgement and kernels.report.Report.

    ptx_digests: of the checked modules, by `CasePlan.module`; only these may be measured
    solution_fault: why the exercise's solution has no results to compare with
    values: of a trial
    """

    findings: tuple[Finding, ...]
    checks: tuple[CaseCheck, ...]
    printed: str = ""
    printed_case: str | None = None
    launch: Launch | None = None
    launch_sizes: Mapping[str, int] = field(default_factory=dict)
    ptx_digests: tuple[str, ...] = ()
    solution_fault: str = ""
    values: RunValues | None = None


def warm_up() -> None:
    """Load all modules of a check, because the sandbox can't open files later."""
    from worker.sandbox.child import load_judge
    from worker.steps import open_fragments, samples

    load_judge()
    assert samples
    assert open_fragments


def check_step(request: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(check(from_plain(CheckRequest, request)))
    return plain


def check(request: CheckRequest) -> CheckResponse:
    """Read the PTX and judge all cases of the plan."""
    digests = tuple(digest(module.ptx) for module in request.modules)
    return replace(_check(request), ptx_digests=digests)


def _check(request: CheckRequest) -> CheckResponse:
    from kernels import device
    from kernels.judging.judge import judge
    from kernels.judging.run_values import run_values
    from worker.steps.open_fragments import fragment_findings
    from worker.steps.samples import sampled_findings

    seen: list[Finding] = []
    ran: list[Execution] = []
    reached = _Reached()
    try:
        loaded = [Loaded.checked(module) for module in request.modules]
        if unfit := misfits_in(request.plan, loaded):
            return _not_run(request.plan, unfit, NOT_FILLED)
        resources = [module.resources for module in request.modules]
        solver = _solver(request.solution)
        solve, need = (solver.values, solver.instructions) if solver is not None else (None, None)
        found = judge(request.plan, _runner(request.plan, loaded, seen, reached, ran), resources, solve, need)
        findings = (
            *found.findings,
            *sampled_findings(request.plan, loaded),
            *fragment_findings(request.plan, loaded, found.checks, solve),
        )
        values = run_values(request.plan, next(iter(ran), None), solve) if request.plan.is_trial else None
    except _SolutionFailed as reason:
        return CheckResponse((), (), solution_fault=str(reason))
    except device.Unsupported as reason:
        return _unsupported(request.plan, reason.finding, seen)
    except device.Malformed as reason:
        message = f"Tilelab cannot read the compiled kernel: {reason}."
        return _unsupported(request.plan, Finding(Verdict.UNSUPPORTED, message, reason.line))
    findings = reached.added(findings)
    checks = reached.failed(found.checks)
    return CheckResponse(
        findings, checks, found.printed, found.printed_case, found.launch, found.launch_sizes, values=values
    )


def misfits_in(plan: Plan, loaded: Sequence[Loaded]) -> tuple[Finding, ...]:
    """Findings about module variables that don't fit, each once, at the smallest case that shows it."""
    from kernels.judging.module_variables import Extent, misfits

    found: dict[int | str | None, Finding] = {}
    for case in sorted(plan.cases, key=lambda case: case.weight):
        # also look at compilations for sizes that are too large to run
        if case.on_cpu or (case.size_macros and case.module < len(loaded)):
            module, variables = loaded[case.module].module, loaded[case.module].program.variables
            extents = {
                symbol: Extent(variables[name].space, variables[name].size)
                for symbol, name in module.globals.items()
                if name in variables
            }
            for finding in misfits(case, extents):
                found.setdefault(finding.line or finding.message, finding)
    return tuple(found.values())


class _Reached:
    """The instructions that threads reached and that aren't emulated, and the findings before them."""

    def __init__(self) -> None:
        self._first: Finding | None = None
        self._findings: list[Finding] = []

    def add(self, case: CasePlan, reason: device.Unsupported) -> None:
        self._first = self._first or reason.finding
        self._findings += (
            replace(
                finding,
                message=with_launch(finding.message, case, finding.example.launch if finding.example else 0),
                example=replace(finding.example or Example(), case=case.name),
            )
            for finding in reason.findings
        )

    def added(self, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        """All findings, with one for the first such instruction."""
        if self._first is None:
            return tuple(sorted(findings, key=finding_order))
        return _with_unsupported(self._first, (*findings, *self._findings))

    def failed(self, checks: Sequence[CaseCheck]) -> tuple[CaseCheck, ...]:
        """The checks. Cases with errors before such an instruction have failed."""
        kinds: dict[str | None, dict[str, None]] = {}
        for finding in self._findings:
            if finding.severity is Severity.ERROR and finding.example is not None:
                kinds.setdefault(finding.example.case, {})[finding.kind.words] = None
        return tuple(
            replace(check, status=CaseStatus.FAILED, note=", ".join(kinds[check.case]))
            if check.case in kinds and check.status is CaseStatus.NOT_RUN
            else check
            for check in checks
        )


def _runner(
    plan: Plan, loaded: Sequence[Loaded], seen: list[Finding], reached: _Reached, ran: list[Execution]
) -> RunKernel:
    """A function that runs these modules on the CPU device.

    seen: collects the errors of each run, which count even if a later run fails
    reached: collects the instructions that aren't emulated
    ran: collects the runs of a trial
    """
    from kernels import device
    from kernels.judging.judge import LostError, constants
    from kernels.judging.outcomes import size_text

    begun: set[str] = set()
    printed = False

    def run(case: CasePlan, buffers: Sequence[Buffer], schedule: Schedule, budget: Budget) -> Execution:
        nonlocal printed
        if case.name not in begun:
            begun.add(case.name)
            tell(case.name)
        on = loaded[case.module]
        try:
            execution = device.run_in_turn(
                on.calls(case),
                buffers,
                device.Options(
                    symbols=on.named(case.symbols),
                    shapes=case.shapes,
                    state=on.state | on.named(constants(case)),
                    schedule=schedule,
                    budget=budget,
                    warp_races=plan.warp_races,
                    races=schedule is device.Schedule.LOCKSTEP,
                    sizes=size_text(case),
                ),
            )
        except device.Unsupported as reason:
            reached.add(case, reason)
            seen.extend(errors_of(reason.findings))
            raise LostError(NOT_EMULATED) from reason
        on.state.update(execution.state)
        if plan.is_trial:
            ran.append(execution)
        # The report has the output of the first case that prints, too.
        if execution.printed and not printed:
            printed = True
            tell(f"{case.name}\n{_beginning(execution.printed)}")
        seen.extend(errors_of(execution.findings))
        return execution

    return run


def _beginning(printed: str) -> str:
    """The first lines of an output, as many as a progress message holds."""
    start = printed[:_LIVE_PRINTED]
    whole, line_break, _ = start.rpartition("\n")
    return f"{whole}\n" if line_break and start != printed else start


class _SolutionFailed(RuntimeError):
    """The exercise's own solution failed in a case, so there is nothing to compare with."""


class _Solver:
    """Runs the exercise's solution on the CPU device, once for each case in a row."""

    def __init__(self, loaded: Sequence[Loaded]) -> None:
        self._loaded = loaded
        self._ran: tuple[str, Execution] | None = None

    def values(self, case: CasePlan, buffers: Sequence[Buffer]) -> Mapping[str, Matrix]:
        return self._run(case, buffers).values

    def instructions(self, case: CasePlan, buffers: Sequence[Buffer]) -> int:
        return self._run(case, buffers).instructions

    def _run(self, case: CasePlan, buffers: Sequence[Buffer]) -> Execution:
        if self._ran is None or self._ran[0] != case.name:
            self._ran = case.name, self._solve(case, buffers)
        return self._ran[1]

    def _solve(self, case: CasePlan, buffers: Sequence[Buffer]) -> Execution:
        from kernels import device
        from kernels.judging.judge import constants, full_budget

        case, on = case.by_solution(), self._loaded[case.module]
        try:
            execution = device.run_in_turn(
                on.calls(case),
                buffers,
                device.Options(
                    symbols=on.named(case.symbols),
                    state=on.named(constants(case)),
                    budget=full_budget(case),
                    observe=False,
                ),
            )
        except device.Unsupported as reason:
            raise _needs_gpu(reason) from reason
        for finding in execution.findings:
            if finding.severity is Severity.ERROR:
                raise _SolutionFailed(f"It fails at {case.name}: {finding.message}")
        return execution


def _solver(modules: Sequence[Module]) -> _Solver | None:
    """The runs of the exercise's solution; None without a solution."""
    if not modules:
        return None
    from kernels import device

    try:
        loaded = [Loaded.checked(module) for module in modules]
    except device.Unsupported as reason:
        raise _needs_gpu(reason) from reason

    return _Solver(loaded)


def _needs_gpu(reason: device.Unsupported) -> device.Unsupported:
    from kernels import device

    return device.Unsupported(reason.instruction, None, f"The exercise's solution needs a GPU. {reason}")


def _unsupported(plan: Plan, finding: Finding, seen: Sequence[Finding] = ()) -> CheckResponse:
    """Why the kernel can't be judged, with one finding for each place that earlier runs found incorrect."""
    return _not_run(plan, _with_unsupported(finding, seen), NOT_STARTED)


def _with_unsupported(unsupported: Finding, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """One finding for each place. If the kernel has an error of its own, no GPU judges it, so that error counts."""
    places = {(each.kind, each.line, each.other_line, each.severity): each for each in reversed(findings)}
    if errors_of(findings):
        unsupported = replace(unsupported, severity=Severity.WARNING)
    return tuple(sorted((unsupported, *places.values()), key=finding_order))


def _not_run(plan: Plan, findings: tuple[Finding, ...], note: str) -> CheckResponse:
    checks = tuple(CaseCheck(case.name, CaseStatus.NOT_RUN, note) for case in plan.cases)
    return CheckResponse(findings, checks)
