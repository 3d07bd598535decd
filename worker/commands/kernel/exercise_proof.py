"""The proof that an exercise works: each kernel in its folder gets the verdict that it must."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from kernels.exercise import Exercise
from kernels.exercise.wrong_kernels import right_kernels, wrong_kernels
from kernels.report import Report
from kernels.report.exercise_proof import STARTER, ProofKernel, proof_kernels
from kernels.verdict import Finding, Severity
from worker.steps.grading import Job, grade
from worker.steps.stages import Stages

_SEED_BYTES = 16

Opened = Callable[[], AbstractContextManager[Stages]]
"""Opens the processes for one kernel."""


@dataclass(frozen=True, slots=True)
class Proof:
    """One graded kernel of an exercise.

    file: in the exercise's folder
    problem: why this verdict is unexpected; "" if it isn't
    warning: why other inputs may hide the mistake; "" if no case says so
    """

    file: str
    tile: int
    report: Report
    problem: str
    warning: str = ""

    @property
    def leading(self) -> Finding | None:
        found = (finding for finding in self.report.findings if finding.kind is self.report.verdict)
        return next((each for each in found if each.severity is Severity.ERROR), None)


@dataclass(frozen=True, slots=True)
class Prover:
    """Grades the kernels of an exercise. gpu: the device class of the processes' GPU; "" for the CPU device alone."""

    exercise: Exercise
    arch: str
    cache: Path
    opened: Opened
    gpu: str = ""

    def proofs(self) -> Iterator[Proof]:
        """The solution at every tile, the starter, and each correct and incorrect kernel. Raises ExerciseError."""
        exercise = self.exercise
        for kernel in proof_kernels(exercise, wrong_kernels(exercise), right_kernels(exercise)):
            report = self._graded(kernel)
            tile = report.tile if kernel.tile is None else kernel.tile
            problem, warning = kernel.problem(exercise, report), kernel.warning(exercise, report)
            yield Proof(kernel.file, tile, report, problem, warning)

    def _graded(self, kernel: ProofKernel) -> Report:
        seed = os.urandom(_SEED_BYTES).hex()
        source = (self.exercise.root / kernel.file).read_bytes()
        # The goals decide about a starter that is accepted.
        evidence = kernel.file == STARTER
        job = Job(source, self.exercise, self.arch, seed, self.cache, kernel.tile, evidence=evidence, gpu=self.gpu)
        with self.opened() as stages:
            return grade(job, stages)
