"""The way from a file to a report, with stages that answer what each test says."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from kernels.compile.compilation import Compilation
from kernels.compile.diagnostics import Resources
from kernels.exercise import find_exercise
from kernels.report.model import Explanation
from kernels.verdict import CaseCheck, CaseStatus, Finding, Severity, Verdict
from tests.kernels.analysed import InProcess
from worker.sandbox.compile_child import CompileRequest
from worker.sandbox.limits import Failure, SandboxFailure
from worker.steps.analysis_step import AnalysisRequest, AnalysisResponse
from worker.steps.check_step import CheckRequest, CheckResponse
from worker.steps.explanation import ExplainRequest
from worker.steps.grading import HeadersUnavailable, Job, NoSuchCase, grade

TILED = find_exercise("tiled")
KERNEL = b"__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {}\n"
NOTHING_FOUND = CheckResponse((), ())
COMPILED = Compilation("sm_90", "_Z15MatrixMulKernel", "ptx", b"cubin", Resources(32, 0, 0, 0, 0, 0, 1), (), {})


@dataclass
class FakeStages(InProcess):
    compiled: Compilation | tuple[Finding, ...] | SandboxFailure = COMPILED
    checked: CheckResponse | SandboxFailure = NOTHING_FOUND
    requests: list[CompileRequest | CheckRequest] = field(default_factory=list)

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        self.requests.append(request)
        if isinstance(self.compiled, SandboxFailure):
            raise self.compiled
        return self.compiled

    def check(self, request: CheckRequest) -> CheckResponse:
        self.requests.append(request)
        if isinstance(self.checked, SandboxFailure):
            raise self.checked
        return self.checked

    def analyse(self, request: AnalysisRequest) -> AnalysisResponse:
        raise NotImplementedError

    def isolation(self) -> tuple[str, ...]:
        return ("a gap",)


def job(source: bytes = KERNEL, **changes: object) -> Job:
    values: dict[str, object] = {
        "source": source,
        "exercise": TILED,
        "arch": "sm_90",
        "seed": "00" * 16,
        "cache": Path("/dev/null/cache"),
    }
    return Job(**(values | changes))  # type: ignore[arg-type]


def test_a_kernel_without_findings_is_accepted():
    checks = (CaseCheck("Width=1 integers_left", CaseStatus.PASSED),)
    stages = FakeStages(checked=CheckResponse((), checks, "hello", "Width=1 integers_left"))
    report = grade(job(), stages)
    assert report.verdict is Verdict.ACCEPTED
    assert report.message == "Correct in 1 of 1 case, bit-exact."
    assert (report.printed, report.isolation) == ("hello", ("a gap",))
    assert list(report.seconds) == ["read", "compile", "check"]


def test_the_tile_is_given_to_the_compiler_unless_the_file_has_its_own():
    for text, defines, tile in ((KERNEL, {"TILE_WIDTH": "32"}, 32), (b"#define TILE_WIDTH 8\n" + KERNEL, {}, 8)):
        stages = FakeStages()
        report = grade(job(text, tile=32), stages)
        request = stages.requests[0]
        assert isinstance(request, CompileRequest)
        assert (dict(request.defines), report.tile) == (defines, tile)
        assert request.kernels == ("MatrixMulKernel",)


def test_the_exercises_own_kernel_is_always_expected_with_its_parameters():
    text = b"#define KERNEL(n) __global__ void n(float* M, float* N, float* P, int Width)\nKERNEL(MatrixMulKernel) {}\n"
    stages = FakeStages()
    grade(job(text), stages)
    request = stages.requests[0]
    assert isinstance(request, CompileRequest)
    assert request.kernels == ("MatrixMulKernel",)
    assert request.parameters == ("float*", "float*", "float*", "int")


def test_what_was_compiled_is_what_is_checked():
    stages = FakeStages()
    grade(job(case="Width=17"), stages)
    request = stages.requests[1]
    assert isinstance(request, CheckRequest)
    assert [(each.ptx, each.entry) for each in request.modules] == [(COMPILED.ptx, COMPILED.entry)]
    assert {case.sizes["Width"] for case in request.plan.cases} == {17}


def test_a_kernel_that_does_not_end_is_shown_its_loop():
    text = KERNEL.replace(b"{}", b"{\n  for (;;) {\n    P[0] = 1;\n  }\n}")
    finding = Finding(Verdict.TIME_LIMIT, "It is still running", 3)
    report = grade(job(text), FakeStages(checked=CheckResponse((finding,), ())))
    assert report.verdict is Verdict.TIME_LIMIT
    assert report.findings[0].line == 2
    assert "line 2" in report.message


def test_a_rejected_source_is_never_compiled():
    stages = FakeStages()
    report = grade(job(b"int main() {}"), stages)
    assert report.verdict is Verdict.REJECTED
    assert report.message == report.findings[0].message
    assert {check.status for check in report.checks} == {CaseStatus.NOT_RUN}
    assert stages.requests == []


def test_a_compile_error_ends_the_job():
    finding = Finding(Verdict.COMPILE_ERROR, "Identifier x is undefined.", 3)
    stages = FakeStages(compiled=(finding,))
    report = grade(job(), stages)
    assert (report.verdict, report.findings) == (Verdict.COMPILE_ERROR, (finding,))
    assert len(stages.requests) == 1


@pytest.mark.parametrize("kind", sorted(set(Failure) - {Failure.SOLUTION}))
def test_a_check_that_dies_is_our_fault_and_says_nothing_of_the_inside(kind, caplog):
    report = grade(job(), FakeStages(checked=SandboxFailure(kind, "secret detail")))
    assert report.verdict is Verdict.SYSTEM_ERROR
    assert "not the cause" in report.message
    assert "secret" not in str(report)
    assert "secret detail" in caplog.text


def test_a_solution_that_fails_is_not_the_kernels_fault_and_has_its_reason():
    report = grade(job(), FakeStages(checked=SandboxFailure(Failure.SOLUTION, "It fails.")))
    assert report.verdict is Verdict.SYSTEM_ERROR
    assert "not the cause" in report.message
    assert "It fails." in report.message


def test_an_unknown_case_names_those_there_are():
    with pytest.raises(NoSuchCase, match="Width=17 integers_left"):
        grade(job(case="Width=4711"), FakeStages())


def test_headers_that_cannot_be_kept_are_our_fault(tmp_path):
    place = tmp_path / "file"
    place.write_text("")
    with pytest.raises(HeadersUnavailable):
        grade(job(b"#include <cuda_fp16.h>\n" + KERNEL, cache=place), FakeStages())


@pytest.mark.parametrize("error", [None, Finding(Verdict.COMPILE_ERROR, "Expected a `;`.", 2)])
def test_a_launch_comment_that_is_not_read_is_a_warning_beside_whatever_is_found(error):
    stages = FakeStages() if error is None else FakeStages(compiled=(error,))
    report = grade(job(b"/*!tilelab block=(8,8)*/\n" + KERNEL), stages)
    assert report.verdict is (Verdict.ACCEPTED if error is None else Verdict.COMPILE_ERROR)
    assert [finding.line for finding in report.findings if finding.severity is Severity.WARNING] == [1]


@pytest.mark.parametrize("stage", ["start_compiling", "start_disassembly", "disassembly", "analyse"])
@pytest.mark.parametrize("error", [SandboxFailure(Failure.TIME), ValueError("a fault of ours")])
def test_evidence_that_fails_never_fails_a_grade(monkeypatch, caplog, stage, error):
    def fail(*_: object) -> None:
        raise error

    stages = FakeStages()
    monkeypatch.setattr(stages, stage, fail)
    report = grade(job(KERNEL + b"// TILE_WIDTH", evidence=True), stages)
    assert report.verdict is Verdict.ACCEPTED
    assert report.evidence.extent is None
    (told,) = caplog.records
    assert (told.exc_info is None) is isinstance(error, SandboxFailure), "a process that died has no trace to tell"


def test_a_grade_says_why_there_is_no_evidence():
    stages = FakeStages()
    report = grade(job(evidence=True), stages)  # its analysis is not implemented
    assert report.verdict is Verdict.ACCEPTED
    assert "does not change the verdict" in report.evidence.notes[0]


ERRORS = tuple(kind for kind in Verdict if kind not in {Verdict.ACCEPTED, Verdict.UNSUPPORTED})


@pytest.mark.parametrize("kinds", [*((kind,) for kind in ERRORS), *((Verdict.UNSUPPORTED, kind) for kind in ERRORS)])
def test_what_the_cpu_device_finds_wrong_never_reaches_a_gpu(kinds):
    findings = tuple(Finding(kind, "wrong", 3) for kind in kinds)
    stages = FakeStages(checked=replace(NOTHING_FOUND, findings=findings))

    report = grade(job(gpu="h200"), stages)  # it cannot measure

    assert report.verdict in kinds
    assert report.device == "cpu"


def test_an_explanation_that_fails_changes_no_verdict():
    race = Finding(Verdict.DATA_RACE, "T(0,0) writes `P[0]`.", 1)

    class Explaining(FakeStages):
        def explain(self, request: ExplainRequest) -> Explanation:
            raise SandboxFailure(Failure.TIME, "over")

    found = CheckResponse((race,), ())
    reports = [grade(job(), kind(checked=found)) for kind in (FakeStages, Explaining)]

    assert [report.verdict for report in reports] == [Verdict.DATA_RACE] * 2
    assert [report.explanation is None for report in reports] == [False, True]
