"""Grades small files with exercises made up for a test: real source rules, compiler and CPU device, in this process."""

from __future__ import annotations

from pathlib import Path

from kernels.compile.compilation import Compilation
from kernels.exercise import Exercise, load_exercise
from kernels.report import Report
from kernels.verdict import Finding
from tests.kernels.analysed import InProcess
from worker.sandbox.compile_child import CompileRequest
from worker.steps.grading import Job, grade


class Here(InProcess):
    """Counts compilations."""

    def __init__(self) -> None:
        self.compilations: list[dict[str, str]] = []

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        self.compilations.append(dict(request.defines))
        return super().compile(request)


def made(tmp_path: Path, definition: str, solution: str = "# x\n") -> Exercise:
    folder = tmp_path / "mine"
    folder.mkdir(exist_ok=True)
    for file, text in {"handout.md": "# x\n", "starter.cu": "# x\n", "solution.cu": solution}.items():
        (folder / file).write_text(text)
    (folder / "exercise.toml").write_text(definition)
    return load_exercise(folder)


NOWHERE = Path("/dev/null/cache")
"""A folder that nobody can make. Without a cache, CUDA's own headers can't be included."""


def graded(
    exercise: Exercise, text: str, stages: Here | None = None, case: str | None = None, cache: Path = NOWHERE
) -> Report:
    job = Job(text.encode(), exercise, "sm_90", "5eed", cache, case=case)
    return grade(job, stages or Here())
