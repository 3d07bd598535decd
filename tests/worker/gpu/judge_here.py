"""The judge on the CPU device, and cases made up for a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from kernels.exercise import Binding, InputKind, Layout, Operation, Role
from kernels.exercise.product_types import FLOATS, ProductTypes
from kernels.exercise.values import ElementType
from kernels.judging.element_bits import held
from kernels.judging.inputs import Matrix, expected_product, expected_sums, expected_transpose, output_of, to_memory
from kernels.judging.operand_plan import MatrixPlan
from kernels.judging.plan import CasePlan
from tests.worker.gpu.measuring import judge_wire
from worker.gpu.backend import Backend, Code, Memory
from worker.gpu.cpu_backend import CpuBackend
from worker.gpu.judge.recipes import Recipe, recipes, values
from worker.gpu.judge.verification import Judge
from worker.gpu.operands import write

ROW, COLUMN = Layout.ROW_MAJOR, Layout.COLUMN_MAJOR
TYPED = [
    ProductTypes(*types)
    for types in (
        (ElementType.HALF, ElementType.HALF, ElementType.FLOAT),
        (ElementType.HALF, ElementType.HALF, ElementType.HALF),
        (ElementType.BFLOAT, ElementType.BFLOAT, ElementType.FLOAT),
        (ElementType.E4M3, ElementType.E5M2, ElementType.FLOAT),
        (ElementType.E5M2, ElementType.E4M3, ElementType.HALF),
        (ElementType.CHAR, ElementType.BYTE, ElementType.INT),
        (ElementType.BYTE, ElementType.CHAR, ElementType.INT),
        (ElementType.DOUBLE, ElementType.DOUBLE, ElementType.DOUBLE),
    )
]
"""Every type of a factor and of a product, except for products of floats."""


@cache
def compiled() -> Code:
    wire = judge_wire()
    return Code(wire.ptx, wire.cubin_bytes)


@cache
def judge() -> tuple[CpuBackend, Judge]:
    backend = CpuBackend()
    return backend, Judge(backend, compiled())


def matrix(
    name: str,
    rows: int,
    columns: int,
    role: Role = Role.INPUT,
    layout: Layout = ROW,
    kind: ElementType = ElementType.FLOAT,
) -> MatrixPlan:
    return MatrixPlan(name, role, rows, columns, layout, Binding.PARAMETER, None, vector=columns == 1, type=kind)


def case_of(operation: Operation, inputs: InputKind, matrices: tuple[MatrixPlan, ...], section: int = 0) -> CasePlan:
    return CasePlan(
        name="made up",
        sizes={},
        inputs=inputs,
        turn=0,
        on_cpu=True,
        matrices=matrices,
        arguments=(),
        launch=None,
        problem=None,
        operation=operation,
        section=section,
    )


def product(
    kind: InputKind,
    shape: tuple[int, int, int],
    layouts: tuple[Layout, Layout, Layout] = (ROW, ROW, ROW),
    types: ProductTypes = FLOATS,
) -> CasePlan:
    rows, inner, columns = shape
    return case_of(
        Operation.MATMUL,
        kind,
        (
            matrix("A", rows, inner, layout=layouts[0], kind=types.left),
            matrix("B", inner, columns, layout=layouts[1], kind=types.right),
            matrix("C", rows, columns, Role.OUTPUT, layouts[2], types.result),
        ),
    )


def sums(shape: tuple[int, int], section: int, out: tuple[int, int], layout: Layout = ROW) -> CasePlan:
    matrices = matrix("A", *shape), matrix("C", *out, Role.OUTPUT, layout)
    return case_of(Operation.SUM, InputKind.INTEGERS, matrices, section)


def transpose(rows: int, columns: int, layouts: tuple[Layout, Layout] = (ROW, ROW)) -> CasePlan:
    given = matrix("A", rows, columns, layout=layouts[0])
    return case_of(
        Operation.TRANSPOSE, InputKind.MANTISSAS, (given, matrix("C", columns, rows, Role.OUTPUT, layouts[1]))
    )


@dataclass
class Ran:
    """A case on the device, its inputs made there and its output right until a test changes it."""

    case: CasePlan
    seed: int = 1
    on: Callable[[], tuple[Backend, Judge]] = judge
    given: dict[str, Recipe] = field(init=False)
    memories: dict[str, Memory] = field(init=False)
    right: Matrix = field(init=False)

    def __post_init__(self) -> None:
        self.backend, self.judge = self.on()
        self.judge.release()
        self.given = recipes(self.case, self.case.inputs, self.seed)
        self.memories = {each.name: self.backend.take(each.words, guarded=True) for each in self.case.matrices}
        for name, recipe in self.given.items():
            self.judge.make(recipe, self.memories[name])
        for memory in self.memories.values():
            self.judge.fill_guards(memory)
        self.right = self.expected()
        self.put(self.right)

    @property
    def out(self) -> Memory:
        return self.memories["C"]

    def expected(self) -> Matrix:
        """Rows and columns, by the judge of the CPU device."""
        made = {name: values(recipe) for name, recipe in self.given.items()}
        match self.case.operation:
            case Operation.MATMUL:
                found = expected_product(self.case, made)
            case Operation.SUM:
                found = expected_sums(self.case, made)
            case Operation.TRANSPOSE:
                found = expected_transpose(made)
            case _:
                return np.zeros((output_of(self.case).rows, output_of(self.case).columns), np.float32)
        return held(found.values, output_of(self.case).type)

    def put(self, output: Matrix) -> None:
        matrix = output_of(self.case)
        write(self.backend, self.out, to_memory(output, matrix.layout, matrix.type))

    def wrong(self, vector: int = 77):
        return self.judge.wrong(self.case, self.given, self.out, vector)

    def verified(self, vector: int = 77):
        return self.judge.verify(self.case, self.given, self.memories, vector)()

    def poke(self, memory: Memory, at: int, word: int) -> None:
        self.backend.fill(Memory(memory.place + 4 * at, 1), word)
