"""The judge's view of each operation: its work, its expected output, and the values for explanations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernels.exercise import Operation
from kernels.judging.compare import Product, Sums, Transposed
from kernels.judging.inputs import (
    Matrix,
    expected_product,
    expected_sums,
    expected_transpose,
    factors,
    from_memory,
    output_of,
)
from kernels.judging.plan import CasePlan


def work(case: CasePlan) -> int:
    """The multiplications of a product; for other operations, the elements that they read and write."""
    if case.operation is Operation.MATMUL:
        left, right = factors(case)
        return left.rows * left.columns * right.columns
    return sum(matrix.rows * matrix.columns for matrix in case.matrices)


def result(
    case: CasePlan, tile: int, inputs: Mapping[str, Matrix], values: Mapping[str, Matrix]
) -> Product | Sums | Transposed | None:
    """The output with the expected one; None if the exercise compares nothing.

    values: each matrix after the run, in the order of memory
    """
    if case.operation is Operation.ANALYSIS:
        return None
    output = output_of(case)
    actual = from_memory(values[output.name], output)
    if case.operation is Operation.MATMUL:
        left, right = factors(case)
        return Product(
            left=inputs[left.name].astype(np.float64),
            right=inputs[right.name].astype(np.float64),
            expected=expected_product(case, inputs),
            actual=actual,
            tile=tile,
            names=(left.name, right.name, output.name),
            vector=output.vector,
        )
    (given,) = case.inputs_of_kernel
    before = inputs[given.name].astype(np.float64)
    names = given.name, output.name
    if case.operation is Operation.SUM:
        expected = expected_sums(case, inputs)
        return Sums(before.ravel(), case.section, expected, actual, tile, names, output.vector)
    return Transposed(before, expected_transpose(inputs), actual, tile, names, output.vector)
