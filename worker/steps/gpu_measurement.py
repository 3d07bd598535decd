"""The measure step of a job: the request to a GPU, and its answer in the report."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from kernels.compile.compilation import Compilation
from kernels.compile.diagnostics import Resources
from kernels.exercise import Operation
from kernels.exercise.sizes import misfit
from kernels.judging.limits import further_finding, launch_finding, with_clusters
from kernels.judging.plan import CasePlan, Plan, plan_at
from kernels.measurement import Measurement
from kernels.occupancy.driver_answer import MeasuredOccupancy, by_driver
from kernels.report import Report, message_for
from kernels.source.source_file import Source
from kernels.verdict import CaseCheck, CaseStatus, Finding, Verdict, decide, errors_of, finding_order
from worker.contract.measure_work import MeasureRequest, MeasureResponse, WireCode
from worker.sandbox.limits import Failure, SandboxFailure
from worker.steps.compile_requests import Task
from worker.steps.evidence import capability
from worker.steps.solution import Solution

# Factors of the ranking size: 256 to 4,096 if it is 2,048.
_CURVE = (1 / 8, 1 / 4, 1 / 2, 1, 2)

UNMADE = (
    "accesses outside arrays that stay inside the same allocation",
    "races between threads",
    "reads of memory before it is written",
    "barriers that not every thread reaches",
)
"""Mistakes that only the CPU device can find, if it supports all instructions of the kernel."""

UNCHECKED = "only a GPU could run it, so it was not checked for races and uninitialized reads"

_REMAINS_OPEN = frozenset({Verdict.ACCEPTED, Verdict.UNSUPPORTED})


class OtherCode(RuntimeError):
    """The GPU ran other code than the CPU device checked. The text has the digests."""


@dataclass(frozen=True, slots=True)
class Made:
    """The compilations of a job, by `CasePlan.module`, and its plan.

    solution: of the exercise, for the operation SOLUTION
    """

    plan: Plan
    compilations: Sequence[Compilation]
    solution: Solution | None = None


def remains_open(report: Report) -> bool:
    """Whether the GPU continues after a check: the CPU device found no mistake, or doesn't support the kernel.

    A kernel isn't measured if the CPU device ran a part of it and found a mistake there.
    """
    errors = {finding.kind for finding in errors_of(report.findings)}
    return report.verdict in _REMAINS_OPEN and errors <= {Verdict.UNSUPPORTED}


def request(task: Task, source: Source, made: Made) -> MeasureRequest:
    exercise = task.exercise
    ranking = next((case for case in made.plan.cases if dict(case.sizes) == dict(exercise.ranking)), None)
    if ranking is not None and ranking.module >= len(made.compilations):
        ranking = None
    return MeasureRequest(
        plan=made.plan,
        modules=tuple(map(wire_code, made.compilations)),
        ranking=ranking,
        curve=tuple(_curve(task, source, made)) if ranking is not None else (),
        metric=exercise.metric.value,
        solution=tuple(map(wire_code, made.solution.made)) if made.solution is not None else (),
    )


def _curve(task: Task, source: Source, made: Made) -> Iterator[CasePlan]:
    """Cases of other sizes that fit the exercise and that the source can launch, smallest first."""
    exercise = task.exercise
    if exercise.operation is Operation.ANALYSIS or not exercise.curve:
        return
    for factor in _CURVE:
        sizes = {name: int(size * factor) for name, size in exercise.ranking.items()}
        if factor == 1 or min(sizes.values()) < 1 or misfit(exercise, sizes, made.plan.tile, source.macros):
            continue
        case = _case_at(task, source, made, sizes)
        if case is not None and _can_run(case, made):
            yield case if made.solution is None else made.solution.planned(case)


def _case_at(task: Task, source: Source, made: Made, sizes: Mapping[str, int]) -> CasePlan | None:
    """The case of these sizes. None if it needs a compilation for its sizes that this job doesn't have."""
    case = plan_at(task.exercise, source, task.tile, sizes, made.plan.seed).cases[0]
    for known in made.plan.modules(large=True):
        if dict(known.size_macros) == dict(case.size_macros) and known.module < len(made.compilations):
            return _case_as_compiled(replace(case, module=known.module), made.compilations[known.module])
    return None


def _can_run(case: CasePlan, made: Made) -> bool:
    """Whether this case has a checked compilation that the device can launch."""
    if case.launch is None or case.problem is not None or case.module >= len(made.compilations):
        return False
    code = made.compilations[case.module]
    return launch_finding(case, code.resources) is None and further_problem(case, code) is None


def _resources(case: CasePlan, made: Compilation) -> Mapping[str, Resources]:
    return {case.kernel: made.resources, **{name: each.resources for name, each in made.others.items()}}


def further_problem(case: CasePlan, made: Compilation) -> Finding | None:
    """Why a launch after the case's first doesn't fit; None if all do."""
    return further_finding(case, _resources(case, made))


