"""The values of operands before a launch, for the operation `solution`. A seed determines them on every device.

All are whole numbers that the operand's type holds exactly, except `mantissas`, `real` and `given`. If an exercise
keeps its partial results below 2^24, floats never round. Then results are comparable bit by bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.exercise.model import InputKind
from kernels.exercise.values import ValueKind
from kernels.judging.element_bits import held
from kernels.judging.operand_plan import MatrixPlan, ValuesPlan

Numbers = NDArray[Any]

_BOXES = 6
_TIED = 4
_ORDERS = frozenset({InputKind.ASCENDING, InputKind.DESCENDING})
_REPEATS = frozenset({InputKind.EQUAL, InputKind.TIES})
_ARRANGED: Mapping[ValueKind, frozenset[InputKind]] = {
    **dict.fromkeys((ValueKind.INTEGERS, ValueKind.IMAGE, ValueKind.MANTISSAS, ValueKind.REAL), _ORDERS | _REPEATS),
    ValueKind.SORTED: _REPEATS,
    ValueKind.PERMUTATION: _ORDERS,
}
"""The kinds of inputs that change an operand's values, which keep what their own kind promises."""


def draw_values(
    random: np.random.Generator, matrices: tuple[MatrixPlan, ...], inputs: InputKind = InputKind.RANDOM
) -> dict[str, Numbers]:
    """The values of these operands by name, each with the shape and the type of its operand."""
    made: dict[str, Numbers] = {}
    # The columns of a sparse matrix need its row starts, which may come later in the exercise.
    for matrix in sorted(matrices, key=lambda matrix: _kind(matrix) is ValueKind.ROW_COLUMNS):
        values = matrix.values
        assert values is not None, "every operand of a solution that is read has values"
        drawn = _drawn(random, matrix, values, made)
        if inputs in _ARRANGED.get(values.kind, ()):
            drawn = _arranged(random, drawn.ravel(), inputs)
            drawn = np.sort(drawn) if values.kind is ValueKind.SORTED else drawn
        made[matrix.name] = held(drawn, matrix.type).reshape(matrix.rows, matrix.columns)
    return made


def _arranged(random: np.random.Generator, drawn: Numbers, inputs: InputKind) -> Numbers:
    match inputs:
        case InputKind.EQUAL:
            return np.full_like(drawn, drawn[0])
        case InputKind.TIES:
            return random.choice(drawn[:_TIED], drawn.size)
    ascending = np.sort(drawn)
    return ascending if inputs is InputKind.ASCENDING else ascending[::-1]


def _kind(matrix: MatrixPlan) -> ValueKind | None:
    return matrix.values.kind if matrix.values is not None else None


def _drawn(random: np.random.Generator, matrix: MatrixPlan, values: ValuesPlan, made: Mapping[str, Numbers]) -> Numbers:
    count = matrix.elements
    match values.kind:
        case ValueKind.INTEGERS:
            return _integers(random, values, count)
        case ValueKind.SORTED:
            return np.sort(_integers(random, values, count))
        case ValueKind.PERMUTATION:
            return random.permutation(count)
        case ValueKind.IMAGE:
            return _image(random, matrix, values)
        case ValueKind.ROW_STARTS:
            return _row_starts(random, count - 1, values)
        case ValueKind.ROW_COLUMNS:
            return _row_columns(random, made[values.rows].ravel(), values.columns)
        case ValueKind.MANTISSAS:
            bits = matrix.type.digits - 1
            odd = random.integers(1 << bits - 1, 1 << bits, count) * 2 + 1
            return odd * (2 * random.integers(0, 2, count) - 1)
        case ValueKind.REAL:
            return random.uniform(-1.0, 1.0, count)
        case ValueKind.GIVEN:
            return np.resize(values.numbers, count)
        case _:
            return np.zeros(count)


def _integers(random: np.random.Generator, values: ValuesPlan, count: int) -> Numbers:
    # 32 bits are drawn twice as fast.
    small = values.low >= -(1 << 31) and values.high < (1 << 31)
    return random.integers(values.low, values.high, count, np.int32 if small else np.int64, endpoint=True)


def _image(random: np.random.Generator, matrix: MatrixPlan, values: ValuesPlan) -> Numbers:
    """A gradient to the lower right with noise, and a few bright boxes."""
    rows, columns = matrix.rows, matrix.columns
    span = values.high - values.low
    down, across = ((span * np.arange(side) // (2 * max(1, side - 1))).astype(np.int32) for side in (rows, columns))
    made = random.integers(0, max(1, span // 4) + 1, (rows, columns), np.int32)
    made += down[:, np.newaxis]
    made += across
    for _ in range(_BOXES):
        top, left = (int(random.integers(0, side)) for side in (rows, columns))
        made[top : top + 1 + rows // 4, left : left + 1 + columns // 4] += span // 4
    np.minimum(made, span, out=made)
    made += values.low
    return made


def _row_starts(random: np.random.Generator, rows: int, values: ValuesPlan) -> Numbers:
    """Starts of rows with 0 to `longest` entries each, and all entries together."""
    share, more = divmod(values.entries, rows)
    lengths = np.full(rows, share)
    lengths[:more] += 1
    # Pairs of rows trade entries, which keeps the sum.
    order = random.permutation(rows)
    givers, takers = order[: rows // 2], order[rows // 2 : rows // 2 * 2]
    most = np.minimum(lengths[givers], values.longest - lengths[takers])
    traded = random.integers(0, most, endpoint=True)
    lengths[givers] -= traded
    lengths[takers] += traded
    return np.concatenate(([0], np.cumsum(lengths)))


def _row_columns(random: np.random.Generator, starts: Numbers, columns: int) -> Numbers:
    """Different columns in ascending order for each row. Each entry has its part of the columns, and one in it."""
    starts = starts.astype(np.int64)
    lengths: NDArray[np.int64] = starts[1:] - starts[:-1]
    length = np.repeat(lengths, lengths)
    place = np.arange(length.size) - np.repeat(starts[:-1], lengths)
    first, end = place * columns // length, (place + 1) * columns // length
    chosen: Numbers = first + (random.random(length.size) * (end - first)).astype(np.int64)
    return chosen
