"""Inputs for which the right output is known to the last bit, and that output.

Integers: the wide operand holds integers of up to 13 bits, none of them zero, the narrow one -1 and 1, and zeros only
as far as needed to keep at most 2,048 nonzeros in a dot product. So the sum of |a||b| is at most 2,048 * 8,191, below
2**24, and every partial sum is an integer that float32 holds exactly: in any order, fused or not. No element of the
wide operand is zero, so that a term left out always shows.

Permutation: full 24-bit mantissas times a matrix with one nonzero a row (or column), a signed power of two. Every
output is one input element, scaled: exact at any size, and wrong in its last bits where either operand was rounded.

Real: any real numbers, judged against the bound that float32 keeps in every order of summation. Only for short dot
products, where the bound is tight enough to tell float32 from a narrower format.

For other operations than products: integers above 0, so few and small that a section of them adds up to 2**23 at most:
an element that is left out, or counted twice, always shows. And full mantissas, for what only moves numbers about.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.exercise import InputKind, Layout, Role
from kernels.judging.plan import CasePlan, MatrixPlan

Matrix = NDArray[np.float32]

WIDE_LIMIT = 2**13 - 1
NONZERO_LIMIT = 2**11
REAL_LENGTH_LIMIT = 32
SECTION_LIMIT = 2**23
_SCALES = 4
_UNIT_ROUNDOFF = 2.0**-24


@dataclass(frozen=True, slots=True)
class Expected:
    """The right output in float64, and how far each element may be from it: 0 where the case is exact."""

    values: NDArray[np.float64]
    bound: NDArray[np.float64]


def factors(case: CasePlan) -> tuple[MatrixPlan, MatrixPlan]:
    """The left and the right factor of the product."""
    left, right = (matrix for matrix in case.matrices if matrix.role is Role.INPUT)
    return left, right


def output_of(case: CasePlan) -> MatrixPlan:
    """The matrix that the kernel has to fill, where exactly one is compared."""
    (output,) = (matrix for matrix in case.matrices if matrix.role is Role.OUTPUT)
    return output


def make_inputs(case: CasePlan, seed: int) -> dict[str, Matrix]:
    """The inputs of one case by name, row by row whatever their layout; the same for the same seed and name."""
    random = _stream(case, seed)
    match case.inputs:
        case InputKind.INTEGERS:
            return {m.name: _whole(random, (m.rows, m.columns), case.section) for m in case.inputs_of_kernel}
        case InputKind.MANTISSAS:
            return {m.name: _mantissas(random, (m.rows, m.columns)) for m in case.inputs_of_kernel}
    return _make_factors(case, random, case.turn + seed)


def _make_factors(case: CasePlan, random: np.random.Generator, turn: int) -> dict[str, Matrix]:
    """Both factors of a product. turn: from which it follows what a kind alternates."""
    left, right = factors(case)
    left_shape, right_shape = (left.rows, left.columns), (right.rows, right.columns)
    match case.inputs:
        case InputKind.INTEGERS_LEFT:
            made = _wide(random, left_shape), _narrow(random, right_shape, axis=0)
        case InputKind.INTEGERS_RIGHT:
            made = _narrow(random, left_shape, axis=1), _wide(random, right_shape)
        case InputKind.PERMUTATION if turn % 2:
            made = _permutation(random, left_shape), _mantissas(random, right_shape)
        case InputKind.PERMUTATION:
            turned = _permutation(random, (right.columns, right.rows)).T
            made = _mantissas(random, left_shape), np.ascontiguousarray(turned)
        case _:
            made = _real(random, left_shape), _real(random, right_shape)
    return {left.name: made[0], right.name: made[1]}


def expected_product(case: CasePlan, inputs: Mapping[str, Matrix]) -> Expected:
    """What the kernel has to compute from these inputs."""
    a, b = (inputs[matrix.name].astype(np.float64) for matrix in factors(case))
    values = a @ b
    if case.inputs is not InputKind.REAL:
        return _exact(values)
    length = a.shape[1]
    if length > REAL_LENGTH_LIMIT:
        raise ValueError(f"real inputs are judged up to {REAL_LENGTH_LIMIT} terms, not {length}")
    gamma = length * _UNIT_ROUNDOFF / (1 - length * _UNIT_ROUNDOFF)
    return Expected(values, gamma * (np.abs(a) @ np.abs(b)))


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


def to_memory(matrix: Matrix, layout: Layout) -> Matrix:
    """The matrix as it lies in memory."""
    return matrix.ravel(order="C" if layout is Layout.ROW_MAJOR else "F")


def from_memory(values: Matrix, plan: MatrixPlan) -> Matrix:
    """Rows and columns of a matrix as it lies in memory."""
    return values.reshape((plan.rows, plan.columns), order="C" if plan.layout is Layout.ROW_MAJOR else "F")


def _stream(case: CasePlan, seed: int) -> np.random.Generator:
    """Random numbers for one case: independent of which other cases are run, so that one can be replayed alone."""
    sequence = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(case.name.encode()),))
    return np.random.Generator(np.random.Philox(sequence))


def _signs(random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.int64]:
    return 2 * random.integers(0, 2, shape) - 1


def _wide(random: np.random.Generator, shape: tuple[int, int]) -> Matrix:
    return (random.integers(1, WIDE_LIMIT + 1, shape) * _signs(random, shape)).astype(np.float32)


def _whole(random: np.random.Generator, shape: tuple[int, int], section: int) -> Matrix:
    limit = max(1, min(WIDE_LIMIT, SECTION_LIMIT // max(1, section)))
    return random.integers(1, limit + 1, shape).astype(np.float32)


def _narrow(random: np.random.Generator, shape: tuple[int, int], axis: int) -> Matrix:
    """-1 and 1, with zeros only where a dot product along `axis` would have too many terms."""
    values = _signs(random, shape)
    if shape[axis] > NONZERO_LIMIT:
        ranks = random.permuted(np.indices(shape)[axis], axis=axis)
        values[ranks >= NONZERO_LIMIT] = 0
    return values.astype(np.float32)


def _mantissas(random: np.random.Generator, shape: tuple[int, int]) -> Matrix:
    """Odd integers of exactly 24 bits: no narrower format holds any of them."""
    return ((random.integers(2**22, 2**23, shape) * 2 + 1) * _signs(random, shape)).astype(np.float32)


def _permutation(random: np.random.Generator, shape: tuple[int, int]) -> Matrix:
    """One signed power of two in every row; every column has one too as long as there are rows for it."""
    rows, columns = shape
    rounds = [random.permutation(columns) for _ in range(-(-rows // columns))]
    chosen = np.concatenate(rounds)[:rows]
    scales = np.exp2(random.integers(-_SCALES, _SCALES + 1, rows)) * _signs(random, (rows, 1))[:, 0]
    values = np.zeros(shape, dtype=np.float32)
    values[np.arange(rows), chosen] = scales
    return values


def _real(random: np.random.Generator, shape: tuple[int, int]) -> Matrix:
    return random.uniform(-1.0, 1.0, shape).astype(np.float32)
