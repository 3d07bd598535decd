"""A job's steps without a GPU: source rules, compilation, check, and the counts of an accepted kernel."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernels.compile.compilation import FILE, Compilation
from kernels.compile.ptx_listing import ptx_listing
from kernels.evidence import CodeLine
from kernels.exercise import Exercise, Operation
from kernels.exercise.sizes import misfit, unranked
from kernels.exercise.trial import Trial
from kernels.judging.plan import Plan, make_plan, plan_trial, select_cases
from kernels.report import Report, message_for
from kernels.source.loops import name_loops, point_at_names
from kernels.source.source_file import Source
from kernels.source.unfilled_constants import name_unfilled_constants
from kernels.verdict import CPU_DEVICE, CaseCheck, CaseStatus, Example, Finding, Severity, Verdict, decide
from worker.contract.measure_work import MeasureRequest, Repeats
from worker.sandbox.limits import Failure, SandboxFailure
from worker.steps.check_step import CheckRequest, CheckResponse
from worker.steps.closer_look import Look, begin, finish, prepare
from worker.steps.compile_requests import compile_request
from worker.steps.evidence import module_of
from worker.steps.explanation import with_explanation
from worker.steps.gpu_measurement import Made, as_compiled, remains_open
from worker.steps.gpu_measurement import request as measure_request
from worker.steps.solution import Solution, solution_for, with_solutions
from worker.steps.source import read
from worker.steps.stages import Clock, Stages

WARNING_LIMIT = 10

logger = logging.getLogger(__name__)

Progress = Callable[[str], None]
"""Called with the current step in a few words."""


FAILURES: Mapping[Failure, str] = {
    Failure.TIME: "Grading took too long on this machine.",
    Failure.MEMORY: "Grading needed too much memory.",
    Failure.CRASH: "A grading process died.",
    Failure.START: "The sandbox process did not start.",
    Failure.ERROR: "The grader failed inside the sandbox.",
    Failure.SOLUTION: "The exercise's own solution can't be used.",
}
"""How each failure of our processes is reported to a student."""

NOT_THE_CAUSE = " Your kernel is not the cause."


class NoSuchCase(ValueError):
    """No test case has the requested name. The text lists the names."""


@dataclass(frozen=True, slots=True)
class Job:
    """One source to grade.

    cache: folder for the compiler's headers, unpacked when a source first includes one
    tile: value of `--tile`; None for the exercise's own
    seed: 128 bits in hex, from which all inputs are made
    case: run only cases whose name is or contains this; None for all
    evidence: analyse an accepted kernel further, if all cases run
    gpu: device class of the stages' GPU, which judges a passing kernel again and measures it; "" for none
    repeats: of the measurement; None for the usual number
    trial: one run at these sizes and values, in place of all cases
    """

    source: bytes
    exercise: Exercise
    arch: str
    seed: str
    cache: Path
    tile: int | None = None
    case: str | None = None
    evidence: bool = False
    gpu: str = ""
    repeats: Repeats | None = None
    trial: Trial | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """A source that passed the source rules, and the plan of its test cases."""

    job: Job
    plan: Plan
    source: Source


@dataclass(frozen=True, slots=True)
class Checked:
    """A kernel that the CPU device has judged.

    report: without counts
    digests: of the judged PTX, by module
    compared: the exercise defines the correct result
    asked: request for a GPU, if the job needs one
    look, counted: the analysis to count, if any
    """

    report: Report
    digests: tuple[str, ...]
    compared: bool
    asked: MeasureRequest | None = None
    look: Look | None = None
    counted: Compilation | None = None


def plan_for(job: Job, stages: Stages, clock: Clock) -> Planned | Report:
    """Read the source. Returns a report if it breaks a source rule. Raises like `check_and_count`, and NoSuchCase."""
    source = read(job, stages)
    plan = _plan(job, source if isinstance(source, Source) else None)
    clock.lap("read")
    if isinstance(source, Source):
        return Planned(job, plan, source)
    return with_explanation(_stopped(job, plan, source, clock.seconds), job.source, stages)


def check_and_count(job: Job, stages: Stages, progress: Progress = lambda _: None) -> tuple[Report, Checked | None]:
    """Grade a source as far as possible without a GPU. If the second result has `asked`, a GPU must continue.

    Unlike `worker.steps.grading.grade`, it raises system errors instead of reporting them.

    raise (SandboxFailure, NVRTCUnavailable, HeadersUnavailable): Tilelab or this machine failed
    """
    clock = Clock()
    planned = plan_for(job, stages, clock)
    if isinstance(planned, Report):
        return planned, None
    checked = check(planned, stages, clock, progress)
    if isinstance(checked, Report):
        return checked, None
    return count(checked, stages, clock, progress), checked


def check(planned: Planned, stages: Stages, clock: Clock, progress: Progress) -> Checked | Report:
    """Compile and judge. Returns a report if there is nothing to judge. Raises like `check_and_count`."""
    job, plan, source = planned.job, planned.plan, planned.source
    progress("compiling")
    look = None
    if job.evidence and job.case is None:
        look = prepare(job, source, plan, stages)
    made = _compile(planned, stages, look)
    if isinstance(made, tuple):
        clock.lap("compile")
        stopped = _stopped(job, plan, (*made, *source.warnings), clock.seconds, stages.isolation())
        return with_explanation(stopped, job.source, stages)
    solution = solution_for(job, plan, stages, large=bool(job.gpu))
    plan = as_compiled(with_solutions(plan, solution), made)
    planned = replace(planned, plan=plan)
    clock.lap("compile")
    closer = begin(look, stages)
    progress("checking on the CPU device")
    solved = solution.made if solution is not None and plan.operation is Operation.SOLUTION else ()
    checked = stages.check(CheckRequest(plan, tuple(map(module_of, made)), tuple(map(module_of, solved))))
    if checked.solution_fault:
        raise SandboxFailure(Failure.SOLUTION, checked.solution_fault)
    warnings = (*source.warnings, *_unranked(job, source, planned.plan))
    findings = point_at_names(name_loops(checked.findings, source.text), source.text)
    findings = name_unfilled_constants(findings, source.text, plan.module_symbols)
    checked = replace(checked, findings=(*findings, *warnings))
    clock.lap("check")
    report = _report(planned, made, checked, clock.seconds, stages.isolation())
    report = with_explanation(report, job.source, stages)
    compared = plan.operation is not Operation.ANALYSIS
    asked = _asked(planned, made, solution) if remains_open(report) else None
    return Checked(report, checked.ptx_digests, compared, asked, look, closer)


def count(checked: Checked, stages: Stages, clock: Clock, progress: Progress) -> Report:
    """Add evidence to the report of an accepted kernel. Never raises if counting fails."""
    report = checked.report
    look, made = checked.look, checked.counted
    if look is not None and made is not None and report.verdict is Verdict.ACCEPTED:
        progress("counting on the CPU device")
        evidence, occupancy = finish(look, stages, made)
        clock.lap("count")
        report = replace(report, evidence=evidence, occupancy=occupancy)
    return replace(report, seconds=dict(clock.seconds))


def system_error(
    job: Job, plan: Plan | None, failure: SandboxFailure, seconds: Mapping[str, float], isolation: tuple[str, ...]
) -> Report:
    """The report of a system error. plan: None if it was not made yet."""
    logger.error("a step failed: %s", failure)
    reason = f" {failure.detail}" if failure.kind is Failure.SOLUTION else ""
    finding = Finding(Verdict.SYSTEM_ERROR, f"{FAILURES[failure.kind]}{reason}{NOT_THE_CAUSE}")
    return _stopped(job, plan or _plan(job), (finding,), seconds, isolation, verdict=Verdict.SYSTEM_ERROR)


def _asked(planned: Planned, compilations: Sequence[Compilation], solution: Solution | None) -> MeasureRequest | None:
    job = planned.job
    if not job.gpu:
        return None
    asked = measure_request(job, planned.source, Made(planned.plan, compilations, solution))
    asked = replace(asked, repeats=job.repeats)
    if job.case is not None:  # a run of some cases isn't ranked
        asked = replace(asked, ranking=None, curve=())
    return asked


def _plan(job: Job, source: Source | None = None) -> Plan:
    if job.trial is not None:
        return plan_trial(job.exercise, source, job.tile, job.trial, job.seed)
    plan = make_plan(job.exercise, source, job.tile, job.seed)
    if job.case is None:
        return plan
    chosen = select_cases(plan, job.case)
    if not chosen.cases:
        known = "; ".join(case.name for case in plan.cases)
        raise NoSuchCase(f"no test case is named {job.case!r}. The cases are: {known}")
    if not any(case.on_cpu for case in chosen.cases):
        raise NoSuchCase(f"{job.case} is too large for the CPU device, so no case would run")
    return chosen


def _unranked(job: Job, source: Source, plan: Plan) -> tuple[Finding, ...]:
    """Why the kernel gets no speed, or why a trial's sizes don't suit its own tile."""
    if job.trial is not None:
        reason = misfit(job.exercise, job.trial.sizes, plan.tile, source.macros)
        reason = f"{reason[:1].upper()}{reason[1:]}"
    else:
        reason = "" if job.case is not None else unranked(job.exercise, plan.tile, source.macros)
    return (Finding(Verdict.REJECTED, reason, severity=Severity.WARNING),) if reason else ()


def _compile(planned: Planned, stages: Stages, look: Look | None) -> list[Compilation] | tuple[Finding, ...]:
    """The cases' compilations in the order of their modules, or the findings of the first that fails."""
    job, plan = planned.job, planned.plan
    made: list[Compilation] = []
    for case in plan.modules(large=bool(job.gpu)):
        request = compile_request(job, planned.source, replace(plan, cases=(case,)))
        compiled = stages.compile(request)
        if not isinstance(compiled, Compilation):
            example = Example(case=case.name) if case.size_macros else None
            return tuple(replace(finding, example=finding.example or example) for finding in compiled)
        made.append(compiled)
        if look is not None:
            look.made.append((request, compiled))
    return made


