"""The check step: plain values in, plain values out."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kernels import device
from kernels.compile.compilation import Compilation, compile_source
from kernels.exercise import find_exercise
from kernels.judging.plan import make_plan, select_cases, with_solution
from kernels.source.source_file import Source, read_source
from kernels.verdict import CaseStatus, Severity, Verdict, decide
from kernels.wire import WireError, from_plain, to_plain
from worker.steps.check_step import CheckRequest, CheckResponse, check, check_step
from worker.steps.modules import Module

TILED = find_exercise("tiled")
UNKNOWN = 'asm volatile("{.reg .b64 a; mov.u64 a, 0; discard.global.L2 [a], 128;}");'
"""An instruction that the device doesn't know."""


def request_for(text: str, case: str | None = "Width=17") -> CheckRequest:
    source = read_source(text.encode(), TILED)
    assert isinstance(source, Source)
    plan = make_plan(TILED, source, None, "5eed")
    plan = plan if case is None else select_cases(plan, case)
    defines = source.defines(TILED, plan.tile, {})
    compiled = compile_source(source.text, TILED.kernel, "sm_90", defines, TILED.fmad)
    assert isinstance(compiled, Compilation)
    module = Module(compiled.ptx, compiled.entry, compiled.globals, compiled.resources)
    return CheckRequest(plan, (module,))


@pytest.fixture(scope="module")
def solution() -> CheckRequest:
    return request_for(TILED.solution.read_text("utf-8"))


def test_the_solution_passes_over_the_wire(solution):
    answer = check_step(json.loads(json.dumps(to_plain(solution))))
    response = from_plain(CheckResponse, json.loads(json.dumps(answer)))
    assert response.findings == ()
    assert {item.status for item in response.checks} == {CaseStatus.PASSED}


def test_the_same_seed_gives_the_same_response():
    wrong = request_for(
        "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {"
        " int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < Width && j < Width) P[i * Width + j] = M[i * Width] * N[j]; }"
    )
    first, again = check(wrong), check(wrong)
    assert decide(first.findings) is Verdict.WRONG_ANSWER
    assert first == again
    other = check(replace(wrong, plan=replace(wrong.plan, seed="0dd")))
    assert other.findings[0].message != first.findings[0].message


ADDITION = find_exercise("vector-addition")


def addition_with(solution: str) -> CheckRequest:
    """The sum of two vectors, compared with another solution."""
    own = replace(ADDITION, solution_text=solution)
    source, other = (read_source(text.encode(), own) for text in (ADDITION.solution_text, solution))
    assert isinstance(source, Source)
    assert isinstance(other, Source)
    plan = make_plan(own, source, None, "5eed")
    plan = replace(plan, cases=tuple(with_solution(own, other, case) for case in plan.cases))
    modules = []
    for each in (source, other):
        made = compile_source(each.text, own.kernel, "sm_90", {}, own.fmad)
        assert isinstance(made, Compilation)
        modules.append(Module(made.ptx, made.entry, made.globals, made.resources))
    return CheckRequest(plan, (modules[0],), (modules[1],))


def test_a_solution_that_fails_is_no_verdict():
    response = check(addition_with(ADDITION.solution_text.replace("i < n", "i <= n")))
    assert response.solution_fault.startswith("It fails at n=1 random: ")
    assert not response.findings


def test_a_solution_that_only_a_gpu_can_run_leaves_the_kernel_to_the_gpu():
    text = ADDITION.solution_text.replace("int i =", f"{UNKNOWN} int i =")
    response = check(addition_with(text))
    (finding,) = response.findings
    assert (finding.kind, finding.line) == (Verdict.UNSUPPORTED, None)
    assert finding.message.startswith("The exercise's solution needs a GPU.")


@pytest.mark.parametrize("change", [{"plan": None}, {"modules": 3}, {"modules": [{}]}, {"more": 1}])
def test_a_request_that_does_not_fit_is_refused(solution, change):
    with pytest.raises(WireError):
        check_step(to_plain(solution) | change)


def test_text_that_is_no_kernel_is_unsupported_and_no_case_is_run(solution):
    response = check(replace(solution, modules=(replace(solution.modules[0], ptx="this is no PTX"),)))
    assert decide(response.findings) is Verdict.UNSUPPORTED
    assert {item.status for item in response.checks} == {CaseStatus.NOT_RUN}


def test_an_unknown_instruction_is_named_with_its_line():
    response = check(
        request_for(f"__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {{\n    {UNKNOWN}\n}}\n")
    )
    (finding,) = response.findings
    assert (finding.kind, finding.line) == (Verdict.UNSUPPORTED, 2)
    assert "discard" in finding.message


REACHES_UNKNOWN = """__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float sum = 0;
    for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
    P[row * Width + col] = sum;
    if (Width == 2) UNKNOWN
    MORE
}
""".replace("UNKNOWN", UNKNOWN)


def test_only_the_cases_that_reach_an_unknown_instruction_are_not_run():
    response = check(request_for(REACHES_UNKNOWN.replace("MORE", ""), None))
    (finding,) = response.findings
    assert (finding.kind, finding.line, finding.severity) == (Verdict.UNSUPPORTED, 7, Severity.ERROR)
    statuses = {item.case.partition(" ")[0]: item.status for item in response.checks}
    assert statuses["Width=2"] is CaseStatus.NOT_RUN
    assert statuses["Width=1"] is statuses["Width=17"] is CaseStatus.PASSED


def test_an_error_of_another_case_counts_more_than_an_unknown_instruction():
    response = check(request_for(REACHES_UNKNOWN.replace("MORE", "if (Width == 17) P[Width * Width] = 0;"), None))
    assert decide(response.findings) is Verdict.OUT_OF_BOUNDS
    (unknown,) = (finding for finding in response.findings if finding.kind is Verdict.UNSUPPORTED)
    assert unknown.severity is Severity.WARNING


def test_an_error_before_an_unknown_instruction_fails_its_case():
    text = REACHES_UNKNOWN.replace("MORE", "").replace("    if (Width == 2)", "    P[-1] = 0; if (Width == 2)")
    response = check(request_for(text, "Width=2"))
    assert decide(response.findings) is Verdict.OUT_OF_BOUNDS
    assert {item.status for item in response.checks} == {CaseStatus.FAILED}


def test_a_race_in_one_run_counts_though_a_later_run_cannot_be_made(monkeypatch):
    racing = request_for(TILED.solution.read_text("utf-8").replace("__syncthreads();", ""), "Width=17")
    real, runs = device.run_in_turn, []

    def second_fails(*given, **named):
        runs.append(given)
        if len(runs) == 2:
            raise device.Unsupported("an instruction", 7)
        return real(*given, **named)

    monkeypatch.setattr(device, "run_in_turn", second_fails)
    response = check(racing)

    kinds = [finding.kind for finding in response.findings]
    assert (set(kinds[:-1]), kinds[-1]) == ({Verdict.DATA_RACE}, Verdict.UNSUPPORTED)
    assert decide(response.findings) is Verdict.DATA_RACE
    assert len({(finding.line, finding.other_line) for finding in response.findings}) == len(kinds)
