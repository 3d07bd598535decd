"""One run of a kernel at sizes and values that a person chooses. It is judged alone, and never counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kernels.exercise.model import LONGEST_REAL_DOT_PRODUCT, Exercise, InputKind, Operand, Operation, Role
from kernels.exercise.sizes import misfit
from kernels.exercise.values import ElementType, ValueKind
from kernels.expression import ExpressionError
from kernels.wording import listed

MOST_TYPED = 64
"""Elements of an array whose values are typed."""

MOST_WORK = 2**25
"""Multiplications of a product, or elements of all arrays, that the CPU device does in about two seconds."""

_LOOKED_AT = 16
_FRACTIONS = 4096
_SMALL = 64
_SUMMED = 100_000


class TrialError(ValueError):
    """The kernel can't run so; the text says why. about: the size or the array; "" for the whole."""

    def __init__(self, text: str, about: str = "") -> None:
        super().__init__(text)
        self.about = about


@dataclass(frozen=True, slots=True)
class Trial:
    """sizes: all of the exercise's; inputs: how values are drawn; typed: other values of arrays, row by row."""

    sizes: Mapping[str, int]
    inputs: InputKind
    typed: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ValueTable:
    """A small matrix. values, expected: row by row; `values` has "" for an element that was never written.

    expected: empty for an input; wrong: the numbers of incorrect elements
    """

    name: str
    rows: int
    columns: int
    values: tuple[str, ...]
    expected: tuple[str, ...] = ()
    wrong: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """An incorrect element in words."""

    element: str
    found: str
    right: str


@dataclass(frozen=True, slots=True)
class RunValues:
    """inputs, outputs: the small ones; large: the names of the others; differences: the first incorrect elements."""

    inputs: tuple[ValueTable, ...] = ()
    outputs: tuple[ValueTable, ...] = ()
    large: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Typable:
    """The values that an array's elements may have."""

    low: int
    high: int
    whole: bool

    @property
    def words(self) -> str:
        return f"{'whole ' if self.whole else ''}numbers from {self.low:,} to {self.high:,}"


def input_kinds(exercise: Exercise) -> tuple[InputKind, ...]:
    """The kinds of input that this exercise's cases use, the plainest first."""
    used = {kind for rule in exercise.case_rules for kind in rule.inputs} | {exercise.plain_inputs}
    return tuple(kind for kind in InputKind.of(exercise.operation) if kind in used)


def usual_sizes(exercise: Exercise, tile: int) -> Mapping[str, int]:
    """The sizes to begin with: of the largest case that is small enough to look at, or of the smallest."""
    fitting = [case.sizes for case in exercise.cases(tile) if not _problem(exercise, case.sizes, tile)]
    small = [sizes for sizes in fitting if max(sizes.values()) <= _LOOKED_AT]
    if small:
        return max(small, key=lambda sizes: sum(sizes.values()))
    return min(fitting, key=lambda sizes: sum(sizes.values()), default=exercise.ranking)


def typable(exercise: Exercise, operand: Operand, names: Mapping[str, int]) -> Typable | None:
    """The values that may be typed for an array; None if only the exercise makes them.

    Every correct kernel must get the same result, or one within the bound of the judge.
    """
    if operand.role not in {Role.INPUT, Role.INOUT}:
        return None
    low, high = operand.type.whole_range
    if exercise.operation is Operation.SOLUTION:
        return _declared(operand, names)
    if exercise.operation is Operation.SUM:
        return Typable(max(low, -_SUMMED), min(high, _SUMMED), whole=True)
    if not operand.type.is_float:
        return Typable(low, high, whole=True)
    narrow = any(each.type.is_float and each.type.bytes < ElementType.FLOAT.bytes for each in exercise.operands)
    most = _SMALL if narrow else _FRACTIONS
    return Typable(-most, most, whole=False)


def _declared(operand: Operand, names: Mapping[str, int]) -> Typable | None:
    values = operand.values
    if values is None or values.kind not in {ValueKind.INTEGERS, ValueKind.IMAGE, ValueKind.REAL}:
        return None
    if values.kind is ValueKind.REAL:
        return Typable(-1, 1, whole=False)
    return Typable(values.low.evaluate(names), values.high.evaluate(names), whole=True)