def _report(
    planned: Planned,
    compilations: Sequence[Compilation],
    checked: CheckResponse,
    seconds: Mapping[str, float],
    isolation: tuple[str, ...],
) -> Report:
    job, plan, source = planned.job, planned.plan, planned.source
    verdict = decide(checked.findings)
    largest = max((case for case in plan.cases if case.on_cpu), key=lambda case: case.weight)
    left_to_gpu = job.gpu and verdict is Verdict.UNSUPPORTED
    launch, sizes = (largest.launch, largest.sizes) if left_to_gpu else (checked.launch, checked.launch_sizes)
    said = dict.fromkeys(warning for compilation in compilations for warning in compilation.diagnostics)
    return Report(
        verdict=verdict,
        message=message_for(
            verdict, checked.findings, checked.checks, compared=plan.operation is not Operation.ANALYSIS
        ),
        exercise=job.exercise.name,
        device=CPU_DEVICE,
        arch=compilations[0].arch,
        tile=plan.tile,
        findings=checked.findings,
        checks=checked.checks,
        seconds=dict(seconds),
        printed=checked.printed,
        printed_case=checked.printed_case,
        resources=compilations[largest.module].resources,
        ptx=_ptx(compilations[largest.module]),
        warnings=tuple(said)[:WARNING_LIMIT],
        launch=launch,
        launch_sizes=sizes if launch is not None else {},
        launch_note=source.launch_note(job.tile) if launch is not None else "",
        launches=tuple(launch.kernel for launch in job.exercise.launches) if job.exercise.then else (),
        seed=plan.seed,
        isolation=isolation,
        values=checked.values,
    )


def _ptx(compilation: Compilation) -> tuple[CodeLine, ...]:
    return ptx_listing(compilation.ptx, compilation.entry, FILE.removeprefix("/"))


def _stopped(
    job: Job,
    plan: Plan,
    findings: tuple[Finding, ...],
    seconds: Mapping[str, float],
    isolation: tuple[str, ...] = (),
    verdict: Verdict | None = None,
) -> Report:
    """The report of a source that never ran."""
    verdict = verdict or decide(findings)
    checks = tuple(CaseCheck(case.name, CaseStatus.NOT_RUN, "the kernel was not run") for case in plan.cases)
    return Report(
        verdict=verdict,
        message=message_for(verdict, findings, checks),
        exercise=job.exercise.name,
        device=CPU_DEVICE,
        arch=job.arch,
        tile=plan.tile,
        findings=findings,
        checks=checks,
        seconds=dict(seconds),
        seed=plan.seed,
        isolation=isolation,
    )
