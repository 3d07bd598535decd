"""The whole way of `tilelab analyze`: source rules, compilation, disassembly, the counted run, and what it means."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernels.analysis import Analysis
from kernels.compile import Compilation
from kernels.exercise import Exercise
from kernels.plan import Plan, plan_at
from kernels.source import Source, read_source
from kernels.verdict import Finding
from worker.analysis_stages import Stages
from worker.analysis_step import AnalysisRequest, SmallRun
from worker.clock import Clock
from worker.compiling import compile_request
from worker.evidence import Target, analysis_tile, fits, meaning, module_of
from worker.grading import WARNING_LIMIT, Progress
from worker.sandbox.limits import Failure, SandboxFailure

logger = logging.getLogger(__name__)

_FAILURES: Mapping[Failure, str] = {
    Failure.TIME: "Counting took longer than this machine allows it; try a smaller --size.",
    Failure.MEMORY: "Counting needed more memory than it may use; try a smaller --size.",
}


class TooLarge(ValueError):
    """The sizes that were asked for do not fit; the text says by how much."""


class AnalysisFailed(RuntimeError):
    """The fault is ours or this machine's; the text is for people."""


@dataclass(frozen=True, slots=True)
class AnalysisJob:
    """One source to analyse.

    sizes: where to count; None for the exercise's own
    tile: of `--tile`; None for the exercise's own
    """

    source: bytes
    exercise: Exercise
    arch: str
    cache: Path
    sizes: Mapping[str, int] | None = None
    tile: int | None = None
    target: Target = field(default_factory=Target)


def analyse(job: AnalysisJob, stages: Stages, progress: Progress = lambda _: None) -> Analysis:
    """The analysis of one source; where it cannot be made, its message says why.

    raise (TooLarge): for sizes that do not fit
    raise (AnalysisFailed): where a process failed through our fault
    raise (NVRTCUnavailable, HeadersUnavailable): where the compiler or its headers are missing
    """
    clock = Clock()
    source = read_source(job.source, job.exercise)
    tile = job.tile or job.exercise.tile
    if not isinstance(source, Source):
        return _stopped(Analysis(job.exercise.name, job.arch, tile), tuple(source), clock)
    tile = analysis_tile(job.exercise, source, job.tile)
    sizes = job.sizes or job.exercise.analysis_sizes(tile, source.macros)
    plan = plan_at(job.exercise, source, tile, sizes)
    _check_size(plan)
    begun = Analysis(job.exercise.name, job.arch, tile, sizes=dict(sizes), launch=plan.cases[0].launch)
    clock.lap("read")
    try:
        return _run(job, begun, plan, source, stages, clock, progress)
    except SandboxFailure as failure:
        if failure.kind not in _FAILURES:
            raise AnalysisFailed(f"the analysis failed inside the sandbox ({failure.kind}).") from failure
        logger.warning("no analysis: %s", failure)
        return replace(begun, message=_FAILURES[failure.kind], seconds=dict(clock.seconds))


def _check_size(plan: Plan) -> None:
    if not fits(plan):
        raise TooLarge(
            "the matrices would take more memory than an analysis may use; at most 4,096 by 4,096 fit."
        )


def _run(
    job: AnalysisJob,
    begun: Analysis,
    plan: Plan,
    source: Source,
    stages: Stages,
    clock: Clock,
    progress: Progress,
) -> Analysis:
    progress("compiling")
    small = _small_plan(job, source, plan)
    made = stages.compile(compile_request(job.exercise, source, plan, job.arch, job.cache))
    if not isinstance(made, Compilation):
        clock.lap("compile")
        return _stopped(begun, made, clock, stages)
    with stages.disassemble(made.cubin) as disassembler:
        phases = _small_run(job, small, plan, source, made, stages)
        clock.lap("compile")
        disassembly = disassembler.result()
    clock.lap("disassemble")
    progress("counting on the CPU device")
    counted = stages.analyse(
        AnalysisRequest(plan, module_of(made), disassembly.text, disassembly.reason, phases=phases)
    )
    clock.lap("count")
    begun = replace(begun, resources=made.resources, warnings=made.diagnostics[:WARNING_LIMIT])
    if counted.problem is not None:
        return _stopped(begun, (counted.problem,), clock, stages)
    evidence, occupancy = meaning(counted, job.exercise, source, plan, made.resources, job.target)
    clock.lap("explain")
    return replace(
        begun,
        evidence=evidence,
        occupancy=occupancy,
        findings=(*counted.findings, *source.warnings),
        isolation=stages.isolation(),
        seconds=dict(clock.seconds),
    )


def _small_plan(job: AnalysisJob, source: Source, plan: Plan) -> Plan | None:
    """The run for the phase table: with the exercise's own small tile, unless the file sets one."""
    rule = job.exercise.phases
    if rule is None:
        return None
    tile = source.tile(job.exercise, rule.tile or plan.tile)
    return plan_at(job.exercise, source, tile, rule.sizes)


def _small_run(
    job: AnalysisJob, small: Plan | None, plan: Plan, source: Source, made: Compilation, stages: Stages
) -> SmallRun | None:
    """With its own compilation, where macros or the tile differ."""
    if small is None:
        return None
    request = compile_request(job.exercise, source, small, job.arch, job.cache)
    if request == compile_request(job.exercise, source, plan, job.arch, job.cache):
        return SmallRun(small, module_of(made))
    again = stages.compile(request)
    return SmallRun(small, module_of(again)) if isinstance(again, Compilation) else None


def _stopped(
    begun: Analysis, findings: tuple[Finding, ...], clock: Clock, stages: Stages | None = None
) -> Analysis:
    return replace(
        begun,
        message="The kernel cannot be analysed.",
        findings=findings,
        seconds=dict(clock.seconds),
        isolation=stages.isolation() if stages is not None else (),
    )
