"""Checks of the operation `solution`: its operands have values, and its results depend on nothing but the sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kernels.exercise.model import ANY, FIXED, Exercise, Metric, Operand, Operation, Parameter, Role
from kernels.exercise.table import ExerciseError
from kernels.exercise.values import EXACT, UNSAID, ElementType, ValueKind, Values
from kernels.expression import Expression

_MOST_LEVELS = 1 << 24


def check_solution(exercise: Exercise, path: Path) -> None:
    """Raise ExerciseError for the first contradiction in the fields of the operation `solution`."""
    if exercise.operation is not Operation.SOLUTION:
        _check_others(exercise, path)
        _check_types(exercise, exercise.parameters, path, "")
        return
    if not exercise.outputs:
        raise ExerciseError(path, "operands", "a solution needs an operand with the role `output` or `inout`")
    if exercise.metric is Metric.GFLOPS and exercise.work.flops is None:
        raise ExerciseError(path, "work.flops", "the metric `gflops` needs this field")
    for index, operand in enumerate(exercise.operands):
        if operand.order != FIXED and (reason := _order_problem(exercise, operand)):
            raise ExerciseError(path, f"operands[{index}].order", reason)
        for field, reason in _problems(exercise, operand):
            raise ExerciseError(path, f"operands[{index}].{field}", reason)
    if exercise.then and exercise.size_macros:
        # the code of large sizes is sampled before it goes to a GPU, and later launches can't be sampled
        raise ExerciseError(path, "then", "with several launches, sizes must be parameters instead of macros")
    _check_types(exercise, exercise.parameters, path, "")
    for index, further in enumerate(exercise.then):
        _check_types(exercise, further.parameters, path, f"then[{index}].")


def check_variables(exercise: Exercise, path: Path) -> None:
    for index, operand in enumerate(exercise.operands):
        if operand.is_packed_variable and operand.role is not Role.INPUT:
            reason = f"a variable with elements of the type `{operand.type}` can only be an input"
            raise ExerciseError(path, f"operands[{index}].binding", reason)


def _check_types(exercise: Exercise, parameters: Sequence[Parameter], path: Path, where: str) -> None:
    types = {operand.name: operand.type for operand in exercise.operands}
    for index, parameter in enumerate(parameters):
        if parameter.operand is None or parameter.operand not in types:
            continue
        pointed = parameter.ctype.removeprefix("const ").removesuffix("*")
        if pointed not in types[parameter.operand].spellings:
            reason = f"`{parameter.operand}` has elements of the type `{types[parameter.operand].value}`"
            raise ExerciseError(path, f"{where}parameters[{index}].type", reason)


def _check_others(exercise: Exercise, path: Path) -> None:
    """Other operations have no further fields. Only a product may have other types than float."""
    only = 'only the operation "solution" has this'
    # A portal may hold older texts in which products of other types have their solution.
    if exercise.solution_text and all(operand.type is ElementType.FLOAT for operand in exercise.operands):
        raise ExerciseError(path, "solution", only)
    if exercise.tolerance != EXACT:
        raise ExerciseError(path, "tolerance", only)
    if exercise.work != UNSAID:
        raise ExerciseError(path, "work", only)
    if exercise.then:
        raise ExerciseError(path, "then", only)
    for index, operand in enumerate(exercise.operands):
        for field, given in (
            ("type", operand.type is not ElementType.FLOAT and exercise.operation is not Operation.MATMUL),
            ("values", operand.values is not None),
            ("planes", operand.planes is not None),
            ("role", operand.role in {Role.INOUT, Role.SCRATCH}),
            ("order", operand.order != FIXED),
        ):
            if given:
                raise ExerciseError(path, f"operands[{index}].{field}", only)
    for index, parameter in enumerate(exercise.parameters):
        if parameter.value is not None:
            raise ExerciseError(path, f"parameters[{index}].value", only)


def _order_problem(exercise: Exercise, operand: Operand) -> str:
    """Why the operand can't have its order; "" if it can."""
    if operand not in exercise.outputs or not operand.vector:
        return "only a result that is a vector may have any order"
    if operand.order == ANY:
        return ""
    columns = {each.name: each for each in exercise.operands if each.name in exercise.sorted_by(operand)[:-1]}
    first = columns.get(operand.order)
    before = exercise.operands[: exercise.operands.index(operand)]
    if first not in before or first not in exercise.outputs or not first.vector or first.order not in {FIXED, ANY}:
        return 'expected "fixed", "any" or the name of an earlier output, a vector in one of these orders'
    if first.rows.text != operand.rows.text:
        return f"`{first.name}` must have the same `rows`"
    if exercise.tolerance != EXACT and any(column.type.is_float for column in columns.values()):
        return "with a tolerance, only the last column of the rows may have floats"
    return ""


