"""What proves that an exercise works: its kernels, and the verdict that each must get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernels.exercise import Exercise, Operation
from kernels.exercise.wrong_kernels import FOLDER, WrongKernel
from kernels.report.model import Report
from kernels.verdict import Verdict

SOLUTION, STARTER = "solution.cu", "starter.cu"
_STOPS_COMPILING = frozenset({Verdict.COMPILE_ERROR, Verdict.RESOURCE_LIMIT, Verdict.UNSUPPORTED})


@dataclass(frozen=True, slots=True)
class ProofKernel:
    """A kernel of an exercise that a proof grades.

    file: in the exercise's folder
    tile: None for the file's own
    wrong: what an incorrect kernel must get; None for the solution and the starter
    """

    file: str
    tile: int | None = None
    wrong: WrongKernel | None = None

    def problem(self, exercise: Exercise, report: Report) -> str:
        """Why a report on this kernel is unexpected; "" if it isn't."""
        if self.file == SOLUTION:
            return "" if report.verdict is Verdict.ACCEPTED else "the solution must be accepted"
        if self.wrong is None:
            return _starter_problem(exercise, report)
        if self.wrong.shown_by(report.verdict, report.findings):
            return ""
        at = f" at line {self.wrong.line}" if self.wrong.line is not None else ""
        return f"expected: {self.wrong.verdict.words}{at}"


def proof_kernels(exercise: Exercise, wrong: Sequence[WrongKernel]) -> Iterator[ProofKernel]:
    """The solution at every tile, its usual tile first; the starter; each incorrect kernel."""
    for tile in sorted(exercise.tiles, key=lambda tile: tile != exercise.tile):
        yield ProofKernel(SOLUTION, tile)
    yield ProofKernel(STARTER)
    for each in wrong:
        yield ProofKernel(f"{FOLDER}/{each.name}.cu", wrong=each)


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
