"""The analysis of one kernel for its report: compilations, the counted run, and the evaluation of the counts."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType

from kernels.compile.compilation import Compilation
from kernels.evidence import Evidence
from kernels.exercise import Exercise, Operation
from kernels.exercise.sizes import fitted, misfit
from kernels.exercise.values import ElementType
from kernels.judging.plan import Plan, plan_at
from kernels.occupancy import Occupancy, UnknownCapability
from kernels.source.source_file import Source
from kernels.verdict import Finding
from worker.sandbox.compile_child import CompileRequest
from worker.sandbox.limits import SandboxFailure
from worker.steps.analysis_step import MOST_ELEMENTS, AnalysisRequest, AnalysisResponse, SmallRun
from worker.steps.compile_requests import Task, compile_request, same_code
from worker.steps.evidence import Target, analysis_tile, capability, elements, fits, meaning, module_of, target
from worker.steps.stages import Stages

logger = logging.getLogger(__name__)

NO_EVIDENCE = "No analysis: the counted run failed. This does not change the verdict."
_AFFORDABLE_BESIDE_A_CHECK = 30_000_000
_FEW_ELEMENTS = 2**23
"""Filling this many takes a few hundredths of a second."""

Made = Compilation | tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """An analysis of one source. Each plan has one case.

    plan: for the counted run
    small: for the phase table
    ranking: for the speed of light
    ranking_elements: the most elements of that case for which some of its blocks run
    made: compilations so far with their requests; requests for the same code are compiled once
    """

    task: Task
    source: Source
    plan: Plan
    small: Plan | None
    ranking: Plan | None
    target: Target
    ranking_elements: int = MOST_ELEMENTS
    made: list[tuple[CompileRequest, Made]] = field(default_factory=list)

    def request(self, plan: Plan) -> CompileRequest:
        return compile_request(self.task, self.source, plan)

    def compile(self, stages: Stages, plan: Plan) -> Made:
        """Compile for a plan, unless the same code is already compiled."""
        wanted = self.request(plan)
        for request, made in self.made:
            if same_code(request, wanted):
                return made
        new = stages.compile(wanted)
        self.made.append((wanted, new))
        return new

    def start_compiling(self, stages: Stages, others: tuple[Plan, ...]) -> None:
        """Start the needed compilations that the other plans don't include, so that they are ready in time."""
        requests = [self.request(plan) for plan in others]
        for plan in (self.plan, self.small):
            wanted = self.request(plan) if plan is not None and fits(plan) else None
            if wanted is not None and not any(same_code(request, wanted) for request in requests):
                requests.append(wanted)
                stages.start_compiling(wanted)


def look_at(
    task: Task,
    source: Source,
    *,
    sizes: Mapping[str, int] | None = None,
    at_target: Target | None = None,
    ranking_elements: int = MOST_ELEMENTS,
) -> Look:
    """Plan the analysis of a source, by default at the exercise's sizes and tile.

    If the source sets its own tile, the exercise's sizes are adjusted to it.
    """
    exercise = task.exercise
    chosen = analysis_tile(exercise, source, task.tile)
    at = sizes or fitted(exercise, exercise.analysis_sizes(chosen, source.macros), chosen, source.macros)
    plan = plan_at(exercise, source, chosen, at)
    small = None
    if exercise.phases is not None:
        small = plan_at(exercise, source, exercise.phases.tile or chosen, exercise.phases.sizes)
    ranking = plan_at(exercise, source, chosen, exercise.ranking)
    unfit = ranking.cases[0].launch is None or misfit(exercise, exercise.ranking, chosen, source.macros)
    return Look(task, source, plan, small, None if unfit else ranking, at_target or target(), ranking_elements)


def count(look: Look, stages: Stages, compilation: Compilation, *, affordable: int, observe: bool) -> AnalysisResponse:
    """The counted run. Call `stages.start_disassembly` for this compilation before. Raises SandboxFailure."""
    small = None
    if look.small is not None:
        again = look.compile(stages, look.small)
        small = SmallRun(look.small, module_of(again)) if isinstance(again, Compilation) else None
    disassembly = stages.disassembly()
    return stages.analyse(
        AnalysisRequest(
            look.plan,
            module_of(compilation),
            disassembly.text,
            disassembly.reason,
            light=look.ranking.cases[0] if look.ranking is not None else None,
            runs_light=_runs_ranking(look),
            phases=small,
            affordable=affordable,
            observe=observe,
        )
    )


def _runs_ranking(look: Look) -> bool:
    """Whether blocks of the ranking size run. They must have the code of the counted case."""
    ranking = look.ranking
    if ranking is None or elements(ranking) > look.ranking_elements:
        return False
    return same_code(look.request(ranking), look.request(look.plan))


def explain(look: Look, made: Compilation, counted: AnalysisResponse) -> tuple[Evidence, Occupancy | None]:
    return meaning(counted, look.task.exercise, look.source, look.plan, made.resources, look.target, look.ranking)


def prepare(task: Task, source: Source, checked: Plan, stages: Stages) -> Look | None:
    """Prepare an analysis during a check, and start its processes. Returns None on failure, and never raises.

    checked: the plan of the check, whose compilations are shared
    """
    with _Harmless():
        most = _ranking_elements(task.exercise)
        look = look_at(task, source, at_target=_target_for(task.arch), ranking_elements=most)
        others = tuple(replace(checked, cases=(case,)) for case in checked.modules())
        look.start_compiling(stages, others)
        return look
    return None


def begin(look: Look | None, stages: Stages) -> Compilation | None:
    """Start the disassembly during a check. Returns None if this kernel can't be analysed. Never raises."""
    with _Harmless():
        made = look.compile(stages, look.plan) if look is not None and fits(look.plan) else None
        if isinstance(made, Compilation):
            stages.start_disassembly(made.cubin)
            return made
    return None


def finish(look: Look, stages: Stages, compilation: Compilation) -> tuple[Evidence, Occupancy | None]:
    """The evidence for a report. If there is none, a note says why. Never raises."""
    with _Harmless():
        counted = count(look, stages, compilation, affordable=_AFFORDABLE_BESIDE_A_CHECK, observe=False)
        if counted.problem is None:
            return explain(look, compilation, counted)
        return Evidence(notes=(f"No analysis: {counted.problem.message}",)), None
    return Evidence(notes=(NO_EVIDENCE,)), None


def _ranking_elements(exercise: Exercise) -> int:
    """The most elements of the ranking size for which a check runs some of its blocks.

    Without a run, the totals of floats are inferred from the counted size, unless only the exercise's solution says
    what they are. The counted size of tensor cores is a few tiles, which is too little.
    """
    if any(operand.type is not ElementType.FLOAT for operand in exercise.operands):
        return MOST_ELEMENTS
    return _FEW_ELEMENTS if exercise.operation is Operation.SOLUTION else 0


def _target_for(arch: str) -> Target:
    """The target with the occupancy of an architecture; the default for one without known limits."""
    try:
        return target(cc=capability(arch))
    except UnknownCapability:
        return target()


class _Harmless:
    """Logs errors and continues, because no verdict depends on this analysis."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, SandboxFailure):
            logger.warning("no evidence: %s", error)  # a trace would say nothing more
            return True
        if isinstance(error, Exception):
            logger.warning("no evidence", exc_info=error)
            return True
        return False
