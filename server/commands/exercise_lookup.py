"""Exercises for commands: found by name or folder, with the solution graded first."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from kernels.exercise import Exercise, ExerciseError, find_exercise, load_exercise
from kernels.rendering.text_safety import safe
from kernels.report import Report
from kernels.report.model import first_error
from kernels.verdict import Verdict
from server.exercises.stored import SOLUTION, Content, read_content
from worker.commands.root import SystemFault, WrongUse
from worker.commands.submission import cache_folder
from worker.sandbox.limits import SandboxFailure

_HINT = "Use --unchecked to skip grading the solution."


def exercise_named(name: str, folder: Path | None) -> Content:
    """The exercise with this name or path, from Tilelab or from the folder. Raises WrongUse."""
    return _content(lambda: find_exercise(name, () if folder is None else (folder,)))


def exercise_in(folder: Path, name: str) -> Content:
    """The exercise with this name, only from this folder. Raises WrongUse."""
    return _content(lambda: load_exercise((folder / name).resolve()))


def check_solution(content: Content, arch: str, tile: int | None, *, measured: bool) -> None:
    """Grade the solution on the CPU device. Raises WrongUse unless it is accepted.

    measured: a GPU continues, so the verdict "unsupported" is fine
    raise (SystemFault): the solution can't be graded here
    """
    report = _graded(content, arch, tile)
    if report.verdict is Verdict.ACCEPTED or (measured and report.verdict is Verdict.UNSUPPORTED):
        return
    if report.verdict is Verdict.SYSTEM_ERROR:
        raise SystemFault(f"cannot grade the solution: {report.message} {_HINT}")
    found = first_error(report.findings, report.verdict)
    where = f"line {found.line}: " if found is not None and found.line is not None else ""
    file = content.exercise.solution
    raise WrongUse(
        f"the solution is not accepted. {file}: {where}{report.verdict.value}: {safe(report.message)} "
        f"Correct it and try again. `tilelab grade {file} --exercise {file.parent}` shows the full report."
    )


def _graded(content: Content, arch: str, tile: int | None) -> Report:
    from kernels.compile.nvrtc import NVRTCUnavailable
    from worker.steps.grading import HeadersUnavailable, Job, grade
    from worker.steps.stages import SandboxedStages

    job = Job(content.files[SOLUTION], content.exercise, arch, os.urandom(16).hex(), cache_folder(), tile)
    try:
        with SandboxedStages() as stages:
            return grade(job, stages)
    except (NVRTCUnavailable, HeadersUnavailable) as error:
        raise SystemFault(f"cannot grade the solution: {error} {_HINT}") from error
    except SandboxFailure as failure:
        raise SystemFault(f"cannot grade the solution: the sandbox failed ({failure.kind}). {_HINT}") from failure


def _content(find: Callable[[], Exercise]) -> Content:
    try:
        return read_content(find())
    except ExerciseError as error:
        raise WrongUse(str(error)) from error
