"""Checks across the fields of an exercise: names, shapes, cases."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path

from kernels.exercise.model import MOST_COMPILATIONS, Binding, Case, Exercise, InputKind, Launched, Operation, Role
from kernels.exercise.product_types import ProductTypes
from kernels.exercise.solution_checks import check_solution, check_variables, values_problem
from kernels.exercise.table import ExerciseError
from kernels.expression import ExpressionError
from kernels.launch import MOST_THREADS, LaunchError

REGISTERS = range(16, 256)
"""The limits on a thread's registers that the compiler takes."""

MOST_LAUNCHES = 32
"""Launches of a case. Each one may use a whole budget of instructions."""

_MOST_SHARED = 227 * 1024
_MOST_ELEMENTS = (1 << 31) - 1
"""An `int` indexes no more."""

_LONGEST_SUM = 1 << 23
"""Above this many elements, each at least 1, perhaps counted twice, some sums aren't exact in float."""

_ROLES = {
    Operation.MATMUL: ((2, 1), "a matmul has two inputs (left, then right) and one output"),
    Operation.SUM: ((1, 1), "a sum has one input and one output"),
    Operation.TRANSPOSE: ((1, 1), "a transpose has one input and one output"),
}


def check_whole(exercise: Exercise, path: Path) -> None:
    """Raise ExerciseError for the first contradiction."""
    if exercise.tile not in exercise.tiles:
        raise ExerciseError(path, "tile.default", "it must be one of `tile.allowed`")
    if not 1 <= min(exercise.tiles) <= max(exercise.tiles) <= exercise.largest_tile:
        raise ExerciseError(path, "tile.allowed", "tiles are between 1 and `tile.largest`")
    if exercise.largest_shared > _MOST_SHARED:
        raise ExerciseError(path, "launch.largest_shared", f"no GPU has more than {_MOST_SHARED:,} bytes for a block")
    if exercise.max_registers is not None and exercise.max_registers not in REGISTERS:
        raise ExerciseError(path, "max_registers", f"expected {REGISTERS[0]} to {REGISTERS[-1]}")
    if len(exercise.launches) > MOST_LAUNCHES:
        raise ExerciseError(path, "then", f"a case has at most {MOST_LAUNCHES} launches with the first")
    if exercise.section is not None and exercise.operation is not Operation.SUM:
        raise ExerciseError(path, "section", "only a sum has sections")
    _check_names(exercise, path)
    check_solution(exercise, path)
    check_variables(exercise, path)
    _check_operands(exercise, path)
    _check_parameters(exercise, path)
    _check_inputs(exercise, path)
    for tile in exercise.tiles:
        for own in _own_macros(exercise):
            _check_cases(exercise, tile, own, path)
    if not any(case.on_cpu for case in exercise.cases(exercise.largest_tile)):
        reason = f"with {exercise.tile_name} {exercise.largest_tile} no case is small enough for the CPU device"
        raise ExerciseError(path, "tile.largest", reason)
    # The largest tile must fit into a one-dimensional block. A submission may use other shapes.
    for sizes in _different_sizes(exercise.cases(exercise.largest_tile)):
        _check_block_of_largest_tile(exercise, sizes, path)
    _check_closer_looks(exercise, path)


def check_ranking(exercise: Exercise, path: Path) -> None:
    """Raise ExerciseError for a contradiction of the ranking size or the analysis with the other fields.

    Those must have passed `check_whole`. Sizes for the CPU device also change what the cases need, so all is checked.
    """
    if max(exercise.ranking.values()) <= exercise.largest_on_cpu:
        check_whole(exercise, path)
        return
    for tile in exercise.tiles:
        for own in _own_macros(exercise):
            with _at(exercise, tile, own, path):
                _check_case(exercise, tile, own, exercise.ranking, path)
    _check_block_of_largest_tile(exercise, exercise.ranking, path)
    _check_closer_looks(exercise, path)


