from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernels.exercise import Exercise
from kernels.exercise.wrong_kernels import right_kernels, wrong_kernels
from kernels.report import Report
from kernels.report.exercise_proof import STARTER, ProofKernel, proof_kernels
from kernels.verdict import Finding, Severity
from worker.commands.answer import Answer
from worker.commands.device import DEFAULT_ARCH
from worker.commands.root import Exit, SystemFault, WrongUse
from worker.commands.submission import cache_folder, start_stages
from worker.steps.cpu_check import NOT_THE_CAUSE
from worker.steps.grading import Job, grade
from worker.steps.stages import Stages

if TYPE_CHECKING:
    from kernels.exercise import Exercise


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


def check_folder(folder: str) -> Answer:
    """Grade the kernels of the exercise in a folder on the CPU device. Raises WrongUse and SystemFault."""
    from kernels.compile.nvrtc import NVRTCUnavailable
    from kernels.exercise import ExerciseError, load_exercise
    from kernels.phases.handout import handout_phases
    from worker.steps.compile_requests import HeadersUnavailable

    proofs: list[Proof] = []
    try:
        exercise = load_exercise(Path(folder).resolve())
        handout_phases(_handout(exercise), exercise, exercise.handout)
        for proof in Prover(exercise, DEFAULT_ARCH, cache_folder(), start_stages).proofs():
            proofs.append(proof)
            if sys.stderr.isatty():
                click.echo(f"graded {proof.file}", err=True)
    except ExerciseError as error:
        raise WrongUse(str(error)) from error
    except (NVRTCUnavailable, HeadersUnavailable) as error:
        raise SystemFault(str(error)) from error
    problems = [proof for proof in proofs if proof.problem]
    exit_code = Exit.NOT_ACCEPTED if problems else Exit.ACCEPTED
    return Answer(
        lambda: {"exercise": exercise.name, "ok": not problems, "kernels": [_plain(proof) for proof in proofs]},
        lambda: _text(exercise.name, proofs, len(problems)),
        exit_code,
    )


def _handout(exercise: Exercise) -> str:
    from kernels.exercise import ExerciseError

    try:
        return exercise.handout.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ExerciseError(exercise.handout, "", f"this file isn't UTF-8: {error}") from None


def _plain(proof: Proof) -> dict[str, Any]:
    leading = proof.leading
    return {
        "file": proof.file,
        "tile": proof.tile,
        "verdict": proof.report.verdict.value,
        "line": leading.line if leading is not None else None,
        "message": proof.report.message,
        "problem": proof.problem,
        "warning": proof.warning,
    }


def _text(name: str, proofs: list[Proof], problems: int) -> str:
    width = max(len(proof.file) for proof in proofs)
    lines, shown = [], set[str]()
    for proof in proofs:
        leading = proof.leading
        at = f" at line {leading.line}" if leading is not None and leading.line is not None else ""
        tile = f", tile {proof.tile}" if proof.file == "solution.cu" else ""
        mark = click.style("wrong", fg="red") if proof.problem else "ok   "
        lines.append(f"{mark}  {proof.file:{width}}  {proof.report.verdict.words}{at}{tile}")
        if proof.problem:
            message = proof.report.message.removesuffix(NOT_THE_CAUSE)
            lines += [f"       {each}" for each in (proof.problem, message) if each not in shown]
            shown.add(message)
        elif proof.warning:
            lines.append(f"       {click.style('warning', fg='yellow')}: {proof.warning}")
    count = f"{problems} of {len(proofs)}" if problems else f"all {len(proofs)}"
    ending = "kernels have an unexpected verdict" if problems else "kernels have the expected verdict"
    return "\n".join([*lines, f"{name}: {count} {ending}."])
