"""The inputs of one launch on a device, and the check of its results against them.

Most inputs are recipes, which the judge's kernels make and compare in place. For the operation `solution`, the host
makes them. After the launch, the exercise's own solution runs on a second copy, and both outputs are compared. So
nothing of the judge's is on the device while the judged kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from kernels.exercise import InputKind, Operation
from kernels.exercise.values import ElementType
from kernels.judging.compare import is_poison, wrong_elements
from kernels.judging.inputs import Matrix, make_inputs, output_of, to_memory
from kernels.judging.operand_plan import MatrixPlan
from kernels.judging.operations import solved_output, tolerance_text
from kernels.verdict import Finding
from worker.gpu.backend import Backend, DeviceFault
from worker.gpu.judge.findings import guard_finding, input_finding, wrong_finding
from worker.gpu.judge.kernels import Count
from worker.gpu.judge.recipes import Recipe, recipes
from worker.gpu.judge.verification import Damage, Judge, Tolerated, Verified, Wrong, element_at
from worker.gpu.operands import POISON_WORD, Operands, write


class SolutionFault(RuntimeError):
    """The exercise's own solution failed on the device, so there is nothing to compare with."""


class Inputs(Protocol):
    def fill(self) -> None:
        """Write them to the operands, without waiting."""

    def check(self, vector: int, repeat: int, seconds: float) -> Callable[[], Finding | None]:
        """Start to check a launch. The answer waits for the device, and is the first mistake or None.

        vector: 63 random bits, read after the launch
        repeat: of the measurement, from 1; 0 for a launch that is only judged
        seconds: a longer launch of the solution counts as endless
        """


def fill(backend: Backend, judge: Judge, operands: Operands, kind: InputKind, seed: int) -> Inputs:
    """Fill all memory of a case for one launch: inputs from a seed, empty outputs, guard zones and constants."""
    inputs: Inputs
    if operands.case.operation is Operation.SOLUTION:
        made = make_inputs(replace(operands.case, inputs=kind), seed)
        inputs = DrawnInputs(backend, judge, operands, made)
    else:
        inputs = RecipeInputs(judge, operands, recipes(operands.case, kind, seed))
    inputs.fill()
    empty(backend, operands)
    for matrix in operands.guarded:
        judge.fill_guards(operands.of(matrix))
    return inputs


def empty(backend: Backend, operands: Operands) -> None:
    """Fill outputs and constants. An element that isn't written must not keep the last launch's value."""
    for matrix in operands.outputs:
        backend.fill(operands.of(matrix), POISON_WORD)
    for memory, word in operands.constants:
        backend.fill(memory, word)


@dataclass(frozen=True, slots=True)
class RecipeInputs:
    """Inputs that are made on the device."""

    judge: Judge
    operands: Operands
    made: Mapping[str, Recipe]

    def fill(self) -> None:
        for name, recipe in self.made.items():
            self.judge.make(recipe, self.operands.memories[name])

    def check(self, vector: int, repeat: int, seconds: float) -> Callable[[], Finding | None]:  # noqa: ARG002 - the protocol's
        guarded = [matrix.name for matrix in self.operands.guarded]
        verified = self.judge.verify(self.operands.case, self.made, self.operands.memories, vector, guarded=guarded)
        return lambda: self._fault(verified(), repeat)

    def _fault(self, verified: Verified, repeat: int) -> Finding | None:
        case = self.operands.case
        for matrix in case.matrices:
            if hurt := verified.hurt.get(matrix.name):
                return guard_finding(matrix, hurt, case)
        for matrix in case.inputs_of_kernel:
            if changed := verified.changed.get(matrix.name):
                return input_finding(matrix, changed, case)
        if verified.wrong is None:
            return None
        return wrong_finding(output_of(case), verified.wrong, case, repeat)


@dataclass(frozen=True, slots=True)
class DrawnInputs:
    """Inputs of the operation `solution`, by the operand's name."""

    backend: Backend
    judge: Judge
    operands: Operands
    made: Mapping[str, Matrix]

    def fill(self) -> None:
        self._write(self.operands)

    def _write(self, operands: Operands) -> None:
        for matrix in operands.case.given:
            values = to_memory(self.made[matrix.name], matrix.layout, matrix.type)
            write(self.backend, operands.of(matrix), values)

    def check(self, vector: int, repeat: int, seconds: float) -> Callable[[], Finding | None]:  # noqa: ARG002 - the protocol's
        return lambda: self._fault(repeat, seconds)

    def _fault(self, repeat: int, seconds: float) -> Finding | None:
        case, operands = self.operands.case, self.operands
        for matrix, hurt in self.judge.guards_hurt(operands.guards):
            return guard_finding(matrix, hurt, case)
        solution = operands.solution
        if solution is None:
            raise SolutionFault(f"{case.name}: the request has no solution")
        self._write(solution)
        inputs = [(operand, operands.of(operand), solution.of(operand)) for operand in case.inputs_of_kernel]
        found = self.judge.differences(inputs, [None] * len(inputs))
        for (matrix, *_), count in zip(inputs, found, strict=True):
            if count.count:
                damage = Damage(count.count, *element_at(matrix, count.first))
                return input_finding(matrix, damage, case)
        run_solution(self.backend, solution, seconds)
        outputs = [(each, operands.of(each), solution.of(each)) for each in case.outputs if not each.sorted_by]
        found = self.judge.differences(outputs, [self._tolerance(each.type) for each, *_ in outputs])
        counts = {each.name: count for (each, *_), count in zip(outputs, found, strict=True)}
        for matrix in case.outputs:
            if (wrong := self._wrong(matrix, solution, counts.get(matrix.name))) is not None:
                return wrong_finding(matrix, wrong, case, repeat, self._allowed(matrix))
        return None

    def _wrong(self, matrix: MatrixPlan, solution: Operands, count: Count | None) -> Wrong | None:
        """The first incorrect element of an output, or None.

        count: of its differences; None if it may have any order
        """
        if count is None:
            return self._unequal_sets(matrix, solution)
        if not count.count:
            return None
        return self.judge.wrong_at(matrix, self.operands.of(matrix), solution.of(matrix), count)

    def _unequal_sets(self, matrix: MatrixPlan, solution: Operands) -> Wrong | None:
        """The first incorrect element of an output that may have any order, compared on the host."""
        columns = [output for output in self.operands.case.outputs if output.name in matrix.sorted_by]
        found, right = (
            {each.name: operands.read(self.backend, each) for each in columns} for operands in (self.operands, solution)
        )
        output = solved_output(self.operands.case, 0, matrix, found, right, {})
        wrong = wrong_elements(output.actual, output.expected)
        if not wrong.any():
            return None
        at = int(np.argmax(wrong))
        actual, expected = output.actual[at], output.expected.values[at]
        return Wrong(int(wrong.sum()), (at, 0), float(actual[0]), float(expected[0]), bool(is_poison(actual)[0]))

    def _allowed(self, matrix: MatrixPlan) -> str:
        return tolerance_text(self.operands.case) if matrix.type.is_float else ""

    def _tolerance(self, kind: ElementType) -> Tolerated | None:
        case = self.operands.case
        return (case.absolute, case.ulps * kind.ulp) if kind.is_float else None


def run_solution(backend: Backend, solution: Operands, seconds: float) -> None:
    """Run the exercise's solution, whose inputs are in its memory. Raises SolutionFault."""
    empty(backend, solution)
    try:
        solution.timed(backend, seconds)
    except DeviceFault as fault:
        raise SolutionFault(f"the exercise's solution fails at {solution.case.name}: {fault}") from fault
