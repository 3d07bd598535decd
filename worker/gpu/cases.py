"""Judges a plan's small cases on a device, with the CPU device's inputs and comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernels.compile.diagnostics import Resources
from kernels.device import Budget, Buffer, Execution, Schedule
from kernels.exercise import Operation
from kernels.judging.inputs import Matrix
from kernels.judging.judge import Judgement, LostError, PlanInputs, judge
from kernels.judging.plan import CasePlan, Plan
from worker.contract.measure_work import WireCode
from worker.gpu.backend import Backend, DeviceFault
from worker.gpu.judge.filled_inputs import run_solution
from worker.gpu.judge.findings import LOST, fault_finding, guard_finding
from worker.gpu.judge.verification import Judge
from worker.gpu.operands import Modules, Operands, place, write

_NOTHING = Resources(0, 0, 0, 0, 0, 0, 0)


class SmallCases:
    """Runs cases on a device. lost: a kernel left the device unusable."""

    def __init__(self, backend: Backend, judge: Judge, modules: Modules, solution: Modules, seconds: float) -> None:
        """seconds: a longer launch counts as endless. solution: of the exercise, for the operation SOLUTION."""
        self._backend = backend
        self._judge = judge
        self._modules = modules
        self._solution = solution
        self._seconds = seconds
        self.lost = False

    def judged(self, plan: Plan, codes: Sequence[WireCode], inputs: PlanInputs | None = None) -> Judgement:
        """Judge all small cases of the plan. inputs: of `plan_inputs`, if they exist."""
        solve = self._solve if plan.operation is Operation.SOLUTION else None
        return judge(plan, self._run, [code.resources or _NOTHING for code in codes], solve, inputs=inputs)

    def _solve(self, case: CasePlan, buffers: Sequence[Buffer]) -> Mapping[str, Matrix]:
        """Run the exercise's solution on memory of its own."""
        operands = place(self._backend, self._solution[case.module], case.by_solution())
        values = {buffer.name: buffer.values for buffer in buffers}
        for matrix in operands.case.matrices:
            write(self._backend, operands.of(matrix), values[matrix.name])
        run_solution(self._backend, operands, self._seconds)
        return self._contents(operands)

    def _run(self, case: CasePlan, buffers: Sequence[Buffer], *_: Schedule | Budget) -> Execution:
        """Run one launch. A device has its own schedule, and a time limit instead of an instruction budget."""
        if self.lost:
            raise LostError(LOST)
        values = {buffer.name: buffer.values for buffer in buffers}
        try:
            operands = place(self._backend, self._modules[case.module], case)
            self._fill(operands, values)
            operands.timed(self._backend, self._seconds)
            hurt = self._judge.guards_hurt(operands.guards)
            findings = tuple(guard_finding(matrix, damage, case) for matrix, damage in hurt)
            values = self._contents(operands)
        except DeviceFault as fault:
            self.lost = fault.lost
            findings = (fault_finding(fault, case, self._seconds),)
        return Execution(findings, values, printed="", instructions=0)

    def _fill(self, operands: Operands, values: dict[str, Matrix]) -> None:
        for matrix in operands.case.matrices:
            write(self._backend, operands.of(matrix), values[matrix.name])
        for matrix in operands.guarded:
            self._judge.fill_guards(operands.of(matrix))
        for memory, word in operands.constants:
            self._backend.fill(memory, word)

    def _contents(self, operands: Operands) -> dict[str, Matrix]:
        return {matrix.name: operands.read(self._backend, matrix) for matrix in operands.case.matrices}
