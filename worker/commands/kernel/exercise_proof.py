"""The proof that an exercise works: each kernel in its folder gets the verdict that it must."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from kernels.exercise import Exercise, Operation
from kernels.exercise.wrong_kernels import WrongKernel, wrong_kernels
from kernels.report import Report
from kernels.verdict import Finding, Severity, Verdict
from worker.steps.grading import Job, grade
from worker.steps.stages import Stages

_SEED_BYTES = 16
_STOPS_COMPILING = frozenset({Verdict.COMPILE_ERROR, Verdict.RESOURCE_LIMIT, Verdict.UNSUPPORTED})

Opened = Callable[[], AbstractContextManager[Stages]]
"""Opens the processes for one kernel."""


@dataclass(frozen=True, slots=True)
class Proof:
    """One graded kernel of an exercise.

    file: in the exercise's folder
    problem: why this verdict is unexpected; "" if it isn't
    """

    file: str
    tile: int
    report: Report
    problem: str

    @property
    def leading(self) -> Finding | None:
        """The first finding of its verdict."""
        found = (each for each in self.report.findings if each.kind is self.report.verdict)
        return next((each for each in found if each.severity is Severity.ERROR), None)


@dataclass(frozen=True, slots=True)
class Prover:
    """Grades the kernels of an exercise.

    gpu: the device class of the processes' GPU; "" for the CPU device alone
    """

    exercise: Exercise
    arch: str
    cache: Path
    opened: Opened
    gpu: str = ""

    def proofs(self) -> Iterator[Proof]:
        """The solution at every tile, the starter, and each incorrect kernel. Raises ExerciseError."""
        wrong = wrong_kernels(self.exercise)
        for tile in sorted(self.exercise.tiles, key=lambda tile: tile != self.exercise.tile):
            yield self._solution(tile)
        yield self._starter()
        yield from map(self._wrong, wrong)

    def _solution(self, tile: int) -> Proof:
        report = self._graded(self.exercise.solution, tile)
        problem = "" if report.verdict is Verdict.ACCEPTED else "the solution must be accepted"
        return Proof(self.exercise.solution.name, tile, report, problem)

    def _starter(self) -> Proof:
        file = self.exercise.starter
        report = self._graded(file, None, evidence=True)
        return Proof(file.name, report.tile, report, self._starter_problem(report))

    def _starter_problem(self, report: Report) -> str:
        if report.verdict in _STOPS_COMPILING:
            return "the starter must compile and run"
        if report.verdict is Verdict.SYSTEM_ERROR:
            return "the starter can't be graded"
        if report.verdict is not Verdict.ACCEPTED or self.exercise.operation is Operation.ANALYSIS:
            return ""
        return (
            ""
            if any(not goal.met for goal in report.evidence.goals)
            else "the starter must leave something to do"
        )

    def _wrong(self, wrong: WrongKernel) -> Proof:
        report = self._graded(wrong.file, None)
        problem = ""
        if not wrong.shown_by(report.verdict, report.findings):
            at = f" at line {wrong.line}" if wrong.line is not None else ""
            problem = f"expected: {wrong.verdict.words}{at}"
        return Proof(f"{wrong.file.parent.name}/{wrong.file.name}", report.tile, report, problem)

    def _graded(self, file: Path, tile: int | None, *, evidence: bool = False) -> Report:
        seed = os.urandom(_SEED_BYTES).hex()
        source = file.read_bytes()
        job = Job(source, self.exercise, self.arch, seed, self.cache, tile, evidence=evidence, gpu=self.gpu)
        with self.opened() as stages:
            return grade(job, stages)