def _check_names(exercise: Exercise, path: Path) -> None:
    given = exercise.size_macros.keys() & {exercise.tile_name, *exercise.macros}
    if given:
        raise ExerciseError(path, "size_macros", f"`{min(given)}` is the name of the tile or of a macro already")
    symbols = [operand.symbol for operand in exercise.operands if operand.binding.is_variable]
    symbols += [constant.symbol for constant in exercise.constants]
    twice = sorted({symbol for symbol in symbols if symbols.count(symbol) > 1})
    if twice:
        raise ExerciseError(path, "operands", f"two operands or constants are bound to `{twice[0]}`")
    for index, operand in enumerate(exercise.operands):
        if operand.binding is Binding.CONSTANT and operand.role is not Role.INPUT:
            reason = "a kernel can't write to constant memory; use `global`"
            raise ExerciseError(path, f"operands[{index}].binding", reason)


def _check_operands(exercise: Exercise, path: Path) -> None:
    names = [operand.name for operand in exercise.operands]
    if len(set(names)) != len(names):
        raise ExerciseError(path, "operands", "two operands have the same name")
    roles = [operand.role for operand in exercise.operands]
    if exercise.operation in _ROLES:
        expected, reason = _ROLES[exercise.operation]
        if (roles.count(Role.INPUT), roles.count(Role.OUTPUT)) != expected:
            raise ExerciseError(path, "operands", reason)
    if exercise.operation is Operation.MATMUL:
        (left, right), result = exercise.inputs, exercise.output
        if reason := ProductTypes(left.type, right.type, result.type).problem:
            raise ExerciseError(path, "operands", reason)


def _check_parameters(exercise: Exercise, path: Path) -> None:
    expected = [operand.name for operand in exercise.operands if operand.binding is Binding.PARAMETER]
    every: set[str] = set()
    for where, launched in _launches(exercise):
        bound = [parameter.operand for parameter in launched.parameters if parameter.operand]
        mapped = {parameter.map.operand: parameter.name for parameter in launched.parameters if parameter.map}
        if unknown := sorted(mapped.keys() - set(expected)):
            reason = (
                f"`{mapped[unknown[0]]}` maps `{unknown[0]}`, which is none of the operands in parameters: "
                f"{', '.join(expected) or 'there is none'}"
            )
            raise ExerciseError(path, f"{where}parameters", reason)
        every |= {*bound, *mapped}
        if len(set(bound)) < len(bound) or not every <= set(expected):
            reason = f"each operand bound as a parameter needs exactly one: {', '.join(expected) or 'none'}"
            raise ExerciseError(path, f"{where}parameters", reason)
        parameters = [parameter.name for parameter in launched.parameters]
        if twice := sorted({name for name in parameters if parameters.count(name) > 1}):
            raise ExerciseError(path, f"{where}parameters", f"two parameters have the name `{twice[0]}`")
        for parameter in launched.parameters:
            if parameter.size and parameter.size not in exercise.sizes:
                raise ExerciseError(path, f"{where}parameters", f"`{parameter.size}` is not one of `sizes`")
        if _types(launched) != _types(exercise.kernels[launched.kernel]):
            reason = f"an earlier launch of `{launched.kernel}` has other types"
            raise ExerciseError(path, f"{where}parameters", reason)
    if missing := [name for name in expected if name not in every]:
        reason = f"each operand bound as a parameter needs one: {', '.join(missing)} has none"
        raise ExerciseError(path, "parameters", reason)


def _launches(exercise: Exercise) -> Iterator[tuple[str, Launched]]:
    """Yield all launches, each with its place in the file."""
    yield "", exercise
    for index, further in enumerate(exercise.then):
        yield f"then[{index}].", further


def _types(launched: Launched) -> list[str]:
    return [parameter.ctype.removeprefix("const ") for parameter in launched.parameters]


def _check_inputs(exercise: Exercise, path: Path) -> None:
    """Check that the kinds of input can expose mistakes in this operation."""
    kinds = InputKind.of(exercise.operation)
    for index, rule in enumerate(exercise.case_rules):
        for kind in rule.inputs:
            if kind not in kinds:
                reason = f'"{kind}" makes no sense for "{exercise.operation}"; it takes '
                raise ExerciseError(path, f"cases[{index}].inputs", reason + ", ".join(f'"{kind}"' for kind in kinds))
            if kind is InputKind.REAL and not exercise.output.type.is_float:
                raise ExerciseError(path, f"cases[{index}].inputs", '"real" needs floats as elements')


