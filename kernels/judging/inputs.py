"""Inputs with a bit-exact expected output, and that output.

Integers: the wide operand has nonzero integers of up to 13 bits. The narrow operand has -1 and 1. In long dot products
it also has zeros, which leave at most 2,048 nonzeros. So the sum of |a||b| is at most 2,048 * 8,191, below 2**24. Every
partial sum is then an integer that float32 holds exactly, in any order, fused or not. The wide operand has no zero, so
a missing term always shows. Other types have limits of their own (`kernels.exercise.product_types`).

Permutation: full 24-bit mantissas times a matrix with one signed power of two in each row (or column). Every output is
one scaled input element. It is exact at any size, and a rounded operand changes its last bits.

Real: any real numbers, compared within the bound that the types keep in every order of summation. They serve short dot
products only, because a loose bound can't tell float32 from a narrower format.

Operations other than products use positive integers so small that a section adds up to at most 2**23. A missing or
repeated element then always shows. Operations that only move numbers use full mantissas.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.exercise import InputKind, Layout, Operation, Role
from kernels.exercise.product_types import FLOATS, ProductTypes
from kernels.exercise.values import ElementType
from kernels.judging.drawn_values import draw_values
from kernels.judging.element_bits import DTYPES, bits, held, numbers
from kernels.judging.operand_plan import MatrixPlan
from kernels.judging.plan import CasePlan

Matrix = NDArray[Any]

WIDE_LIMIT = FLOATS.wide(ElementType.FLOAT)
NONZERO_LIMIT = FLOATS.nonzeros(ElementType.FLOAT, ElementType.FLOAT)
REAL_LENGTH_LIMIT = 32
SECTION_LIMIT = 2**23
_SCALES = 4


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected output, and the allowed error of each element: 0 for exact cases.

    values: in float64; whole numbers of 64 bits in int64
    """

    values: NDArray[Any]
    bound: NDArray[np.float64]


def factors(case: CasePlan) -> tuple[MatrixPlan, MatrixPlan]:
    left, right = (matrix for matrix in case.matrices if matrix.role is Role.INPUT)
    return left, right


def output_of(case: CasePlan) -> MatrixPlan:
    (output,) = (matrix for matrix in case.matrices if matrix.role is Role.OUTPUT)
    return output


def make_inputs(case: CasePlan, seed: int) -> dict[str, Matrix]:
    """The inputs of one case by name, row by row for any layout. Seed, case name and typed values determine them."""
    return _drawn(case, seed) | {
        matrix.name: _typed(matrix, case.typed[matrix.name]) for matrix in case.given if matrix.name in case.typed
    }


def _typed(matrix: MatrixPlan, values: Sequence[float]) -> Matrix:
    # A file's own macros may make a matrix larger than the sizes alone.
    return held(np.resize(np.array(values, np.float64), (matrix.rows, matrix.columns)), matrix.type)


def _drawn(case: CasePlan, seed: int) -> dict[str, Matrix]:
    # The numbers don't depend on other cases, so that a single case can be repeated.
    # Python's own hash of a string differs in each process.
    sequence = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(case.name.encode()),))
    random = np.random.Generator(np.random.Philox(sequence))
    if case.operation is Operation.SOLUTION:
        return draw_values(random, case.given, case.inputs)
    match case.inputs:
        case InputKind.INTEGERS:
            return {m.name: _whole(random, (m.rows, m.columns), case.section) for m in case.inputs_of_kernel}
        case InputKind.MANTISSAS:
            return {
                m.name: _mantissas(random, (m.rows, m.columns), m.type).astype(np.float32)
                for m in case.inputs_of_kernel
            }
    return _make_factors(case, random, case.turn + seed)


def _make_factors(case: CasePlan, random: np.random.Generator, turn: int) -> dict[str, Matrix]:
    """Both factors of a product. turn: decides between the alternatives of a kind."""
    left, right = factors(case)
    left_shape, right_shape = (left.rows, left.columns), (right.rows, right.columns)
    types, first, second = product_types(case), left.type, right.type
    match case.inputs:
        case InputKind.INTEGERS_LEFT:
            narrow = _narrow(random, right_shape, 0, types, second, types.nonzeros(first, second))
            made = _wide(random, left_shape, types, first), narrow
        case InputKind.INTEGERS_RIGHT:
            narrow = _narrow(random, left_shape, 1, types, first, types.nonzeros(second, first))
            made = narrow, _wide(random, right_shape, types, second)
        case InputKind.PERMUTATION if turn % 2:
            made = _permutation(random, left_shape, first), _mantissas(random, right_shape, second)
        case InputKind.PERMUTATION:
            turned = _permutation(random, (right.columns, right.rows), second).T
            made = _mantissas(random, left_shape, first), np.ascontiguousarray(turned)
        case _:
            made = random.uniform(-1.0, 1.0, left_shape), random.uniform(-1.0, 1.0, right_shape)
    return {left.name: held(made[0], first), right.name: held(made[1], second)}


def product_types(case: CasePlan) -> ProductTypes:
    left, right = factors(case)
    return ProductTypes(left.type, right.type, output_of(case).type)


