"""A submission's source, with the values of names that only the compiler knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kernels.compile.compilation import Compilation
from kernels.exercise import Exercise
from kernels.exercise.sizes import fitted
from kernels.judging.plan import make_plan
from kernels.source.names import Evaluated, Evaluations, Given
from kernels.source.source_file import Source, read_source
from kernels.verdict import Finding
from worker.steps.compile_requests import Task, compile_request, evaluate_request, mentioned
from worker.steps.evidence import analysis_tile
from worker.steps.stages import Stages

_Setting = tuple[int, Mapping[str, int]]
"""A tile and sizes."""


def read(task: Task, stages: Stages, sizes: Mapping[str, int] | None = None) -> Source | tuple[Finding, ...]:
    """The source with the values of all names that a plan needs, or why it is refused.

    sizes: of an analysis; None for the exercise's own
    raise (SandboxFailure, NVRTCUnavailable, HeadersUnavailable): Tilelab or this machine failed
    """
    exercise = task.exercise
    first = source = read_source(task.source, exercise)
    answers = _Answers(task, stages)
    evaluations = Evaluations({})
    while isinstance(source, Source):
        answers.names = tuple(dict.fromkeys((*answers.names, *source.plan.asked)))
        if not answers.names:
            return source
        cases = list(_cases(exercise, source, task.tile))
        # an unknown name may determine the tile, and so the sizes
        found = answers.values(source, cases[:1] if source.plan.asked else cases)
        if isinstance(found, tuple):
            return found
        others = answers.values(source, () if source.plan.asked else _others(exercise, source, task.tile, sizes))
        if isinstance(others, tuple):
            return others
        before = evaluations
        evaluations = Evaluations({**before.cases, **found}, {**before.others, **others})
        if evaluations == before:
            return source
        source = read_source(task.source, exercise, evaluations)
    if not isinstance(first, Source) or not answers.names:
        return tuple(source)
    # if the file doesn't compile, the compiler's findings say more
    made = stages.compile(compile_request(task, first, make_plan(exercise, None, task.tile, "0")))
    return tuple(source) if isinstance(made, Compilation) else made


@dataclass(slots=True)
class _Answers:
    """The compiler's values so far. names: the names to evaluate."""

    task: Task
    stages: Stages
    names: tuple[str, ...] = ()
    _known: dict[Given, Evaluated] = field(default_factory=dict)

    def values(self, source: Source, settings: Iterable[_Setting]) -> Mapping[Given, Evaluated] | tuple[Finding, ...]:
        """The values of all names for these tiles and sizes, or findings if the compiler can't tell them.

        The compiler is asked once for all settings that differ only in macros that the file doesn't mention.
        """
        values = {}
        for tile, sizes in settings:
            defines = source.defines(self.task.exercise, tile, sizes)
            given = frozenset(mentioned(source.text, defines).items())
            if not self._known.get(given, {}).keys() >= set(self.names):
                found = self.stages.evaluate(evaluate_request(self.task, source, self.names, defines))
                if isinstance(found, tuple):
                    return found
                self._known[given] = found
            values[frozenset(defines.items())] = self._known[given]
        return values


def _cases(exercise: Exercise, source: Source, tile: int | None) -> Iterator[_Setting]:
    chosen = source.plan.tile.chosen(tile, exercise.tile)
    return ((chosen, case.sizes) for case in exercise.cases(chosen, source.macros))


def _others(
    exercise: Exercise, source: Source, tile: int | None, sizes: Mapping[str, int] | None
) -> Iterator[_Setting]:
    chosen = analysis_tile(exercise, source, tile)
    own = source.macros
    yield chosen, sizes or fitted(exercise, exercise.analysis_sizes(chosen, own), chosen, own)
    yield chosen, exercise.ranking
    if exercise.phases is not None:
        yield source.tile(exercise, exercise.phases.tile or chosen), exercise.phases.sizes