def as_compiled(plan: Plan, compilations: Sequence[Compilation]) -> Plan:
    """The plan with what only the compiled kernels show: their clusters, and a later launch that doesn't fit."""
    return replace(
        plan,
        cases=tuple(
            _case_as_compiled(case, compilations[case.module]) if case.module < len(compilations) else case
            for case in plan.cases
        ),
    )


def _case_as_compiled(case: CasePlan, made: Compilation) -> CasePlan:
    clustered = with_clusters(case, _resources(case, made))
    return replace(clustered, problem=case.problem or (further_problem(case, made) if case.then else None))


def wire_code(compilation: Compilation) -> WireCode:
    return WireCode(
        compilation.ptx,
        base64.b64encode(compilation.cubin).decode(),
        compilation.entry,
        dict(compilation.globals),
        compilation.resources,
        {name: each.name for name, each in compilation.others.items()},
    )


class Measures(Protocol):
    def measure(self, request: MeasureRequest) -> MeasureResponse:
        """Judge and measure a kernel, and wait for the answer. Raises SandboxFailure."""


def answer_of(gpu: Measures, measure_request: MeasureRequest) -> MeasureResponse:
    """The GPU's answer for a kernel. If it had to be stopped at its time limit, the kernel is the cause.

    raise (SandboxFailure): Tilelab or this machine failed
    """
    try:
        return gpu.measure(measure_request)
    except SandboxFailure as failure:
        if failure.kind is not Failure.TIME:
            raise
        digests = tuple(code.ptx_digest for code in measure_request.modules)
        return MeasureResponse((stopped_runner(),), (), ptx_digests=digests, lost=True)


def judged(report: Report, answer: MeasureResponse, checked: Sequence[str], *, compared: bool) -> Report:
    """Add the GPU's answer to the report of a check on the CPU device, without an explanation.

    checked: digests of the PTX that the CPU device ran, by module
    compared: the exercise defines the correct result
    raise (OtherCode): the GPU ran other code
    """
    if tuple(answer.ptx_digests) != tuple(checked):
        raise OtherCode(f"checked {checked}, measured {answer.ptx_digests}")
    unsupported = report.verdict is Verdict.UNSUPPORTED
    kept = tuple(finding for finding in report.findings if finding.kind is not Verdict.UNSUPPORTED)
    findings = tuple(sorted((*kept, *answer.findings), key=finding_order))
    checks = merged_checks(report.checks, answer.checks)
    verdict = decide(findings)
    return replace(
        report,
        verdict=verdict,
        message=message_for(verdict, findings, checks, compared=compared),
        findings=findings,
        checks=checks,
        measurement=_measured(answer, verdict, unsupported=unsupported),
        measured_occupancy=_held(answer, report),
        environment=answer.environment,
        unmade_checks=UNMADE if unsupported else (),
        explanation=None,
    )


def _measured(answer: MeasureResponse, verdict: Verdict, *, unsupported: bool) -> Measurement | None:
    """The speed of an accepted kernel. It isn't ranked if the CPU device could not check for races."""
    measured = answer.measurement
    if verdict is not Verdict.ACCEPTED or measured is None:
        return None
    if not unsupported:
        return measured
    return replace(measured, ranked=False, remarks=(*measured.remarks, UNCHECKED))


def _held(answer: MeasureResponse, report: Report) -> MeasuredOccupancy | None:
    occupancy = answer.occupancy
    if occupancy is None:
        return None
    return by_driver(
        capability(report.arch),
        occupancy.threads,
        occupancy.blocks_per_sm,
        registers=occupancy.registers,
        shared_static=occupancy.shared_bytes,
        shared_dynamic=occupancy.shared,
        local_bytes=occupancy.local_bytes,
        barriers=report.resources.barriers if report.resources is not None else 1,
    )


def merged_checks(cpu: Sequence[CaseCheck], gpu: Sequence[CaseCheck]) -> tuple[CaseCheck, ...]:
    """Each case with the worse result of the two devices, or the only result.

    For a case that neither has run, the GPU's reason counts, because the GPU came last.
    """
    on_gpu = {check.case: check for check in gpu}
    known = {check.case for check in cpu}
    return (
        *(_worse(check, on_gpu.get(check.case)) for check in cpu),
        *(check for check in gpu if check.case not in known),
    )


def _worse(cpu: CaseCheck, gpu: CaseCheck | None) -> CaseCheck:
    if gpu is None or cpu.status is CaseStatus.FAILED:
        return cpu
    only_on_cpu = gpu.status is CaseStatus.NOT_RUN and cpu.status is not CaseStatus.NOT_RUN
    return cpu if only_on_cpu else gpu


def stopped_runner() -> Finding:
    """The finding for a GPU process that was killed at its time limit."""
    return Finding(
        Verdict.TIME_LIMIT,
        "Your kernel ran too long on the GPU and was stopped. Look for a loop or a wait whose end depends on the "
        "size, on other blocks or on time.",
    )
