"""Grades small files with exercises made up for a test: real source rules, compiler and CPU device, in this process."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from kernels.compile.compilation import Compilation, compile_source, evaluate
from kernels.exercise import Exercise, load_exercise
from kernels.report import Report
from kernels.report.model import Explanation
from kernels.source.names import Evaluated
from kernels.verdict import Finding
from worker.contract.measure_work import MeasureRequest, MeasureResponse
from worker.sandbox.compile_child import CompileRequest, EvaluateRequest
from worker.sandbox.disassembler import Disassembly
from worker.steps.analysis_step import AnalysisRequest, AnalysisResponse
from worker.steps.check_step import CheckRequest, CheckResponse, check
from worker.steps.explanation import ExplainRequest, explain
from worker.steps.grading import Job, grade


class Here:
    """Both stages in this process; counts compilations."""

    def __init__(self) -> None:
        self.compilations: list[dict[str, str]] = []

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        self.compilations.append(dict(request.defines))
        return compile_source(**asdict(request))

    def evaluate(self, request: EvaluateRequest) -> Evaluated | tuple[Finding, ...]:
        return evaluate(**asdict(request))

    def check(self, request: CheckRequest) -> CheckResponse:
        return check(request)

    def start_disassembly(self, cubin: bytes) -> None:
        pass

    def disassembly(self) -> Disassembly:
        return Disassembly(None, "not here")

    def start_compiling(self, request: CompileRequest) -> None:
        pass

    def analyse(self, request: AnalysisRequest) -> AnalysisResponse:
        raise NotImplementedError

    def measure(self, request: MeasureRequest) -> MeasureResponse:
        raise NotImplementedError

    def explain(self, request: ExplainRequest) -> Explanation:
        return explain(request)

    def isolation(self) -> tuple[str, ...]:
        return ()


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
