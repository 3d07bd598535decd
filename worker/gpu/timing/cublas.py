"""The device's own library at the same size, for comparison: in the same minutes, on memory of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from kernels.exercise import InputKind, Operation
from kernels.judging.inputs import factors, output_of
from kernels.judging.plan import CasePlan
from worker.gpu.backend import Backend, DeviceFault, FaultKind, Memory
from worker.gpu.judge.recipes import recipes
from worker.gpu.judge.verification import Judge
from worker.gpu.operands import POISON_WORD

_UNTIMED = 2


@dataclass(frozen=True, slots=True)
class Library:
    """cuBLAS on one product. Its result is wiped out at once, so that no kernel can find it.

    shape: rows, inner and columns
    ms: of each run so far
    """

    backend: Backend
    left: Memory
    right: Memory
    out: Memory
    shape: tuple[int, int, int]
    ms: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, backend: Backend, judge: Judge, case: CasePlan, seed: int) -> Self | None:
        """Ready to run, its first runs, in which a library loads its kernels, already made; None for no product, or
        where there is no memory for it.

        seed: of its inputs, which the kernel never gets
        """
        if case.operation is not Operation.MATMUL:
            return None
        (left, right), out = factors(case), output_of(case)
        try:
            first, second, third = (
                backend.take(matrix.rows * matrix.columns) for matrix in (left, right, out)
            )
        except DeviceFault as fault:
            if fault.kind is FaultKind.RESOURCES:
                return None
            raise
        made = recipes(case, InputKind.INTEGERS_LEFT, seed)
        judge.make(made[left.name], first)
        judge.make(made[right.name], second)
        library = cls(backend, first, second, third, (left.rows, left.columns, right.columns))
        for _ in range(_UNTIMED):
            library.run()
        library.ms.clear()
        return library

    def run(self) -> None:
        self.backend.flush()
        self.ms.append(self.backend.multiply(self.left, self.right, self.out, *self.shape).ms)
        self.backend.fill(self.out, POISON_WORD)
