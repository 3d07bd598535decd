"""Analyses made in this process, by the same way as the command's, but for the sandbox and the disassembler."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

from kernels.analysis.model import Analysis
from kernels.compile.compilation import Compilation, compile_source, evaluate
from kernels.exercise import find_exercise
from kernels.report.model import Explanation
from kernels.source.names import Evaluated
from kernels.verdict import Finding
from tests.kernels.device.kernels import CACHE
from worker.contract.measure_work import MeasureRequest, MeasureResponse
from worker.sandbox.compile_child import CompileRequest, EvaluateRequest
from worker.sandbox.disassembler import Disassembly
from worker.steps.analysis import AnalysisJob, analyse
from worker.steps.analysis_step import AnalysisRequest, AnalysisResponse
from worker.steps.analysis_step import analyse as count
from worker.steps.check_step import CheckRequest, CheckResponse, check
from worker.steps.explanation import ExplainRequest, explain

CORPUS = Path(__file__).resolve().parents[1] / "corpus"


_COMPILED: dict[bytes, Compilation | tuple[Finding, ...]] = {}


class InProcess:
    """Every stage without a process of its own; counts are those of the PTX."""

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        """Once in this process: the CPU's judge and the GPU's are often asked about one kernel."""
        key = sha256(repr(request).encode()).digest()
        if key not in _COMPILED:
            _COMPILED[key] = compile_source(**asdict(request))
        return _COMPILED[key]

    def evaluate(self, request: EvaluateRequest) -> Evaluated | tuple[Finding, ...]:
        return evaluate(**asdict(request))

    def check(self, request: CheckRequest) -> CheckResponse:
        return check(request)

    def start_disassembly(self, cubin: bytes) -> None:
        pass

    def disassembly(self) -> Disassembly:
        return Disassembly(None, "this is a test")

    def start_compiling(self, request: CompileRequest) -> None:
        pass

    def analyse(self, request: AnalysisRequest) -> AnalysisResponse:
        return count(request)

    def measure(self, request: MeasureRequest) -> MeasureResponse:
        raise NotImplementedError

    def explain(self, request: ExplainRequest) -> Explanation:
        return explain(request)

    def isolation(self) -> tuple[str, ...]:
        return ()


@cache
def analysed(
    source: str | Path,
    exercise: str = "tiled",
    size: int | None = None,
    tile: int | None = None,
    ranking: int | None = None,
) -> Analysis:
    """The analysis of a text or a file, made once.

    ranking: the size of the speed of light, if not the exercise's; a small one spares some kernels seconds
    """
    text = source if isinstance(source, str) else source.read_text()
    found = find_exercise(exercise)
    if ranking is not None:
        found = replace(found, ranking=dict.fromkeys(found.ranking, ranking))
    sizes = None if size is None else dict.fromkeys(found.sizes, size)
    return analyse(AnalysisJob(text.encode(), found, "sm_90", CACHE, sizes, tile), InProcess())


def solution(exercise: str) -> Path:
    return find_exercise(exercise).solution
