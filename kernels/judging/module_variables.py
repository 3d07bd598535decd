"""Checks that a compiled file has the exercise's module variables, in the sizes that a case needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernels.exercise import Binding, Layout, Role
from kernels.judging.operand_plan import MatrixPlan
from kernels.judging.plan import CasePlan, ConstantPlan
from kernels.verdict import Example, Finding, Verdict

_INT = 4


@dataclass(frozen=True, slots=True)
class Extent:
    """A compiled module variable: its memory (`global` or `const`) and its bytes."""

    space: str
    size: int


def misfits(case: CasePlan, variables: Mapping[str, Extent]) -> Iterator[Finding]:
    """A finding for each variable of the case that is missing or doesn't fit.

    variables: by their names in the source
    """
    for matrix in case.matrices:
        if matrix.symbol is not None:
            problem = _matrix_problem(case, matrix, variables.get(matrix.symbol))
            if problem:
                yield _finding(case, f"{problem} It must be `{matrix.declaration}`.", matrix.line)
    for constant in case.constants:
        problem = _constant_problem(constant, variables.get(constant.symbol))
        if problem:
            text = f"{problem} It must be `__constant__ int {constant.symbol};`."
            yield _finding(case, text, constant.line)


def _matrix_problem(case: CasePlan, matrix: MatrixPlan, extent: Extent | None) -> str:
    symbol = matrix.symbol or matrix.name
    if extent is None or not _is_in_place(matrix, extent):
        return f"The compiled file has no `{matrix.binding.space}` variable `{symbol}`."
    needed = matrix.rows * matrix.columns
    ordered = (matrix.rows, matrix.columns)
    expected: tuple[int, ...]
    expected = (needed,) if matrix.vector else ordered if matrix.layout is Layout.ROW_MAJOR else ordered[::-1]
    if matrix.planes:
        expected = (matrix.planes, matrix.rows // matrix.planes, matrix.columns)
    declared = case.shapes.get(symbol, ())
    size = needed * matrix.type.bytes
    if extent.size != size:
        held = _by(declared) if declared else f"{extent.size:,} bytes"
        wanted = f"{_by(expected)} {matrix.type.spellings[0]}s ({size:,} bytes)"
        return f"`{symbol}` is {held}, but {_sizes(case)} needs {wanted}."
    if len(declared) == len(expected) and declared != expected:
        return f"`{symbol}` is {_by(declared)}, but {_sizes(case)} needs {_by(expected)}."
    return ""


def _is_in_place(matrix: MatrixPlan, found: Extent) -> bool:
    if matrix.binding is Binding.CONSTANT:
        return found.space == "const"
    # A kernel can't write to constant memory, so only inputs may be there.
    return found.space == "global" or matrix.role is Role.INPUT


def _constant_problem(constant: ConstantPlan, extent: Extent | None) -> str:
    if extent is None:
        return f"The compiled file has no module variable `{constant.symbol}`."
    return "" if extent.size == _INT else f"`{constant.symbol}` has {extent.size:,} bytes."


def _by(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))


def _sizes(case: CasePlan) -> str:
    return ", ".join(f"{name}={size}" for name, size in case.sizes.items())


def _finding(case: CasePlan, message: str, line: int | None) -> Finding:
    return Finding(Verdict.REJECTED, message, line, example=Example(case=case.name))