def check_trial(exercise: Exercise, trial: Trial, tile: int) -> None:
    """Refuse what can't run or takes too long, before any work. Raises TrialError."""
    for name in exercise.sizes:
        size = trial.sizes.get(name, 0)
        if not 1 <= size <= exercise.largest_on_cpu:
            raise TrialError(f"{name} must be a whole number from 1 to {exercise.largest_on_cpu:,}.", name)
    if problem := _problem(exercise, trial.sizes, tile):
        raise TrialError(problem)
    if trial.inputs not in InputKind.of(exercise.operation):
        raise TrialError(f"{exercise.title} has no such kind of values. Choose another.")
    names = exercise.names(tile, trial.sizes)
    is_rounded = exercise.operation is Operation.MATMUL and (trial.inputs is InputKind.REAL or trial.typed)
    if is_rounded and (length := exercise.dot_product_length(names)) > LONGEST_REAL_DOT_PRODUCT:
        raise TrialError(
            f"Real numbers and typed values need sums of at most {LONGEST_REAL_DOT_PRODUCT} terms. These have {length}."
            " Choose a smaller size, or other values."
        )
    for name, values in trial.typed.items():
        _check_typed(exercise, name, values, names)


def _check_typed(exercise: Exercise, name: str, values: Sequence[float], names: Mapping[str, int]) -> None:
    operand = next((each for each in exercise.operands if each.name == name), None)
    allowed = None if operand is None else typable(exercise, operand, names)
    if operand is None or allowed is None:
        raise TrialError(f"{name} isn’t an array whose values you can type.", name)
    rows, columns = operand.shape(names)
    if rows * columns > MOST_TYPED:
        raise TrialError(
            f"{name} has {rows * columns:,} elements at these sizes. You can type up to {MOST_TYPED}. Choose smaller "
            f"sizes, or leave {name} empty.",
            name,
        )
    if len(values) != rows * columns:
        shape = f"{rows:,} elements" if operand.vector else f"{rows:,} x {columns:,} elements"
        raise TrialError(f"{name} has {shape} at these sizes, but you typed {len(values):,}.", name)
    for number, value in enumerate(values):
        fits = math.isfinite(value) and allowed.low <= value <= allowed.high
        if not fits or (allowed.whole and value != int(value)):
            place = f"[{number}]" if operand.vector else "[{}][{}]".format(*divmod(number, columns))
            raise TrialError(f"{name}{place} can’t be {value:g}. {name} takes {allowed.words}.", name)


def _problem(exercise: Exercise, sizes: Mapping[str, int], tile: int) -> str:
    """Why a run at these sizes isn't possible; "" if it is."""
    if reason := misfit(exercise, sizes, tile):
        return f"{reason[:1].upper()}{reason[1:]}"
    names = exercise.names(tile, sizes)
    try:
        work = _work(exercise, names)
        if not all(_fits(operand, names) for operand in exercise.operands):
            return f"These sizes don’t fit together: {listed(exercise.sizes)} describe no matrix. Try others."
    except ExpressionError as error:
        return f"These sizes are impossible: {error}."
    if work > MOST_WORK:
        return "A run at these sizes takes the CPU device too long. Choose smaller ones."
    return ""


def _work(exercise: Exercise, names: Mapping[str, int]) -> int:
    shapes = [operand.shape(names) for operand in exercise.operands]
    elements = sum(rows * columns for rows, columns in shapes)
    if exercise.operation is Operation.MATMUL:
        rows, columns = exercise.output.shape(names)
        return max(elements, rows * columns * exercise.dot_product_length(names))
    flops = exercise.work.flops
    return max(elements, 0 if flops is None else flops.evaluate(names))


def _fits(operand: Operand, names: Mapping[str, int]) -> bool:
    """Whether values can be made for an array. Only those of a sparse matrix may not fit its sizes."""
    if min(operand.shape(names)) < 1:
        return False
    values = operand.values
    if values is None or values.kind is not ValueKind.ROW_STARTS:
        return True
    entries, longest = values.entries.evaluate(names), values.longest.evaluate(names)
    return 0 <= entries <= (operand.shape(names)[0] - 1) * longest
