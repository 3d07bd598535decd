"""All steps of `tilelab analyze`: source rules, compilation, disassembly, the counted run, and its evaluation.

`tilelab occupancy` ends after the compilation.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernels.analysis.model import Analysis
from kernels.compile.compilation import Compilation
from kernels.exercise import Exercise
from kernels.exercise.sizes import misfit
from kernels.occupancy.survey import Figures
from kernels.source.source_file import Source
from kernels.verdict import Finding
from worker.sandbox.limits import Failure, SandboxFailure
from worker.steps.closer_look import Look, count, explain, look_at
from worker.steps.compile_requests import Task
from worker.steps.evidence import Target, fits, target, unknown_capability
from worker.steps.grading import WARNING_LIMIT, Progress
from worker.steps.source import read
from worker.steps.stages import Clock, Stages

logger = logging.getLogger(__name__)

_AFFORDABLE = 100_000_000
_FAILURES: Mapping[Failure, str] = {
    Failure.TIME: "Counting took too long. Try a smaller --size.",
    Failure.MEMORY: "Counting needed too much memory. Try a smaller --size.",
}


class UnfitSizes(ValueError):
    """The requested sizes are too large, or don't fit the exercise. The text says more."""


class AnalysisFailed(RuntimeError):
    """Tilelab or this machine failed. The text is for people."""


@dataclass(frozen=True, slots=True)
class AnalysisJob:
    """One source to analyse.

    sizes: sizes to count at; None for the exercise's own
    tile: value of `--tile`; None for the exercise's own
    """

    source: bytes
    exercise: Exercise
    arch: str
    cache: Path
    sizes: Mapping[str, int] | None = None
    tile: int | None = None
    target: Target = field(default_factory=target)


def analyse(job: AnalysisJob, stages: Stages, progress: Progress = lambda _: None) -> Analysis:
    """Analyse one source. If that isn't possible, the result's message says why.

    raise (UnfitSizes): the sizes don't fit
    raise (AnalysisFailed): a process failed
    raise (NVRTCUnavailable, HeadersUnavailable): compiler or headers are missing
    """
    clock = Clock()
    begun = Analysis(job.exercise.name, job.arch, job.tile or job.exercise.tile)
    try:
        source = read(job, stages, job.sizes)
    except SandboxFailure as failure:
        raise AnalysisFailed(f"the analysis failed inside the sandbox ({failure.kind}).") from failure
    if not isinstance(source, Source):
        return _stopped(begun, source, clock)
    look = look_at(job, source, sizes=job.sizes, at_target=job.target)
    _check_size(look)
    case = look.plan.cases[0]
    begun = replace(begun, tile=look.plan.tile, sizes=dict(case.sizes), launch=case.launch)
    clock.lap("read")
    try:
        return _run(begun, look, stages, clock, progress)
    except SandboxFailure as failure:
        if failure.kind not in _FAILURES:
            raise AnalysisFailed(f"the analysis failed inside the sandbox ({failure.kind}).") from failure
        logger.warning("no analysis: %s", failure)
        return replace(begun, message=_FAILURES[failure.kind], seconds=dict(clock.seconds))


def _check_size(look: Look) -> None:
    case = look.plan.cases[0]
    if reason := misfit(look.task.exercise, case.sizes, look.plan.tile, look.source.macros):
        raise UnfitSizes(reason)
    if not fits(look.plan):
        raise UnfitSizes("the matrices are too large for an analysis. The limit is 4,096 by 4,096.")


def _run(begun: Analysis, look: Look, stages: Stages, clock: Clock, progress: Progress) -> Analysis:
    progress("compiling")
    look.start_compiling(stages, (look.plan,))
    made = look.compile(stages, look.plan)
    clock.lap("compile")
    if not isinstance(made, Compilation):
        return _stopped(begun, made, clock, stages)
    begun = replace(begun, arch=made.arch, resources=made.resources, warnings=made.diagnostics[:WARNING_LIMIT])
    progress("counting on the CPU device")
    stages.start_disassembly(made.cubin)
    counted = count(look, stages, made, affordable=_AFFORDABLE, observe=True)
    clock.lap("count")
    if counted.problem is not None:
        return _stopped(begun, (counted.problem,), clock, stages)
    evidence, occupancy = explain(look, made, counted)
    notes = filter(None, (_first_of(look), _older(look, made)))
    evidence = replace(evidence, notes=(*notes, *evidence.notes))
    return replace(
        begun,
        evidence=evidence,
        occupancy=occupancy,
        findings=(*counted.findings, *look.source.warnings),
        isolation=stages.isolation(),
        seconds=dict(clock.seconds),
    )


def _first_of(look: Look) -> str:
    case = look.plan.cases[0]
    if not case.then:
        return ""
    return f"This is about the first of {len(case.launches)} launches, `{case.kernel}`."


def _older(look: Look, compilation: Compilation) -> str:
    launch = look.plan.cases[0].launch
    if not look.target.asked or launch is None:
        return ""
    return unknown_capability(look.target, launch, compilation.resources)


def _stopped(begun: Analysis, findings: tuple[Finding, ...], clock: Clock, stages: Stages | None = None) -> Analysis:
    return replace(
        begun,
        message="The kernel cannot be analysed.",
        findings=findings,
        seconds=dict(clock.seconds),
        isolation=stages.isolation() if stages is not None else (),
    )


def figures_of(task: Task, stages: Stages) -> Figures | tuple[Finding, ...]:
    """The figures that determine a file's occupancy, for the exercise's launch or the file's launch comment.

    raise (SandboxFailure, NVRTCUnavailable, HeadersUnavailable): Tilelab or this machine failed
    """
    found = read(task, stages)
    if not isinstance(found, Source):
        return found
    look = look_at(task, found)
    case = look.plan.cases[0]
    if case.launch is None:
        return (case.problem,) if case.problem is not None else ()
    made = look.compile(stages, look.plan)
    if not isinstance(made, Compilation):
        return made
    use = made.resources
    return Figures(case.launch.threads, use.registers, use.shared_bytes, case.launch.shared, use.barriers)