def _own_macros(exercise: Exercise) -> Iterator[Mapping[str, int]]:
    """Yield values of the macros to try with the cases: the defaults, all 1, and the largest."""
    tried = (exercise.macros, dict.fromkeys(exercise.macros, 1), exercise.largest_macros)
    for index, own in enumerate(tried):
        if own not in tried[:index]:
            yield own


def _check_cases(exercise: Exercise, tile: int, own: Mapping[str, int], path: Path) -> None:
    """Check that every case has fitting shapes, a case runs on the CPU device, and compilations are few."""
    given = _given(exercise, tile, own)
    with _at(exercise, tile, own, path):
        cases = exercise.cases(tile, own)
        for sizes in _different_sizes(cases):
            _check_case(exercise, tile, own, sizes, path)
    on_cpu = [case for case in cases if case.on_cpu]
    if not on_cpu:
        reason = f"with {given} no case is small enough for the CPU device"
        raise ExerciseError(path, "largest_on_cpu", reason)
    compilations = len({tuple(exercise.defines(case.sizes).items()) for case in on_cpu})
    if compilations > MOST_COMPILATIONS:
        reason = (
            f"with {given} the cases have {compilations} different sets of values, each compiled by itself; "
            f"at most {MOST_COMPILATIONS} are allowed"
        )
        raise ExerciseError(path, "size_macros", reason)


def _different_sizes(cases: Sequence[Case]) -> Iterable[Mapping[str, int]]:
    """The sizes of the cases in their order, once for all kinds of input."""
    return {tuple(case.sizes.items()): case.sizes for case in cases}.values()


