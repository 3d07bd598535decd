"""Uses all functions of a measurement once, so that no measured kernel pays for a first use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kernels.exercise import Binding, InputKind, Layout, Operation, Role
from kernels.exercise.product_types import FLOATS
from kernels.exercise.values import ElementType
from kernels.judging.operand_plan import MatrixPlan
from kernels.judging.plan import CasePlan
from worker.gpu.backend import Backend, Product
from worker.gpu.judge.recipes import recipes
from worker.gpu.judge.verification import Judge

_SIDE = 4
_UNWRITTEN = 0x7FFF_7FFF
"""A NaN of each float type, without a byte that is 0."""
_SEED = 1
_SHAPES = 256, 512, 1024, 2048
"""The sides of square products for which the library has different kernels. Loading one takes ten milliseconds."""


def rehearse_backend(backend: Backend) -> None:
    """Rehearse the device and its libraries. Call it before the lockdown, because it opens files."""
    left, right, out = (backend.take(_SIDE * _SIDE, guarded=True) for _ in range(3))
    for memory in (left, right):
        backend.write(memory, np.ones(memory.words, np.float32))
    backend.fill(out, _UNWRITTEN)
    backend.multiply(Product(FLOATS, (_SIDE, _SIDE, _SIDE), left, right, out))
    backend.wait()
    if (backend.read(out).view(np.float32) != _SIDE).any():
        raise RuntimeError("the device's library returns an incorrect product")
    backend.clocks()
    backend.busy_ms()
    backend.release()


def rehearse_judge(backend: Backend, judge: Judge) -> None:
    """Rehearse the judge's kernels: inputs of every kind, and each check, which must report an unwritten output."""
    for operation, kind, factor in (
        (Operation.MATMUL, InputKind.INTEGERS_LEFT, ElementType.FLOAT),
        (Operation.MATMUL, InputKind.PERMUTATION, ElementType.FLOAT),
        (Operation.MATMUL, InputKind.INTEGERS_LEFT, ElementType.HALF),
        (Operation.MATMUL, InputKind.PERMUTATION, ElementType.HALF),
        (Operation.SUM, InputKind.INTEGERS, ElementType.FLOAT),
        (Operation.TRANSPOSE, InputKind.MANTISSAS, ElementType.FLOAT),
    ):
        case = _case(operation, kind, factor)
        given = recipes(case, kind, _SEED)
        memories = {matrix.name: backend.take(matrix.words, guarded=True) for matrix in case.matrices}
        for name, memory in memories.items():
            judge.fill_guards(memory)
            if name in given:
                judge.make(given[name], memory)
            else:
                backend.fill(memory, _UNWRITTEN)
        verified = judge.verify(case, given, memories, _SEED, guarded=memories)()
        if verified.wrong is None or verified.changed or verified.hurt:
            raise RuntimeError(f"the judge did not report an unwritten output of {operation}: {verified}")
        judge.release()
    _rehearse_comparison(backend, judge)


def rehearse_library(backend: Backend) -> None:
    """Multiply matrices of usual sizes, so that no measurement waits until the library has loaded its kernels."""
    words = _SHAPES[-1] ** 2
    left, right, out = (backend.take(words) for _ in range(3))
    for side in _SHAPES:
        backend.load_library(Product(FLOATS, (side, side, side), left, right, out))
    backend.wait()
    backend.release()


def _rehearse_comparison(backend: Backend, judge: Judge) -> None:
    """Compare two memories that differ, with elements of each type, exactly and as floats."""
    (matrix,) = (matrix for matrix in _case(Operation.TRANSPOSE, InputKind.MANTISSAS).matrices if matrix.name == "C")
    wide = replace(matrix, type=ElementType.DOUBLE)
    found, expected = (backend.take(wide.words) for _ in range(2))
    types = [replace(matrix, type=element_type) for element_type in ElementType]
    backend.fill(found, _UNWRITTEN)
    backend.fill(expected, 0)
    floats = [each for each in types if each.type.is_float]
    pairs = [(each, found, expected) for each in (*types, *floats)]
    counts = judge.differences(pairs, [*[None] * len(types), *[(1.0, 1.0)] * len(floats)])
    if any(count.count != matrix.elements for count in counts):
        raise RuntimeError(f"the judge did not report memory that differs: {counts}")
    judge.release()


def _case(operation: Operation, kind: InputKind, factor: ElementType = ElementType.FLOAT) -> CasePlan:
    """A small case.

    factor: the type of its inputs
    """
    roles: Mapping[str, Role] = {"A": Role.INPUT, "B": Role.INPUT, "C": Role.OUTPUT}
    if operation is not Operation.MATMUL:
        roles = {"A": Role.INPUT, "C": Role.OUTPUT}
    columns = {"C": 1} if operation is Operation.SUM else {}
    matrices = tuple(
        MatrixPlan(
            name, role, _SIDE, columns.get(name, _SIDE), Layout.ROW_MAJOR, Binding.PARAMETER, symbol=None,
            type=factor if role is Role.INPUT else ElementType.FLOAT,
        )
        for name, role in roles.items()
    )  # fmt: skip
    return CasePlan(
        "rehearsal", {}, kind, 0, on_cpu=False, matrices=matrices, arguments=(), launch=None, problem=None,
        operation=operation, section=_SIDE,
    )  # fmt: skip
