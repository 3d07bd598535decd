"""Inputs whose product is known to the last bit, and that product.

Integers: the wide operand holds integers of up to 13 bits, none of them zero, the narrow one -1 and 1, and zeros only
as far as needed to keep at most 2,048 nonzeros in a dot product. So the sum of |a||b| is at most 2,048 * 8,191, below
2**24, and every partial sum is an integer that float32 holds exactly: in any order, fused or not. No element of the
wide operand is zero, so that a term left out always shows.

Permutation: full 24-bit mantissas times a matrix with one nonzero a row (or column), a signed power of two. Every
output is one input element, scaled: exact at any size, and wrong in its last bits where either operand was rounded.

Real: any real numbers, judged against the bound that float32 keeps in every order of summation. Only for short dot
products, where the bound is tight enough to tell float32 from a narrower format.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.exercise import InputKind, Layout, Role
from kernels.plan import CasePlan, MatrixPlan

Matrix = NDArray[np.float32]

WIDE_LIMIT = 2**13 - 1
NONZERO_LIMIT = 2**11
REAL_LENGTH_LIMIT = 32
_SCALES = 4
_UNIT_ROUNDOFF = 2.0**-24


@dataclass(frozen=True, slots=True)
class Expected:
    """The right product in float64, and how far each element may be from it: 0 where the case is exact."""

    values: NDArray[np.float64]
    bound: NDArray[np.float64]


def factors(case: CasePlan) -> tuple[MatrixPlan, MatrixPlan]:
    """The left and the right factor of the product."""
    left, right = (matrix for matrix in case.matrices if matrix.role is Role.INPUT)
    return left, right


def product(case: CasePlan) -> MatrixPlan:
    """The matrix that the kernel has to fill."""
    (output,) = (matrix for matrix in case.matrices if matrix.role is Role.OUTPUT)
    return output


def make_inputs(case: CasePlan, seed: int) -> dict[str, Matrix]:
    """Both factors of one case by name, row by row whatever their layout; the same for the same seed and name."""
    left, right = factors(case)
    random = _stream(case, seed)
    left_shape, right_shape = (left.rows, left.columns), (right.rows, right.columns)
    match case.inputs:
        case InputKind.INTEGERS_LEFT:
            made = _wide(random, left_shape), _narrow(random, right_shape, axis=0)
        case InputKind.INTEGERS_RIGHT:
            made = _narrow(random, left_shape, axis=1), _wide(random, right_shape)
        case InputKind.PERMUTATION if (case.turn + seed) % 2:
            made = _permutation(random, left_shape), _mantissas(random, right_shape)
        case InputKind.PERMUTATION:
            turned = _permutation(random, (right.columns, right.rows)).T
            made = _mantissas(random, left_shape), np.ascontiguousarray(turned)
        case InputKind.REAL:
            made = _real(random, left_shape), _real(random, right_shape)
    return {left.name: made[0], right.name: made[1]}


def expected_product(case: CasePlan, inputs: Mapping[str, Matrix]) -> Expected:
    """What the kernel has to compute from these inputs."""
    a, b = (inputs[matrix.name].astype(np.float64) for matrix in factors(case))
    values = a @ b
    if case.inputs is not InputKind.REAL:
        return Expected(values, np.zeros_like(values))
    length = a.shape[1]
    if length > REAL_LENGTH_LIMIT:
        raise ValueError(f"real inputs are judged up to {REAL_LENGTH_LIMIT} terms, not {length}")
    gamma = length * _UNIT_ROUNDOFF / (1 - length * _UNIT_ROUNDOFF)
    return Expected(values, gamma * (np.abs(a) @ np.abs(b)))


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
