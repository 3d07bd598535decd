"""Kernels judged on a device by the exercise's own solution, with the real judge on the CPU device."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.exercise import find_exercise
from kernels.exercise.values import Tolerance
from kernels.measurement import Environment
from kernels.verdict import CaseStatus, Verdict, decide
from tests.marks import linux
from tests.worker.gpu.measuring import Scripted, judge_wire, measured, request_for
from worker.gpu.backend import Code
from worker.gpu.cpu_backend import CpuBackend
from worker.gpu.judge.filled_inputs import SolutionFault, fill
from worker.gpu.judge.verification import Judge
from worker.gpu.operands import Modules, place_all
from worker.gpu.timing.roofline import least_ms, operand_bytes, operations

pytestmark = linux

RANKING = {
    "vector-addition": {"n": 1500},
    "histogram": {"n": 1500, "bins": 20},
    "sparse-matrix-vector": {"rows": 300, "cols": 250, "entries": 900},
    "convolution": {"height": 20, "width": 35},
    "inclusive-scan": {"n": 700},
    "stencil": {"height": 20, "width": 35},
}


def solution(name, **changes):
    text = find_exercise(name).solution.read_text("utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def asked(name, text, **options):
    return request_for(text, find_exercise(name), RANKING[name], cases=["nothing but the ranking size"], **options)


LONG = pytest.mark.long("the short suite has one exercise, and one mistake")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[LONG] * (name != "vector-addition")) for name in RANKING])
def test_a_solution_is_measured_on_new_inputs_each_time(name):
    few = asked(name, solution(name), budget_seconds=0.002)
    response = measured(few, Scripted([1.0]), real_judge=True)
    assert response.findings == ()
    assert {check.status for check in response.checks} == {CaseStatus.PASSED}
    assert response.measurement is not None
    assert response.measurement.ranked
    assert response.measurement.cublas_share is None
    declared = find_exercise(name).work.flops is not None
    assert (response.measurement.gflops is not None) == declared


ADD = "if (i < n) C[i] = A[i] + B[i];"


LATE = "if (i < n) C[i] = A[i] + B[i] + (n > 1000 && i == 1234);"
GAP = "if (i < n && i != 77) C[i] = A[i] + B[i];"
NOT_A_NUMBER = "if (i < n) C[i] = A[i] + B[i] + 0.0f / (i - 5);"
INTO_INPUT = "if (i < n) { C[i] = A[i] + B[i]; if (i == 9) ((float*)B)[3] = 0.5f; }"


@pytest.mark.parametrize(
    ("body", "verdict", "text"),
    [
        (LATE, Verdict.WRONG_ANSWER, "`C[1234]` is "),
        pytest.param(GAP, Verdict.WRONG_ANSWER, "`C[77]` was never written", marks=LONG),
        pytest.param(NOT_A_NUMBER, Verdict.WRONG_ANSWER, "`C[5]` is NaN", marks=LONG),
        pytest.param(INTO_INPUT, Verdict.INPUT_MODIFIED, "B[3]", marks=LONG),
    ],
)
def test_a_mistake_at_the_ranking_size_is_found(body, verdict, text):
    request = asked("vector-addition", solution("vector-addition", **{ADD: body}))
    response = measured(request, Scripted([1.0]), real_judge=True)
    assert decide(response.findings) is verdict
    assert text in response.findings[0].message
    assert response.measurement is None


@LONG
def test_a_result_of_an_earlier_repeat_is_not_trusted():
    """The counts of the first launch stay in the file's memory, and later launches return them."""
    text = solution("vector-addition", **{ADD: "if (i < n) { if (!kept[i]) kept[i] = A[i] + B[i]; C[i] = kept[i]; }"})
    request = asked("vector-addition", f"__device__ float kept[4096];\n{text}")
    assert decide(measured(request, Scripted([1.0]), real_judge=True).findings) is Verdict.WRONG_ANSWER


@LONG
@pytest.mark.parametrize(("absolute", "passes"), [(0.5, True), (0.4, False)])
def test_floats_may_differ_by_the_tolerance(absolute, passes):
    exercise = replace(find_exercise("vector-addition"), tolerance=Tolerance(absolute))
    text = solution("vector-addition", **{ADD: "if (i < n) C[i] = A[i] + B[i] + (i == 3) * 0.5f;"})
    request = request_for(text, exercise, {"n": 700}, cases=["n=1 random"])
    response = measured(request, Scripted([1.0]), real_judge=True)
    assert (decide(response.findings) is Verdict.ACCEPTED) == passes
    if not passes:
        assert "(± 0.4)" in response.findings[0].message


def test_each_launch_of_the_warm_up_has_its_own_counters():
    count = "atomicAdd(&counts[bin], own[bin])"
    text = solution("histogram", **{count: f"if ({count} + own[bin] > n / 8) __trap()"})
    response = measured(asked("histogram", text), Scripted([1.0]), real_judge=True)
    assert response.findings == ()


def test_a_solution_that_fails_is_no_fault_of_the_kernel():
    exercise = find_exercise("vector-addition")
    broken = replace(exercise, solution_text=solution("vector-addition", **{"i < n": "i <= n"}))
    request = request_for(solution("vector-addition"), broken, {"n": 1500}, cases=["none"])
    with pytest.raises(SolutionFault, match="the exercise's solution fails at n=1500"):
        measured(request, Scripted([1.0]), real_judge=True)


def test_the_solution_has_memory_of_its_own():
    """A kernel can't prepare a result: the solution's memory is filled after the launch."""
    backend = CpuBackend()
    request = asked("histogram", solution("histogram"))
    judge = Judge(backend, Code(judge_wire().ptx, judge_wire().cubin_bytes))
    assert request.ranking is not None
    operands = place_all(
        backend, Modules(backend, request.modules), Modules(backend, request.solution), request.ranking
    )
    assert operands.solution is not None
    assert not set(operands.memories.values()) & set(operands.solution.memories.values())
    fill(backend, judge, operands, request.ranking.inputs, 5)
    written = {name: backend.read(memory).any() for name, memory in operands.solution.memories.items()}
    assert written == {"values": False, "counts": False}


def test_declared_work_gives_the_speed_and_its_limit():
    request = asked("vector-addition", solution("vector-addition"))
    case = request.ranking
    assert case is not None
    assert (operations(case), operand_bytes(case)) == (1500, 18_000)
    environment = Environment("NVIDIA H200", "h200", "9.0", 132, 1 << 37, 1980, "", "", "")
    large = replace(case, moved=12 << 30, flops=1 << 60)
    assert 2.0 < least_ms(large, environment) < 4.0


def test_an_inout_operand_counts_twice():
    case = asked("histogram", solution("histogram")).ranking
    assert case is not None
    assert operand_bytes(replace(case, moved=0)) == 4 * (1500 + 2 * 20)
