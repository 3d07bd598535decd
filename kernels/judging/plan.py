"""The plan of a job, computed from the exercise and the source before anything is compiled.

A plan has plain values only. The process that runs it needs neither the exercise's files nor the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kernels.exercise import Case, Exercise, InputKind, Operation, Role
from kernels.exercise.input_words import case_words
from kernels.exercise.model import Launched
from kernels.exercise.sizes import unranked
from kernels.exercise.trial import Trial
from kernels.expression import Expression
from kernels.facts import Facts, Mistake
from kernels.judging.operand_plan import Argument, MatrixPlan, plan_argument, plan_matrix
from kernels.launch import MOST_THREADS, SHARED_BYTES, Launch, LaunchError, LaunchOverride, launch_text
from kernels.source.array_shapes import array_shapes
from kernels.source.launch.question import block_threads, largest_fitting
from kernels.verdict import Example, Finding, Severity, Verdict

if TYPE_CHECKING:
    from kernels.source.source_file import Source


@dataclass(frozen=True, slots=True)
class ConstantPlan:
    """A module variable of type int: its value at a case's launch, and the line of its declaration."""

    symbol: str
    value: int
    line: int | None = None


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """A launch after a case's first one. kernel: its name in the source."""

    kernel: str
    launch: Launch
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class SolutionLaunch:
    """What the exercise's own solution has of its own in a case, because its tile may be another one.

    Its compilation is the solution's with the number `CasePlan.module`.
    """

    launch: Launch
    constants: tuple[ConstantPlan, ...]
    arguments: tuple[Argument, ...]
    matrices: tuple[MatrixPlan, ...]
    then: tuple[LaunchPlan, ...] = ()


