"""The judge's view of each operation: its work, its expected output, and the values for explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kernels.exercise import Operation
from kernels.exercise.values import ElementType, Tolerance
from kernels.judging.compare import Mask, Product, Solved, Sums, Transposed, with_poison
from kernels.judging.inputs import (
    Expected,
    Matrix,
    expected_product,
    expected_sums,
    expected_transpose,
    factors,
    from_memory,
    in_rows,
    output_of,
)
from kernels.judging.operand_plan import MatrixPlan
from kernels.judging.plan import CasePlan

if TYPE_CHECKING:
    from kernels.device import Execution

_WORD = 4


def work(case: CasePlan) -> int:
    """The multiplications of a product; for other operations, the elements that they read and write."""
    if case.operation is Operation.SOLUTION:
        return max(case.flops, sum(matrix.elements for matrix in case.matrices))
    if case.operation is Operation.MATMUL:
        left, right = factors(case)
        return left.rows * left.columns * right.columns
    return sum(matrix.rows * matrix.columns for matrix in case.matrices)


def results(
    case: CasePlan, tile: int, inputs: Mapping[str, Matrix], ran: Execution, solved: Mapping[str, Matrix] | None = None
) -> tuple[Product | Sums | Transposed | Solved, ...]:
    """Each output with the expected one; none if nothing is compared.

    solved: each matrix after a run of the exercise's solution, for the operation SOLUTION
    """
    if case.operation is Operation.ANALYSIS:
        return ()
    if case.operation is Operation.SOLUTION:
        if solved is None:
            return ()
        return tuple(solved_output(case, tile, matrix, ran.values, solved, ran.unwritten) for matrix in case.outputs)
    return (_computed(case, tile, inputs, ran),)


def solved_output(
    case: CasePlan,
    tile: int,
    matrix: MatrixPlan,
    values: Mapping[str, Matrix],
    solved: Mapping[str, Matrix],
    unwritten: Mapping[str, Mask],
) -> Solved:
    """One output with the solution's, within the exercise's tolerance. Both are sorted if it may have any order.

    values, solved, unwritten: in the order of memory
    """
    right = _in_order(case, matrix, lambda each: from_memory(solved[each.name], each))
    actual = _in_order(case, matrix, lambda each: _written(each, values, unwritten))
    whole = not matrix.type.is_float
    if matrix.type is not ElementType.LONG:
        right = right.astype(np.float64)
    bound = np.zeros(right.shape) if whole else tolerated(case, right, matrix.type)
    names = (*(given.name for given in case.given), matrix.name)
    allowed = "" if whole else tolerance_text(case)
    flat = not matrix.planes and not matrix.sorted_by
    return Solved(Expected(right, bound), actual, tile, names, matrix.vector, matrix.result, allowed, flat)


def _in_order(case: CasePlan, matrix: MatrixPlan, read: Callable[[MatrixPlan], Matrix]) -> Matrix:
    """The elements of an output, sorted if they may have any order."""
    if not matrix.sorted_by:
        return read(matrix)
    columns = [read(output).ravel() for output in case.outputs if output.name in matrix.sorted_by]
    ordered = columns[-1][np.lexsort(columns[::-1])] if len(columns) > 1 else np.sort(columns[0])
    return ordered[:, np.newaxis]


def _written(matrix: MatrixPlan, values: Mapping[str, Matrix], unwritten: Mapping[str, Mask]) -> Matrix:
    """The elements after a run, with POISON for unwritten ones."""
    actual = from_memory(values[matrix.name], matrix)
    if matrix.type.bytes >= _WORD:
        return actual
    mask = unwritten.get(matrix.name)
    return with_poison(actual, None if mask is None else in_rows(mask, matrix))


def tolerated(case: CasePlan, right: NDArray[np.float64], kind: ElementType) -> NDArray[np.float64]:
    """The allowed difference of each element from the solution's."""
    return case.absolute + case.ulps * kind.ulp * np.abs(right)


def tolerance_text(case: CasePlan) -> str:
    text = Tolerance(case.absolute, case.ulps).text
    return f"± {text}" if text else ""


def _computed(case: CasePlan, tile: int, inputs: Mapping[str, Matrix], ran: Execution) -> Product | Sums | Transposed:
    output = output_of(case)
    actual = _written(output, ran.values, ran.unwritten)
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