def _given(exercise: Exercise, tile: int, own: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {value}" for name, value in {exercise.tile_name: tile, **own}.items())


@contextlib.contextmanager
def _at(exercise: Exercise, tile: int, own: Mapping[str, int], path: Path) -> Iterator[None]:
    """Name the tile and the macros in errors."""
    try:
        yield
    except LaunchError as error:
        raise ExerciseError(path, "launch", f"with {_given(exercise, tile, own)}: {error}") from None
    except ExpressionError as error:
        raise ExerciseError(path, "cases", f"with {_given(exercise, tile, own)}: {error}") from None


def _check_case(exercise: Exercise, tile: int, own: Mapping[str, int], sizes: Mapping[str, int], path: Path) -> None:
    """Check that a case has fitting shapes, a launch and constants."""
    names = exercise.names(tile, sizes, own)
    _check_shapes(exercise, sizes, names, path)
    for where, launched in _launches(exercise):
        shared = launched.launch.resolve(names).shared
        # With other values of its macros, a submission may exceed the limit.
        if own == exercise.macros and shared > exercise.largest_shared:
            given, limit = _given(exercise, tile, own), exercise.largest_shared
            reason = f"with {given} this is {shared:,} bytes, and the limit is {limit:,}"
            raise ExerciseError(path, f"{where}{'' if where else 'launch.'}shared", reason)
    if own == exercise.macros:
        _check_maps(exercise, tile, sizes, names, path)
    for constant in exercise.constants:
        constant.value.evaluate(names)
    for work in (exercise.work.flops, exercise.work.bytes):
        if work is not None:
            work.evaluate(names)


def _check_maps(exercise: Exercise, tile: int, sizes: Mapping[str, int], names: Mapping[str, int], path: Path) -> None:
    """Check that all tensor maps exist and describe their operands."""
    for where, launched in _launches(exercise):
        for index, parameter in enumerate(launched.parameters):
            if (rule := parameter.map) is None:
                continue
            operand = exercise.operand(rule.operand)
            tensor_map = rule.resolve(operand, names)
            rows, columns = operand.shape(names)
            problem, count = tensor_map.problem, prod(tensor_map.extents) * tensor_map.place // operand.type.bytes
            if not problem and count != rows * columns:
                problem = f"the extents make {count:,} elements, but `{operand.name}` has {rows * columns:,}"
            if problem:
                values = {exercise.tile_name: tile, **exercise.macros, **sizes}
                given = ", ".join(f"{name}={value}" for name, value in values.items())
                raise ExerciseError(path, f"{where}parameters[{index}].map", f"with {given}, {problem}")


def _check_block_of_largest_tile(exercise: Exercise, sizes: Mapping[str, int], path: Path) -> None:
    across, *more = exercise.launch.block
    names = exercise.names(exercise.largest_tile, sizes)
    try:
        threads = across.evaluate(names)
        flat = all(side.evaluate(names) == 1 for side in more)
    except ExpressionError as error:
        raise ExerciseError(path, "launch", f"with the largest tile: {error}") from None
    if flat and threads > MOST_THREADS:
        reason = f"a block of {threads:,} threads cannot be launched; {MOST_THREADS:,} are the most"
        raise ExerciseError(path, "tile.largest", reason)


def _check_shapes(exercise: Exercise, sizes: Mapping[str, int], names: Mapping[str, int], path: Path) -> None:
    shapes = [operand.shape(names) for operand in (*exercise.inputs, *exercise.outputs)]
    every = [operand.shape(names) for operand in exercise.operands]
    problem = "" if min(map(min, every)) >= 1 else "an operand has no elements"
    for operand, (rows, columns) in zip(exercise.operands, every, strict=True):
        if operand.is_packed_variable and rows * columns * operand.type.bytes % 4:
            problem = problem or f"the variable `{operand.symbol}` needs a multiple of 4 bytes"
    most = max(rows * columns for rows, columns in every)
    if most > _MOST_ELEMENTS:
        problem = f"an operand has {most:,} elements; {_MOST_ELEMENTS:,} are the most"
    problem = problem or _PROBLEMS.get(exercise.operation, _no_problem)(exercise, names, shapes)
    if problem:
        given = ", ".join(f"{name}={value}" for name, value in sizes.items())
        raise ExerciseError(path, "operands", f"with {given}, {problem}")


_Shapes = list[tuple[int, int]]


def _no_problem(exercise: Exercise, names: Mapping[str, int], shapes: _Shapes) -> str:
    return ""


def _product_problem(exercise: Exercise, names: Mapping[str, int], shapes: _Shapes) -> str:
    left, right, output = shapes
    if left[1] == right[0] and output == (left[0], right[1]):
        return ""
    return f"{_by(left)} times {_by(right)} does not give {_by(output)}"


def _sum_problem(exercise: Exercise, names: Mapping[str, int], shapes: _Shapes) -> str:
    elements, sums = (rows * columns for rows, columns in shapes)
    section = exercise.section_length(names)
    if not 1 <= section <= _LONGEST_SUM:
        return f"a section has {section} elements; it may have 1 to {_LONGEST_SUM:,}"
    made = -(-elements // section)
    if made == sums:
        return ""
    return f"{elements} elements in sections of {section} make {made} sums, but the output has {sums} elements"


def _transpose_problem(exercise: Exercise, names: Mapping[str, int], shapes: _Shapes) -> str:
    given, output = shapes
    return "" if output == given[::-1] else f"{_by(given)} transposed does not give {_by(output)}"


def _values_problem(exercise: Exercise, names: Mapping[str, int], shapes: _Shapes) -> str:
    return values_problem(exercise, names)


_PROBLEMS = {
    Operation.MATMUL: _product_problem,
    Operation.SUM: _sum_problem,
    Operation.TRANSPOSE: _transpose_problem,
    Operation.SOLUTION: _values_problem,
}


def _by(shape: tuple[int, int]) -> str:
    return f"{shape[0]}x{shape[1]}"


def _check_closer_looks(exercise: Exercise, path: Path) -> None:
    """Check that the sizes of the analysis and of the phases can be launched."""
    for key, rule in (("analysis", exercise.analysis), ("phases", exercise.phases)):
        if rule is None:
            continue
        names = exercise.names(rule.tile or exercise.tile, rule.sizes)
        try:
            _check_shapes(exercise, rule.sizes, names, path)
            for launched in exercise.launches:
                launched.launch.resolve(names)
        except (ExpressionError, LaunchError) as error:
            raise ExerciseError(path, key, str(error)) from None
