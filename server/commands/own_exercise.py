"""Exercises as commands name them: read from their folder, with a solution that is known to be accepted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from kernels.exercise import Exercise, ExerciseError, find_exercise, load_exercise
from kernels.rendering.text_safety import safe
from kernels.report import Report
from kernels.report.model import first_error
from kernels.verdict import Verdict
from server.courses.exercises import SOLUTION, Content, read_content
from worker.commands.root import SystemFault, WrongUse
from worker.commands.submission import cache_folder
from worker.sandbox.limits import SandboxFailure

_HINT = "--unchecked takes the folder without grading its solution."


def exercise_named(name: str, folder: Path | None) -> Content:
    """The exercise of that name, of Tilelab's or in the folder, or at that path; raises WrongUse."""
    return _content(lambda: find_exercise(name, () if folder is None else (folder,)))


def exercise_in(folder: Path, name: str) -> Content:
    """The exercise of that name in a folder, and no other; raises WrongUse."""
    return _content(lambda: load_exercise((folder / name).resolve()))


def check_solution(content: Content, arch: str, tile: int | None, *, measured: bool) -> None:
    """Grade the solution on the CPU device, as a submission; raises WrongUse unless it is accepted.

    measured: whether submissions go on to a GPU, which also judges what the CPU device cannot
    raise (SystemFault): the solution cannot be graded here
    """
    report = _graded(content, arch, tile)
    if report.verdict is Verdict.ACCEPTED or (measured and report.verdict is Verdict.UNSUPPORTED):
        return
    if report.verdict is Verdict.SYSTEM_ERROR:
        raise SystemFault(f"The solution could not be graded: {report.message} {_HINT}")
    found = first_error(report.findings, report.verdict)
    where = f"line {found.line}: " if found is not None and found.line is not None else ""
    file = content.exercise.solution
    raise WrongUse(
        f"The solution is not accepted. {file}: {where}{report.verdict.value}: {safe(report.message)} "
        f"Correct it and try again; `tilelab grade {file} --exercise {file.parent}` shows all that is wrong."
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
        raise SystemFault(f"The solution could not be graded: {error} {_HINT}") from error
    except SandboxFailure as failure:
        raise SystemFault(
            f"The solution could not be graded: no sandbox ({failure.kind}). {_HINT}"
        ) from failure


def _content(find: Callable[[], Exercise]) -> Content:
    try:
        return read_content(find())
    except ExerciseError as error:
        raise WrongUse(str(error)) from error