@dataclass(frozen=True, slots=True)
class CasePlan:
    """One case: its sizes, its matrices in the exercise's order, its launch and its arguments.

    operation: the computation
    section: elements of one sum, for the operation SUM; otherwise 0
    turn: the number among the cases of one input kind, so that all alternatives of the kind occur
    largest_shared: bytes of shared memory that a block may have
    launch: None if `problem` says why the case can't be launched
    launch_lines: the launch keys that the source sets (`grid`, `block`, `shared`), each with its line
    shapes: extents of the source's arrays, as far as they can be read
    size_macros: the macros that make this case's compilation different; `module` numbers these compilations
    solution: for the operation SOLUTION, once its file was read
    absolute, ulps: the tolerance of the operation SOLUTION
    flops, moved, worked: operations, bytes and elements of one launch that the exercise declares; 0 for none
    kernel: the exercise's name of the kernel that is launched first
    then: the launches after the first
    typed: values of a trial by matrix, row by row, in place of drawn ones
    """

    name: str
    sizes: Mapping[str, int]
    inputs: InputKind
    turn: int
    on_cpu: bool
    matrices: tuple[MatrixPlan, ...]
    arguments: tuple[Argument, ...]
    launch: Launch | None
    problem: Finding | None
    launch_lines: Mapping[str, int] = field(default_factory=dict)
    operation: Operation = Operation.MATMUL
    section: int = 0
    constants: tuple[ConstantPlan, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    size_macros: Mapping[str, int] = field(default_factory=dict)
    module: int = 0
    solution: SolutionLaunch | None = None
    absolute: float = 0.0
    ulps: float = 0.0
    flops: int = 0
    moved: int = 0
    worked: int = 0
    kernel: str = ""
    then: tuple[LaunchPlan, ...] = ()
    largest_shared: int = SHARED_BYTES
    typed: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def launches(self) -> tuple[Launch, ...]:
        """All launches in their order; none if the case can't be launched."""
        return () if self.launch is None else (self.launch, *(each.launch for each in self.then))

    @property
    def inputs_of_kernel(self) -> tuple[MatrixPlan, ...]:
        """The matrices that the kernel may only read."""
        return tuple(matrix for matrix in self.matrices if matrix.role is Role.INPUT)

    @property
    def given(self) -> tuple[MatrixPlan, ...]:
        return tuple(matrix for matrix in self.matrices if matrix.role in {Role.INPUT, Role.INOUT})

    @property
    def outputs(self) -> tuple[MatrixPlan, ...]:
        return tuple(matrix for matrix in self.matrices if matrix.role in {Role.OUTPUT, Role.INOUT})

    def by_solution(self) -> CasePlan:
        """This case with the launches of the exercise's solution."""
        own = self.solution
        assert own is not None, "only a case with a solution is run by it"
        return replace(
            self,
            launch=own.launch,
            constants=own.constants,
            arguments=own.arguments,
            matrices=own.matrices,
            then=own.then,
        )

    @property
    def symbols(self) -> dict[str, str]:
        """Module variable to matrix, for the matrices that the kernel gets as variables."""
        bound = [matrix for matrix in self.matrices if matrix.binding.is_variable]
        return {matrix.symbol: matrix.name for matrix in bound if matrix.symbol is not None}

    @property
    def weight(self) -> int:
        """The size of the case. The smallest case makes the best example."""
        return sum(self.sizes.values())


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that the check step needs, except the compiled kernels.

    is_trial: whether the response has the values of the first case
    """

    exercise: str
    operation: Operation
    tile: int
    seed: str
    warp_races: Severity
    cases: tuple[CasePlan, ...]
    is_trial: bool = False

    @property
    def symbols(self) -> dict[str, str]:
        """Module global to matrix, the same in all cases."""
        return self.cases[0].symbols if self.cases else {}

    @property
    def module_symbols(self) -> tuple[str, ...]:
        """The names of all module variables to look up in the compiled kernel."""
        constants = [constant.symbol for constant in self.cases[0].constants] if self.cases else []
        return (*self.symbols, *constants)

    def modules(self, *, large: bool = False) -> tuple[CasePlan, ...]:
        """One case for each compilation that the run needs.

        large: whether cases run that are too large for the CPU device
        """
        firsts: dict[int, CasePlan] = {}
        for case in self.cases:
            if case.on_cpu or large:
                firsts.setdefault(case.module, case)
        return tuple(firsts[number] for number in sorted(firsts))


def make_plan(exercise: Exercise, source: Source | None, tile: int | None, seed: str) -> Plan:
    """The plan of every case of the exercise; without a source, as far as possible.

    The ranking size is left out if the source's tile doesn't fit it and the exercise allows that.

    tile: the requested tile; a source that declares a tile keeps it
    """
    tile = source.tile(exercise, tile) if source is not None else tile or exercise.tile
    own = source.macros if source is not None else None
    left_out = exercise.ranking if unranked(exercise, tile, own) else None
    turns: dict[InputKind, int] = {}
    cases = []
    for case in exercise.cases(tile, own):
        if case.sizes == left_out:
            continue
        turn = turns.setdefault(case.inputs, 0)
        turns[case.inputs] += 1
        cases.append(_plan_case(exercise, source, tile, case, turn))
    return _plan(exercise, tile, seed, cases)


def plan_at(
    exercise: Exercise, source: Source | None, tile: int | None, sizes: Mapping[str, int], seed: str = "0"
) -> Plan:
    """A plan of one case at any sizes, with the plainest inputs. It is for analyses, not for verdicts."""
    tile = source.tile(exercise, tile) if source is not None else tile or exercise.tile
    name = " ".join(f"{name}={size}" for name, size in sizes.items())
    case = Case(name, sizes, exercise.plain_inputs, on_cpu=True)
    return _plan(exercise, tile, seed, [_plan_case(exercise, source, tile, case, 0)])


def plan_trial(exercise: Exercise, source: Source | None, tile: int | None, trial: Trial, seed: str) -> Plan:
    """A plan of one case at the sizes and values of a trial."""
    tile = source.tile(exercise, tile) if source is not None else tile or exercise.tile
    case = exercise.case(trial.sizes, trial.inputs)
    if trial.typed:
        case = replace(case, name=case.name.removesuffix(f" {trial.inputs}"))
    planned = replace(_plan_case(exercise, source, tile, case, 0), typed=trial.typed)
    return replace(_plan(exercise, tile, seed, [planned]), is_trial=True)


def with_solution(exercise: Exercise, source: Source, case: CasePlan) -> CasePlan:
    """The case with the launch of the exercise's solution, whose tile is its own or the exercise's.

    raise (LaunchError): the solution can't be launched at these sizes
    """
    tile = source.tile(exercise, None)
    launch = exercise.launch.override(source.plan.launch).resolve(source.launch_names(exercise, tile, case.sizes))
    names = exercise.names(tile, case.sizes, source.macros)
    solution = SolutionLaunch(
        launch,
        _constants(exercise, names, {}),
        _arguments(exercise, exercise, case.sizes, names),
        _matrices(exercise, names, {}),
        tuple(_further(exercise, source, tile, case.sizes)),
    )
    return replace(case, solution=solution)


def _plan(exercise: Exercise, tile: int, seed: str, cases: Sequence[CasePlan]) -> Plan:
    return Plan(
        exercise=exercise.name,
        operation=exercise.operation,
        tile=tile,
        seed=seed,
        warp_races=exercise.warp_races,
        cases=_numbered(cases),
    )


def _numbered(cases: Sequence[CasePlan]) -> tuple[CasePlan, ...]:
    """The cases with the number of their compilation; cases for the CPU device get the first numbers."""
    numbers: dict[tuple[tuple[str, int], ...], int] = {}
    for case in sorted(cases, key=lambda case: not case.on_cpu):
        numbers.setdefault(tuple(case.size_macros.items()), len(numbers))
    return tuple(replace(case, module=numbers[tuple(case.size_macros.items())]) for case in cases)


def select_cases(plan: Plan, text: str) -> Plan:
    """Only the cases that have each word of the text in their name, or in their name in words."""
    wanted = _words(text)
    chosen = [case for case in plan.cases if wanted and wanted <= _words(f"{case.name} {case_words(case.name)}")]
    return replace(plan, cases=_numbered(chosen))


def _words(text: str) -> set[str]:
    return set(text.replace(",", " ").lower().split())


def _plan_case(exercise: Exercise, source: Source | None, tile: int, case: Case, turn: int) -> CasePlan:
    names = exercise.names(tile, case.sizes, source.macros if source is not None else None)
    lines = source.globals if source is not None else {}
    launch, problem = _resolve_launch(exercise, source, tile, case)
    then, further_problem = _resolve_further(exercise, source, tile, case)
    arguments, map_problem = _resolve_arguments(exercise, source, tile, case)
    problem = problem or further_problem or map_problem
    dynamic = {each.shared for each in (launch, *(further.launch for further in then)) if each is not None}
    return CasePlan(
        name=case.name,
        sizes=dict(case.sizes),
        inputs=case.inputs,
        turn=turn,
        on_cpu=case.on_cpu,
        matrices=_matrices(exercise, names, lines),
        arguments=arguments,
        launch=None if problem is not None else launch,
        problem=problem,
        launch_lines=source.plan.launch.lines if source is not None and source.plan.launch is not None else {},
        operation=exercise.operation,
        section=exercise.section_length(names) if exercise.operation is Operation.SUM else 0,
        constants=_constants(exercise, names, lines),
        shapes=array_shapes(
            source.text, source.launch_names(exercise, tile, case.sizes), dynamic.pop() if len(dynamic) == 1 else 0
        )
        if source
        else {},
        size_macros=exercise.defines(case.sizes),
        absolute=exercise.tolerance.absolute,
        ulps=exercise.tolerance.ulps,
        flops=_value(exercise.work.flops, names),
        moved=_value(exercise.work.bytes, names),
        worked=_value(exercise.work.elements, names),
        kernel=exercise.kernel,
        then=then,
        largest_shared=exercise.largest_shared,
    )


def _arguments(
    exercise: Exercise,
    launched: Launched,
    sizes: Mapping[str, int],
    names: Mapping[str, int],
    comment: LaunchOverride | None = None,
) -> tuple[Argument, ...]:
    return tuple(plan_argument(exercise, parameter, sizes, names, comment) for parameter in launched.parameters)


def _resolve_arguments(
    exercise: Exercise, source: Source | None, tile: int, case: Case
) -> tuple[tuple[Argument, ...], Finding | None]:
    names = exercise.names(tile, case.sizes, source.macros if source is not None else None)
    comment = source.plan.launch if source is not None else None
    if source is not None and comment is not None and comment.maps:
        names = source.launch_names(exercise, tile, case.sizes)
    try:
        return _arguments(exercise, exercise, case.sizes, names, comment), None
    except LaunchError as error:
        line = comment.line if comment is not None and comment.maps else None
        example, facts = Example(case=case.name), Facts(Mistake.IMPOSSIBLE_MAP)
        return (), Finding(Verdict.RESOURCE_LIMIT, str(error), line, example=example, facts=facts)


def _matrices(exercise: Exercise, names: Mapping[str, int], lines: Mapping[str, int]) -> tuple[MatrixPlan, ...]:
    return tuple(plan_matrix(operand, exercise.sorted_by(operand), names, lines) for operand in exercise.operands)


def _further(exercise: Exercise, source: Source | None, tile: int, sizes: Mapping[str, int]) -> Iterator[LaunchPlan]:
    """The launches after the first. Raises LaunchError at the first that no device supports."""
    names = exercise.names(tile, sizes, source.macros if source is not None else None)
    found = source.launch_names(exercise, tile, sizes) if source is not None and exercise.then else names
    for each in exercise.then:
        yield LaunchPlan(each.kernel, each.launch.resolve(found), _arguments(exercise, each, sizes, names))


def _constants(exercise: Exercise, names: Mapping[str, int], lines: Mapping[str, int]) -> tuple[ConstantPlan, ...]:
    return tuple(
        ConstantPlan(constant.symbol, constant.value.evaluate(names), lines.get(constant.symbol))
        for constant in exercise.constants
    )


def _value(expression: Expression | None, names: Mapping[str, int]) -> int:
    return 0 if expression is None else expression.evaluate(names)


def _resolve_launch(
    exercise: Exercise, source: Source | None, tile: int, case: Case
) -> tuple[Launch | None, Finding | None]:
    rule, names = exercise.launch, {exercise.tile_name: tile, **case.sizes}
    if source is not None:
        rule = rule.override(source.plan.launch)
        names = source.launch_names(exercise, tile, case.sizes)
    try:
        return rule.resolve(names), None
    except LaunchError as error:
        message, line, facts = str(error), error.line, Facts()
        own_block = source is not None and source.plan.launch is not None and source.plan.launch.block is not None
        if not own_block and block_threads(exercise, tile) > MOST_THREADS:
            message, line = _too_large(exercise, tile), (source and source.plan.tile.line) or line
            facts = Facts(Mistake.LARGE_TILE, largest_tile=largest_fitting(exercise))
        example = Example(case=case.name)
        return None, Finding(Verdict.RESOURCE_LIMIT, message, line, example=example, facts=facts)


def _resolve_further(
    exercise: Exercise, source: Source | None, tile: int, case: Case
) -> tuple[tuple[LaunchPlan, ...], Finding | None]:
    plans: list[LaunchPlan] = []
    try:
        plans.extend(_further(exercise, source, tile, case.sizes))
    except LaunchError as error:
        number, line = len(plans) + 2, source.plan.tile.line if source is not None else None
        message = f"{error} {launch_text(number, [launch.kernel for launch in exercise.launches])}"
        return (), Finding(Verdict.RESOURCE_LIMIT, message, line, example=Example(case=case.name, launch=number))
    return tuple(plans), None


def _too_large(exercise: Exercise, tile: int) -> str:
    """Why the exercise's block can't be launched with this tile."""
    return (
        f"A tile of {tile:,} makes blocks of {block_threads(exercise, tile):,} threads. A block has at most "
        f"{MOST_THREADS:,}, so the largest tile is {largest_fitting(exercise):,}."
    )
