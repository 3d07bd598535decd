"""A compilation for the ranking size alone: sampled on the CPU device before a GPU gets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.exercise import find_exercise
from kernels.report import Report
from kernels.verdict import Verdict
from tests.worker.in_process import Here
from worker.contract.measure_work import MeasureRequest, MeasureResponse
from worker.steps.grading import Job, grade
from worker.steps.samples import sample

SOLUTION = find_exercise("lab6-blocked").solution.read_text()


class WithGPU(Here):
    """A GPU that finds everything right, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[MeasureRequest] = []

    def measure(self, request: MeasureRequest) -> MeasureResponse:
        self.asked.append(request)
        return MeasureResponse((), (), ptx_digests=tuple(code.ptx_digest for code in request.modules))


def graded(text: str, stages: Here, gpu: str) -> Report:
    job = Job(text.encode(), find_exercise("lab6-blocked"), "sm_90", "5eed", Path("/dev/null/cache"), gpu=gpu)
    return grade(job, stages)


def test_the_ranking_size_has_a_compilation_of_its_own_which_is_asked_for():
    stages = WithGPU()
    report = graded(SOLUTION, stages, "h200")
    assert report.verdict is Verdict.ACCEPTED
    (request,) = stages.asked
    assert request.ranking is not None
    assert request.ranking.sizes["A_WIDTH"] == 2048
    assert request.ranking.module == len(request.modules) - 1
    assert {"A_HEIGHT": "1024", "A_WIDTH": "2048", "B_WIDTH": "1024"}.items() <= stages.compilations[-1].items()


def test_without_a_gpu_it_is_not_compiled():
    stages = WithGPU()
    graded(SOLUTION, stages, "")
    assert all(defines["A_WIDTH"] != "2048" for defines in stages.compilations)
    assert not stages.asked


WRITES_OUTSIDE = """
#if A_WIDTH > 1000
    if (blockIdx.x == gridDim.x - 1) (&d_C[0][0])[A_HEIGHT * B_WIDTH + threadIdx.x] = 1.0f;
#endif
"""


def test_what_only_the_ranking_size_does_is_found_before_a_gpu_sees_it():
    text = SOLUTION.rstrip()
    assert text.endswith("}")
    stages = WithGPU()
    report = graded(f"{text[:-1]}{WRITES_OUTSIDE}}}\n", stages, "h200")
    assert report.verdict is Verdict.OUT_OF_BOUNDS
    assert not stages.asked
    example = next(finding.example for finding in report.findings if finding.kind is Verdict.OUT_OF_BOUNDS)
    assert example is not None
    assert example.case is not None
    assert "A_WIDTH=2048" in example.case


def test_a_module_variable_that_is_too_small_at_the_ranking_size_alone_is_found_before_a_gpu_sees_it():
    declared = "__device__ float d_C[C_HEIGHT][C_WIDTH];"
    assert declared in SOLUTION
    smaller = f"#if A_WIDTH > 1000\n__device__ float d_C[C_HEIGHT / 2][C_WIDTH];\n#else\n{declared}\n#endif"
    stages = WithGPU()
    report = graded(SOLUTION.replace(declared, smaller), stages, "h200")
    assert report.verdict is Verdict.REJECTED
    assert "d_C" in report.message
    assert not stages.asked


@pytest.mark.parametrize(("blocks", "chosen"), [(1, [0]), (2, [0, 1]), (3, [0, 1, 2]), (100, [0, 50, 99])])
def test_the_ends_and_the_middle_are_sampled(blocks, chosen):
    assert sample(blocks) == chosen
