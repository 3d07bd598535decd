"""A submission, read with the compiler's help where the text alone doesn't tell what a name stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kernels.compile.compilation import Compilation
from kernels.exercise import Exercise
from kernels.exercise.sizes import fitted
from kernels.judging.plan import make_plan
from kernels.source import Source, read_source
from kernels.source.names import Evaluated, Evaluations, Given
from kernels.verdict import Finding
from worker.steps.compiling import Task, compile_request, evaluate_request, mentioned
from worker.steps.evidence import analysis_tile
from worker.steps.stages import Stages

_Setting = tuple[int, Mapping[str, int]]
"""A tile and sizes."""


def read(task: Task, stages: Stages, sizes: Mapping[str, int] | None = None) -> Source | tuple[Finding, ...]:
    """The source with all names known that a plan needs, or why it cannot be taken.

    sizes: of an analysis, where the exercise's own aren't meant
    raise (SandboxFailure, NVRTCUnavailable, HeadersUnavailable): where it isn't the file that is at fault
    """
    exercise = task.exercise
    first = source = read_source(task.source, exercise)
    answers = _Answers(task, stages)
    while isinstance(source, Source):
        answers.names = tuple(dict.fromkeys((*answers.names, *source.asked)))
        if not answers.names:
            return source
        cases = list(_cases(exercise, source, task.tile))
        others = [] if source.asked else list(_others(exercise, source, task.tile, sizes))
        before = answers.taken
        # what is still asked may decide about the tile, and so about the sizes
        failed = answers.ask(source, cases[:1] if source.asked else cases, answers.cases)
        failed = failed or answers.ask(source, others, answers.others)
        if failed:
            return failed
        if answers.taken == before:
            return source
        source = read_source(task.source, exercise, Evaluations(answers.cases, answers.others))
    if not isinstance(first, Source) or not answers.names:
        return tuple(source)
    # of a file that doesn't compile the compiler has more to say
    made = stages.compile(compile_request(task, first, make_plan(exercise, None, task.tile, "0")))
    return tuple(source) if isinstance(made, Compilation) else made


@dataclass(slots=True)
class _Answers:
    """What the compiler said so far.

    names: what it is asked for
    taken: how many answers were taken
    """

    task: Task
    stages: Stages
    names: tuple[str, ...] = ()
    cases: dict[Given, Evaluated] = field(default_factory=dict)
    others: dict[Given, Evaluated] = field(default_factory=dict)
    taken: int = 0
    _known: dict[Given, Evaluated] = field(default_factory=dict)

    def ask(
        self, source: Source, settings: Sequence[_Setting], answers: dict[Given, Evaluated]
    ) -> tuple[Finding, ...]:
        """Evaluate all names for these tiles and sizes; findings where the compiler can't."""
        for tile, sizes in settings:
            defines = source.defines(self.task.exercise, tile, sizes)
            given = frozenset(defines.items())
            if answers.get(given, {}).keys() >= set(self.names):
                continue
            found = self._evaluated(source, defines)
            if isinstance(found, tuple):
                return found
            answers[given] = found
            self.taken += 1
        return ()

    def _evaluated(self, source: Source, defines: Mapping[str, str]) -> Evaluated | tuple[Finding, ...]:
        """Ask once for all macros that the file doesn't mention."""
        given = frozenset(mentioned(source.text, defines).items())
        known = self._known.get(given, {})
        if not known.keys() >= set(self.names):
            found = self.stages.evaluate(evaluate_request(self.task, source, self.names, defines))
            if isinstance(found, tuple):
                return found
            known = self._known[given] = found
        return known


def _cases(exercise: Exercise, source: Source, tile: int | None) -> Iterator[_Setting]:
    chosen = source.own_tile or tile or exercise.tile
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