def _problems(exercise: Exercise, operand: Operand) -> Iterator[tuple[str, str]]:
    """The field and the reason of each mistake in one operand."""
    extents = {"planes": operand.planes, "rows": operand.rows, "cols": operand.cols}
    for field, extent in extents.items():
        if extent is not None and operand.role is not Role.SCRATCH and not extent.names <= set(exercise.sizes):
            yield field, "a solution's operand may use sizes only, so that all tiles have the same results"
    if operand.role in {Role.OUTPUT, Role.SCRATCH}:
        if operand.values is not None:
            yield "values", f"an operand with the role `{operand.role}` has no values before the launch"
        return
    if operand.values is None:
        yield "values", "this field is missing"
        return
    kind = operand.values.kind
    if kind.is_float and not operand.type.is_float:
        yield "values.kind", f'"{kind}" needs floats as elements'
    if kind.is_whole and operand.type.is_float:
        yield "values.kind", f'"{kind}" needs whole numbers as elements'
    if not operand.type.is_float and any(number % 1 for number in operand.values.numbers):
        yield "values.numbers", f"the type `{operand.type}` holds whole numbers only"
    for expression in _expressions(operand.values):
        if not expression.names <= set(exercise.sizes):
            yield "values", "values may use sizes only"
    if kind is ValueKind.ROW_COLUMNS and operand.values.rows not in _starts(exercise):
        yield "values.rows", 'it must be the name of an operand with values of the kind "row_starts"'


def _starts(exercise: Exercise) -> dict[str, Operand]:
    return {
        operand.name: operand
        for operand in exercise.operands
        if operand.values is not None and operand.values.kind is ValueKind.ROW_STARTS
    }


def _expressions(values: Values) -> tuple[Expression, ...]:
    return values.low, values.high, values.entries, values.longest, values.columns


def values_problem(exercise: Exercise, names: Mapping[str, int]) -> str:
    """Why the operands can't have their values at these sizes; "" if they can."""
    for operand in exercise.operands:
        if operand.values is not None:
            problem = _range_problem(operand, operand.values, names) or _sparse_problem(exercise, operand, names)
            if problem:
                return f"`{operand.name}` can't have its values: {problem}"
    return ""


def _range_problem(operand: Operand, values: Values, names: Mapping[str, int]) -> str:
    rows, columns = operand.shape(names)
    low, high = values.low.evaluate(names), values.high.evaluate(names)
    if values.numbers:
        if operand.type.is_float:
            too_large = max(map(abs, values.numbers)) > operand.type.largest
            return f"the type `{operand.type}` holds no number above {operand.type.largest:,.6g}" if too_large else ""
        low, high = int(min(values.numbers)), int(max(values.numbers))
    elif "low" not in values.kind.fields:
        low, high = 0, rows * columns if values.kind is ValueKind.PERMUTATION else 0
    least, most = operand.type.whole_range
    if values.kind is ValueKind.IMAGE and high - low > _MOST_LEVELS:
        return f"an image has at most {_MOST_LEVELS:,} levels"
    if low > high:
        return f"the smallest, {low}, is above the largest, {high}"
    if not least <= low <= high <= most:
        return f"{low} to {high} doesn't fit the type `{operand.type}`, which holds {least:,} to {most:,} exactly"
    return ""


def _sparse_problem(exercise: Exercise, operand: Operand, names: Mapping[str, int]) -> str:
    values = operand.values
    assert values is not None, "only operands with values are checked"
    elements = operand.rows.evaluate(names)
    if values.kind is ValueKind.ROW_STARTS:
        entries, longest = values.entries.evaluate(names), values.longest.evaluate(names)
        if not operand.vector or elements < 2:
            return "it needs one element for each row, and one more"
        if not 0 <= entries <= (elements - 1) * longest:
            return f"{elements - 1} rows of at most {longest} entries don't hold {entries} entries"
    if values.kind is ValueKind.ROW_COLUMNS:
        starts = _starts(exercise)[values.rows].values
        assert starts is not None, "operands with starts have values"
        entries, longest = starts.entries.evaluate(names), starts.longest.evaluate(names)
        if not operand.vector or elements != entries:
            return f"the matrix has {entries} entries, and this operand {elements} elements"
        if longest > values.columns.evaluate(names):
            return f"a row of {longest} entries needs as many columns"
    return ""