def expected_product(case: CasePlan, inputs: Mapping[str, Matrix]) -> Expected:
    a, b = (inputs[matrix.name].astype(np.float64) for matrix in factors(case))
    values = a @ b
    length, types = a.shape[1], product_types(case)
    is_exact = _is_exact(a, b, types) if case.typed else case.inputs is not InputKind.REAL
    if is_exact:
        return _exact(values)
    if length > REAL_LENGTH_LIMIT:
        raise ValueError(f"real inputs are judged up to {REAL_LENGTH_LIMIT} terms, not {length}")
    gamma = length * types.step / (1 - length * types.step)
    # Tensor cores align a subnormal factor as if it were the smallest normal number.
    sizes = np.maximum(np.abs(a), types.left.smallest_normal) @ np.maximum(np.abs(b), types.right.smallest_normal)
    return Expected(values, gamma * sizes + length * types.result.smallest_normal * types.result.ulp)


def _is_exact(a: NDArray[np.float64], b: NDArray[np.float64], types: ProductTypes) -> bool:
    """Whether no order of additions rounds: all numbers are whole, and no sum can become too large."""
    is_whole = bool((a == np.rint(a)).all() and (b == np.rint(b)).all())
    return is_whole and float((np.abs(a) @ np.abs(b)).max()) <= types.largest_sum


def expected_sums(case: CasePlan, inputs: Mapping[str, Matrix]) -> Expected:
    """The sum of each section of the input, in the shape of the output."""
    (given,) = inputs.values()
    output = output_of(case)
    values = given.astype(np.float64).ravel()
    sums = np.add.reduceat(values, np.arange(0, values.size, case.section))
    return _exact(sums.reshape(output.rows, output.columns))


def expected_transpose(inputs: Mapping[str, Matrix]) -> Expected:
    """The input with its rows made columns."""
    (given,) = inputs.values()
    return _exact(given.astype(np.float64).T)


def _exact(values: NDArray[np.float64]) -> Expected:
    return Expected(values, np.zeros_like(values))


def to_memory(matrix: Matrix, layout: Layout, kind: ElementType) -> Matrix:
    """The bits of a matrix in the order of memory."""
    return bits(matrix.ravel(order="C" if layout is Layout.ROW_MAJOR else "F"), kind)


def from_memory(values: Matrix, plan: MatrixPlan) -> Matrix:
    """Rows and columns of a matrix from the order of memory, as numbers of its type."""
    return in_rows(numbers(values.view(DTYPES[plan.type])[: plan.elements], plan.type), plan)


def in_rows(elements: Matrix, plan: MatrixPlan) -> Matrix:
    """Rows and columns of a matrix from its elements in the order of memory."""
    return elements.reshape((plan.rows, plan.columns), order="C" if plan.layout is Layout.ROW_MAJOR else "F")


def _signs(random: np.random.Generator, shape: tuple[int, int], kind: ElementType) -> NDArray[np.int64]:
    return np.ones(shape, np.int64) if kind is ElementType.BYTE else 2 * random.integers(0, 2, shape) - 1


def _wide(random: np.random.Generator, shape: tuple[int, int], types: ProductTypes, kind: ElementType) -> Matrix:
    return random.integers(1, types.wide(kind) + 1, shape) * _signs(random, shape, kind)


def _whole(random: np.random.Generator, shape: tuple[int, int], section: int) -> Matrix:
    limit = max(1, min(WIDE_LIMIT, SECTION_LIMIT // max(1, section)))
    return random.integers(1, limit + 1, shape).astype(np.float32)


def _narrow(
    random: np.random.Generator, shape: tuple[int, int], axis: int, types: ProductTypes, kind: ElementType, most: int
) -> Matrix:
    """-1 and 1, or all that whole numbers have. Zeros only if a dot product along `axis` had more than `most` terms."""
    values = _signs(random, shape, kind)
    if shape[axis] > most:
        ranks = random.permuted(np.indices(shape)[axis], axis=axis)
        values[ranks >= most] = 0
    return values if kind.is_float else values * random.integers(1, types.narrow(kind) + 1, shape)


def _mantissas(random: np.random.Generator, shape: tuple[int, int], kind: ElementType) -> Matrix:
    """Odd integers with all binary digits of a float, which no narrower format holds, or any whole numbers but 0."""
    if not kind.is_float:
        return random.integers(1, kind.whole_range[1] + 1, shape) * _signs(random, shape, kind)
    low, high = 1 << kind.digits - 2, 1 << kind.digits - 1
    return (random.integers(low, high, shape) * 2 + 1) * _signs(random, shape, kind)


def _permutation(random: np.random.Generator, shape: tuple[int, int], kind: ElementType) -> Matrix:
    """One signed power of two in every row, and in every column as far as the rows suffice."""
    rows, columns = shape
    rounds = [random.permutation(columns) for _ in range(-(-rows // columns))]
    chosen = np.concatenate(rounds)[:rows]
    smallest = -_SCALES if kind.is_float else 0
    scales = np.exp2(random.integers(smallest, _SCALES + 1, rows)) * _signs(random, (rows, 1), kind)[:, 0]
    values = np.zeros(shape)
    values[np.arange(rows), chosen] = scales
    return values
