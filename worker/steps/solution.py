"""The exercise's own solution, compiled to judge a submission by, for the operation `solution`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernels.compile.compilation import Compilation
from kernels.exercise import Exercise, Operation
from kernels.judging.plan import CasePlan, Plan, make_plan, with_solution
from kernels.launch import LaunchError
from kernels.source.source_file import Source
from worker.sandbox.limits import Failure, SandboxFailure
from worker.steps.compile_requests import Task, compile_request, mentioned
from worker.steps.source import read
from worker.steps.stages import Stages

_MOST_KEPT = 64


@dataclass(frozen=True, slots=True)
class _Grading:
    """The solution as a file to compile, in the form of a submission."""

    source: bytes
    exercise: Exercise
    arch: str
    cache: Path
    tile: int | None = None


@dataclass(frozen=True, slots=True)
class Solution:
    """The solution of an exercise. made: its compilations, by `CasePlan.module`."""

    exercise: Exercise
    source: Source
    made: tuple[Compilation, ...]

    def planned(self, case: CasePlan) -> CasePlan:
        """The case with the solution's launch. Raises SandboxFailure if it can't be launched."""
        try:
            return with_solution(self.exercise, self.source, case)
        except LaunchError as error:
            raise _failed(f"It can't be launched at {case.name}: {error}.") from error


_kept: dict[tuple[str, ...], Source | Compilation] = {}
"""Sources and compilations of solutions, because every submission of an assignment needs the same ones."""


def solution_for(task: Task, plan: Plan, stages: Stages, *, large: bool) -> Solution | None:
    """The solution for all compilations of a plan; None where nothing is compared with it.

    Raises like a compilation, and SandboxFailure if the solution doesn't compile.

    large: also for cases that are too large for the CPU device
    """
    exercise = task.exercise
    if exercise.operation is not Operation.SOLUTION:
        return None
    if not exercise.solution_text:
        raise _failed("This machine doesn't have it.")
    grading = _Grading(exercise.solution_text.encode(), exercise, task.arch, task.cache)
    source = _source(grading, stages)
    own = make_plan(exercise, source, None, plan.seed)
    made = tuple(_compiled(grading, source, replace(own, cases=(case,)), stages) for case in plan.modules(large=large))
    return Solution(exercise, source, made)


def with_solutions(plan: Plan, solution: Solution | None) -> Plan:
    """The plan, with the solution's launch in each case that has a compilation."""
    if solution is None:
        return plan
    made = len(solution.made)
    return replace(plan, cases=tuple(solution.planned(case) if case.module < made else case for case in plan.cases))


def _source(grading: _Grading, stages: Stages) -> Source:
    key = ("source", grading.exercise.digest, grading.arch)
    kept = _kept.get(key)
    if isinstance(kept, Source):
        return kept
    source = read(grading, stages)
    if not isinstance(source, Source):
        raise _failed(_told(source))
    _keep(key, source)
    return source


def _compiled(grading: _Grading, source: Source, plan: Plan, stages: Stages) -> Compilation:
    request = compile_request(grading, source, plan)
    defines = mentioned(request.text, request.defines)
    options = (str(request.fmad), str(request.max_registers), *request.symbols)
    key = (request.text, request.arch, request.kernel, *options, *map(str, sorted(defines.items())))
    kept = _kept.get(key)
    if isinstance(kept, Compilation):
        return kept
    made = stages.compile(request)
    if not isinstance(made, Compilation):
        raise _failed(_told(made))
    _keep(key, made)
    return made


def _keep(key: tuple[str, ...], value: Source | Compilation) -> None:
    while len(_kept) >= _MOST_KEPT:
        del _kept[next(iter(_kept))]
    _kept[key] = value


def _told(findings: Sequence[object]) -> str:
    return "; ".join(str(getattr(finding, "message", finding)) for finding in findings)


def _failed(reason: str) -> SandboxFailure:
    return SandboxFailure(Failure.SOLUTION, reason)
