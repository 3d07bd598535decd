"""Reads an exercise's folder: every field typed, unknown ones refused; errors name file, field and reason."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from kernels.exercise_model import (
    JUDGE_VERSION,
    Binding,
    CaseRule,
    Exercise,
    InputKind,
    Layout,
    Metric,
    Operand,
    Operation,
    Parameter,
    Role,
)
from kernels.exercise_table import ExerciseError, Table
from kernels.expression import Expression, ExpressionError
from kernels.launch import LaunchError, LaunchRule
from kernels.verdict import Severity

DEFINITION = "exercise.toml"
_FILES = (DEFINITION, "handout.md", "starter.cu", "solution.cu")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# Fields that change no verdict and no measurement.
_OUTSIDE_DIGEST = {"title"}


def load_exercise(folder: Path) -> Exercise:
    """Read the exercise in a folder; raise ExerciseError naming the file, the field and the reason."""
    path = folder / DEFINITION
    if not _NAME.fullmatch(folder.name):
        raise ExerciseError(
            folder, "", "a folder's name is the exercise's: small letters, digits, single hyphens"
        )
    for file in _FILES:
        if not (folder / file).is_file():
            raise ExerciseError(folder / file, "", "this file is missing")
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ExerciseError(path, "", f"this is not TOML: {error}") from None
    exercise = _read(Table(path, "", data), folder, _digest(data))
    _check_whole(exercise, path)
    return exercise


def _digest(data: Mapping[str, object]) -> str:
    """A hash of what verdicts and measurements depend on: the fields but the title, and the judge's version."""
    fields = {key: value for key, value in data.items() if key not in _OUTSIDE_DIGEST}
    text = json.dumps({"judge": JUDGE_VERSION, "exercise": fields}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _read(table: Table, folder: Path, digest: str) -> Exercise:
    sizes = table.names("sizes")
    tile = table.table("tile")
    exercise = Exercise(
        name=folder.name,
        title=table.text("title"),
        root=folder,
        kernel=table.name("kernel"),
        parameters=tuple(_parameter(entry) for entry in table.tables("parameters", may_be_empty=True)),
        sizes=sizes,
        size_macros=table.expressions("size_macros", sizes, optional=True),
        operands=tuple(_operand(entry, sizes) for entry in table.tables("operands")),
        operation=table.choice("operation", Operation),
        tile_name=tile.name("name", default="TILE_WIDTH"),
        tile=tile.integer("default"),
        tiles=tile.integers("allowed"),
        largest_tile=tile.integer("largest"),
        launch=_launch(table.table("launch"), (*sizes, tile.name("name", default="TILE_WIDTH"))),
        case_rules=tuple(_case_rule(entry, sizes, tile) for entry in table.tables("cases")),
        largest_on_cpu=table.integer("largest_on_cpu"),
        ranking=table.table("ranking").integer_of_each(sizes),
        metric=table.choice("metric", Metric),
        fmad=table.boolean("fmad", default=True),
        warp_races=table.choice("warp_races", Severity, default=Severity.ERROR),
        digest=digest,
    )
    tile.finish()
    table.finish()
    return exercise


def _parameter(table: Table) -> Parameter:
    parameter = Parameter(
        ctype=table.text("type"),
        name=table.name("name"),
        operand=table.name("operand", default="") or None,
        size=table.name("size", default="") or None,
    )
    if (parameter.operand is None) == (parameter.size is None):
        raise table.error("operand", "a parameter carries either an `operand` or a `size`")
    expected = ("float*", "const float*") if parameter.operand else ("int",)
    if parameter.ctype not in expected:
        raise table.error("type", f"expected {' or '.join(f'`{ctype}`' for ctype in expected)}")
    table.finish()
    return parameter


def _operand(table: Table, sizes: tuple[str, ...]) -> Operand:
    name = table.name("name")
    operand = Operand(
        name=name,
        role=table.choice("role", Role),
        rows=table.expression("rows", sizes),
        cols=table.expression("cols", sizes),
        layout=table.choice("layout", Layout, default=Layout.ROW_MAJOR),
        binding=table.choice("binding", Binding, default=Binding.PARAMETER),
        symbol=table.name("symbol", default=name),
    )
    table.finish()
    return operand


def _launch(table: Table, names: tuple[str, ...]) -> LaunchRule:
    rule = LaunchRule(
        grid=table.dimensions("grid", names),
        block=table.dimensions("block", names),
        shared=table.expression("shared", names, default="0"),
    )
    table.finish()
    return rule


def _case_rule(table: Table, sizes: tuple[str, ...], tile: Table) -> CaseRule:
    names = (tile.name("name", default="TILE_WIDTH"),)
    given = table.expressions("sizes", names)
    if set(given) != set(sizes):
        raise table.error("sizes", f"every size must be given, and no other: {', '.join(sizes)}")
    rule = CaseRule({name: given[name] for name in sizes}, table.choices("inputs", InputKind))
    table.finish()
    return rule


def _check_whole(exercise: Exercise, path: Path) -> None:
    """What holds between fields."""
    if exercise.tile not in exercise.tiles:
        raise ExerciseError(path, "tile.default", "it must be one of `tile.allowed`")
    if not 1 <= min(exercise.tiles) <= max(exercise.tiles) <= exercise.largest_tile:
        raise ExerciseError(path, "tile.allowed", "tiles lie between 1 and `tile.largest`")
    _check_operands(exercise, path)
    _check_parameters(exercise, path)
    for tile in exercise.tiles:
        _check_cases(exercise, tile, path)


def _check_operands(exercise: Exercise, path: Path) -> None:
    names = [operand.name for operand in exercise.operands]
    if len(set(names)) != len(names):
        raise ExerciseError(path, "operands", "two operands have the same name")
    roles = [operand.role for operand in exercise.operands]
    if sorted(roles) != [Role.INPUT, Role.INPUT, Role.OUTPUT]:
        raise ExerciseError(path, "operands", "a matmul has two inputs (left, then right) and one output")


def _check_parameters(exercise: Exercise, path: Path) -> None:
    bound = [parameter.operand for parameter in exercise.parameters if parameter.operand]
    expected = [operand.name for operand in exercise.operands if operand.binding is Binding.PARAMETER]
    if sorted(bound) != sorted(expected):
        reason = f"each operand bound as a parameter needs exactly one: {', '.join(expected) or 'none'}"
        raise ExerciseError(path, "parameters", reason)
    for parameter in exercise.parameters:
        if parameter.size and parameter.size not in exercise.sizes:
            raise ExerciseError(path, "parameters", f"`{parameter.size}` is not one of `sizes`")


def _check_cases(exercise: Exercise, tile: int, path: Path) -> None:
    """Every case must have a shape that fits, and some case must run on the CPU device."""
    try:
        cases = exercise.cases(tile)
        for case in cases:
            _check_shapes(exercise, case.sizes, path)
            exercise.launch.resolve({exercise.tile_name: tile, **case.sizes})
    except LaunchError as error:
        raise ExerciseError(path, "launch", f"with {exercise.tile_name} {tile}: {error}") from None
    except ExpressionError as error:
        raise ExerciseError(path, "cases", f"with {exercise.tile_name} {tile}: {error}") from None
    if not any(case.on_cpu for case in cases):
        reason = f"with {exercise.tile_name} {tile} no case is small enough for the CPU device"
        raise ExerciseError(path, "largest_on_cpu", reason)


def _check_shapes(exercise: Exercise, sizes: Mapping[str, int], path: Path) -> None:
    left, right = (_shape(operand, sizes) for operand in exercise.inputs)
    output = _shape(exercise.output, sizes)
    if min(*left, *right, *output) < 1 or left[1] != right[0] or output != (left[0], right[1]):
        given = ", ".join(f"{name}={value}" for name, value in sizes.items())
        product = " times ".join(f"{rows}x{cols}" for rows, cols in (left, right))
        reason = f"with {given}, {product} does not give {output[0]}x{output[1]}"
        raise ExerciseError(path, "operands", reason)


def _shape(operand: Operand, sizes: Mapping[str, int]) -> tuple[int, int]:
    rows: Expression = operand.rows
    return rows.evaluate(sizes), operand.cols.evaluate(sizes)
