"""Solutions of other exercises, measured on the CPU device with the real judge."""

from __future__ import annotations

import pytest

from kernels.exercise import find_exercise
from kernels.verdict import CaseStatus, Verdict, decide
from tests.marks import linux
from tests.worker.gpu.measuring import Scripted, measured, request_for

pytestmark = linux


def solution(name: str, **changes: str) -> str:
    text = find_exercise(name).solution.read_text("utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.one_in(3, "a third of those here")
@pytest.mark.parametrize(
    ("name", "ranking"),
    [
        ("column-major", {"Width": 21}),
        ("lab6-blocked", {"A_HEIGHT": 16, "A_WIDTH": 32, "B_WIDTH": 16}),
        ("lab6-occupancy", {"A_HEIGHT": 16, "A_WIDTH": 32, "B_WIDTH": 16}),
        ("reduction", {"n": 1100}),
        ("bank-conflicts", {"Height": 20, "Width": 35}),
        ("foo-kernel", {"n": 256}),
        ("hopper-wgmma", {"rows": 70, "depth": 136, "cols": 66}),
    ],
)
def test_a_solution_is_measured(name, ranking):
    exercise = find_exercise(name)
    request = request_for(solution(name), exercise, ranking, cases=["nothing but the ranking size"])
    response = measured(request, Scripted([1.0]), real_judge=True)
    assert response.findings == ()
    assert {check.status for check in response.checks} == {CaseStatus.PASSED}
    measurement = response.measurement
    assert measurement is not None
    product = exercise.operation == "matmul"
    assert (measurement.gflops is not None) == product
    assert (measurement.cublas_share is not None) == product
    assert (measurement.gbps is None) == (exercise.operation == "analysis")
    assert measurement.metric == exercise.metric.value
    # where nothing is compared, a kernel that does nothing at all would be the fastest
    assert measurement.ranked == (exercise.operation != "analysis")


def test_an_input_in_a_module_variable_that_is_written_is_found_out():
    exercise = find_exercise("lab6-blocked")
    text = solution("lab6-blocked")
    end = text.rindex("}")
    text = f"{text[:end]}  if (threadIdx.x == 0 && threadIdx.y == 0 && blockIdx.x == 0) d_B[0][1] = 0;\n{text[end:]}"
    ranking = {"A_HEIGHT": 16, "A_WIDTH": 32, "B_WIDTH": 16}
    response = measured(request_for(text, exercise, ranking, cases=["none"]), real_judge=True)
    assert decide(response.findings) is Verdict.INPUT_MODIFIED


def test_an_input_in_constant_memory_is_measured():
    text = solution("lab6-blocked", **{"__device__ float d_B": "__constant__ float d_B"})
    ranking = {"A_HEIGHT": 16, "A_WIDTH": 32, "B_WIDTH": 16}
    response = measured(request_for(text, find_exercise("lab6-blocked"), ranking, cases=["none"]), real_judge=True)
    assert response.findings == ()
    assert response.measurement is not None
