"""What a job will run, worked out from the exercise and the source before anything is compiled.

A plan holds plain values only, so that the process which runs it needs no file: neither the exercise nor the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kernels.array_shapes import array_shapes
from kernels.exercise import Binding, Case, Exercise, InputKind, Layout, Operation, Role
from kernels.launch import Launch, LaunchError
from kernels.source import Source
from kernels.verdict import Example, Finding, Severity, Verdict


@dataclass(frozen=True, slots=True)
class MatrixPlan:
    """One matrix of a case: its size there, how it lies in memory, and how the kernel gets it."""

    name: str
    role: Role
    rows: int
    columns: int
    layout: Layout
    binding: Binding
    symbol: str | None

    @property
    def row_length(self) -> int:
        """Elements from one row (or column, in column-major order) to the next in memory."""
        return self.columns if self.layout is Layout.ROW_MAJOR else self.rows


@dataclass(frozen=True, slots=True)
class Argument:
    """One kernel argument: a pointer to the matrix `matrix`, or the value `number`."""

    matrix: str | None
    number: int | None


@dataclass(frozen=True, slots=True)
class CasePlan:
    """One case: its sizes, its matrices in the exercise's order, its launch and its arguments.

    turn: counts the cases of one input kind, so that what a kind alternates is covered over the cases
    launch: None where `problem` says why the case cannot be launched
    launch_lines: the keys of the launch that the source sets itself (`grid`, `block`, `shared`), each with its line
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

    @property
    def weight(self) -> int:
        """How large a case is; the smallest makes the best example."""
        return sum(self.sizes.values())


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that the check step needs beside the compiled kernel.

    shapes: extents of the arrays as the source declares them, where they can be read
    """

    exercise: str
    operation: Operation
    tile: int
    seed: str
    warp_races: Severity
    shapes: Mapping[str, tuple[int, ...]]
    cases: tuple[CasePlan, ...]

    @property
    def symbols(self) -> dict[str, str]:
        """Module global to matrix, for the matrices that the kernel gets that way."""
        matrices = self.cases[0].matrices if self.cases else ()
        return {m.symbol: m.name for m in matrices if m.binding is Binding.GLOBAL and m.symbol is not None}


def make_plan(exercise: Exercise, source: Source | None, tile: int | None, seed: str) -> Plan:
    """The plan of every case of the exercise; without a source, as far as it depends on none.

    tile: the one asked for; a source that declares its own keeps that
    """
    tile = source.tile(exercise, tile) if source is not None else tile or exercise.tile
    turns: dict[InputKind, int] = {}
    cases = []
    for case in exercise.cases(tile):
        turn = turns.setdefault(case.inputs, 0)
        turns[case.inputs] += 1
        cases.append(_plan_case(exercise, source, tile, case, turn))
    shapes = {}
    if source is not None:
        shapes = array_shapes(source.text, {exercise.tile_name: tile, **source.macros})
    return Plan(
        exercise=exercise.name,
        operation=exercise.operation,
        tile=tile,
        seed=seed,
        warp_races=exercise.warp_races,
        shapes=shapes,
        cases=tuple(cases),
    )


def select_cases(plan: Plan, text: str) -> Plan:
    """Only the cases whose name is the text, or has it as a whole word or run of words."""
    chosen = tuple(case for case in plan.cases if f" {text.strip()} " in f" {case.name} ")
    return replace(plan, cases=chosen)


def _plan_case(exercise: Exercise, source: Source | None, tile: int, case: Case, turn: int) -> CasePlan:
    names = exercise.names(tile, case.sizes, source.macros if source is not None else None)
    matrices = tuple(
        MatrixPlan(
            name=operand.name,
            role=operand.role,
            rows=operand.rows.evaluate(names),
            columns=operand.cols.evaluate(names),
            layout=operand.layout,
            binding=operand.binding,
            symbol=operand.symbol if operand.binding is Binding.GLOBAL else None,
        )
        for operand in exercise.operands
    )
    arguments = tuple(
        Argument(parameter.operand, None if parameter.size is None else case.sizes[parameter.size])
        for parameter in exercise.parameters
    )
    launch, problem = _resolve_launch(exercise, source, tile, case)
    return CasePlan(
        name=case.name,
        sizes=dict(case.sizes),
        inputs=case.inputs,
        turn=turn,
        on_cpu=case.on_cpu,
        matrices=matrices,
        arguments=arguments,
        launch=launch,
        problem=problem,
        launch_lines=source.launch.lines if source is not None and source.launch is not None else {},
    )


def _resolve_launch(
    exercise: Exercise, source: Source | None, tile: int, case: Case
) -> tuple[Launch | None, Finding | None]:
    """The launch of one case, or why there is none."""
    rule, names = exercise.launch, {exercise.tile_name: tile, **case.sizes}
    if source is not None:
        rule = rule.override(source.launch)
        names = source.launch_names(exercise, tile, case.sizes)
    try:
        return rule.resolve(names), None
    except LaunchError as error:
        return None, Finding(Verdict.RESOURCE_LIMIT, str(error), error.line, example=Example(case=case.name))
