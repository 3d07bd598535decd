"""What proves that an exercise works: its kernels, and the verdict that each must get."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernels.exercise import Exercise, Operation
from kernels.exercise.wrong_kernels import FOLDER, WrongKernel
from kernels.report.model import Report
from kernels.verdict import CaseStatus, Verdict, errors_of
from kernels.wording import listed

SOLUTION, STARTER = "solution.cu", "starter.cu"
_STOPS_COMPILING = frozenset({Verdict.COMPILE_ERROR, Verdict.RESOURCE_LIMIT, Verdict.UNSUPPORTED})


@dataclass(frozen=True, slots=True)
class ProofKernel:
    """A kernel of an exercise that a proof grades.

    file: in the exercise's folder
    tile: None for the file's own
    wrong: what an incorrect kernel must get; None for other kernels
    """

    file: str
    tile: int | None = None
    wrong: WrongKernel | None = None

    def problem(self, exercise: Exercise, report: Report) -> str:
        """Why a report on this kernel is unexpected; "" if it isn't."""
        if self.file == STARTER:
            return _starter_problem(exercise, report)
        if self.wrong is None:
            name = "the solution" if self.file == SOLUTION else "a correct kernel"
            return "" if report.verdict is Verdict.ACCEPTED else f"{name} must be accepted"
        if self.wrong.shown_by(report.verdict, report.findings):
            return ""
        at = f" at line {self.wrong.line}" if self.wrong.line is not None else ""
        return f"expected: {listed([verdict.words for verdict in self.wrong.verdicts], 'or')}{at}"

    def warning(self, exercise: Exercise, report: Report) -> str:
        """Why other inputs may hide the mistake of an incorrect kernel; "" if no case says so."""
        if self.wrong is None or report.verdict is not Verdict.WRONG_ANSWER:
            return ""
        failed = [check.case for check in report.checks if check.status is CaseStatus.FAILED]
        found = (finding for finding in report.findings if finding.kind is report.verdict)
        incorrect = sum(each.count for each in errors_of(found))
        elements = _output_elements(exercise, report.tile)
        if incorrect > len(failed) or all(elements.get(case, 0) == 1 for case in failed):
            return ""
        return "no case shows more than one incorrect element; add sizes or values that do"


def proof_kernels(exercise: Exercise, wrong: Sequence[WrongKernel], right: Sequence[str]) -> Iterator[ProofKernel]:
    """The solution at every tile, its usual tile first; the starter; each correct and each incorrect kernel."""
    for tile in sorted(exercise.tiles, key=lambda tile: tile != exercise.tile):
        yield ProofKernel(SOLUTION, tile)
    yield ProofKernel(STARTER)
    for file in right:
        yield ProofKernel(file)
    for each in wrong:
        yield ProofKernel(f"{FOLDER}/{each.name}.cu", wrong=each)


def _output_elements(exercise: Exercise, tile: int) -> dict[str, int]:
    """How many elements all outputs of each case have, by the case's name."""
    elements = {}
    for case in exercise.cases(tile):
        names = exercise.names(tile, case.sizes)
        elements[case.name] = sum(math.prod(output.shape(names)) for output in exercise.outputs)
    return elements


def _starter_problem(exercise: Exercise, report: Report) -> str:
    if report.verdict in _STOPS_COMPILING:
        return "the starter must compile and run"
    if report.verdict is Verdict.SYSTEM_ERROR:
        return "the starter can't be graded"
    if report.verdict is not Verdict.ACCEPTED or exercise.operation is Operation.ANALYSIS:
        return ""
    if any(not goal.met for goal in report.evidence.goals):
        return ""
    return "the starter must leave something to do"
