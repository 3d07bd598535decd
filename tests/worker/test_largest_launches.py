"""The largest grids that a device takes: each ends in a verdict of the kernel's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.exercise import find_exercise
from kernels.judging.plan import Plan, make_plan
from kernels.source.source_file import Source, read_source
from kernels.verdict import Verdict
from tests.marks import linux
from tests.worker.in_process import Here
from worker.gpu.backend import Code, DeviceFault, FaultKind
from worker.gpu.cpu_backend import CpuBackend
from worker.steps import analysis_step
from worker.steps.analysis import AnalysisJob, analyse
from worker.steps.grading import Job, grade
from worker.steps.samples import sample

pytestmark = linux

GRIDS = ("2147483647", "65535, 65535", "2147483647, 65535, 65535")
KERNEL = """//!tilelab grid=({})
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {{
    bool first = blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y == 0;
    if (first) P[0] = M[0] * N[0];
}}
"""
NAIVE = find_exercise("naive")


class Counting(Here):
    def analyse(self, request):
        return analysis_step.analyse(request)


@pytest.mark.parametrize("grid", GRIDS)
def test_a_grade_ends_in_a_time_limit(grid):
    report = grade(Job(KERNEL.format(grid).encode(), NAIVE, "sm_90", "5eed", Path("/dev/null/cache")), Here())

    assert report.verdict is Verdict.TIME_LIMIT


@pytest.mark.parametrize(("grid", "counted"), [*((grid, True) for grid in GRIDS[:2]), (GRIDS[2], False)])
def test_an_analysis_counts_a_sample_or_says_that_it_cannot(grid, counted):
    job = AnalysisJob(KERNEL.format(grid).encode(), NAIVE, "sm_90", Path("/dev/null/cache"))

    analysis = analyse(job, Counting())

    assert bool(analysis.evidence and analysis.evidence.lines) is counted
    assert [finding.kind for finding in analysis.findings] == ([] if counted else [Verdict.TIME_LIMIT])


def test_a_device_that_runs_out_of_time_says_so():
    source = read_source(KERNEL.format(GRIDS[0]).encode(), NAIVE)
    assert isinstance(source, Source)
    plan: Plan = make_plan(NAIVE, source, None, "0")
    case, backend = plan.cases[0], CpuBackend()
    assert case.launch is not None
    text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n"
    kernel = backend.load(Code(text, b""), "k")

    with pytest.raises(DeviceFault) as raised:
        backend.timed(kernel, case.launch, (), 1)
    assert raised.value.kind is FaultKind.TIME


def test_blocks_of_a_large_compilation_are_sampled_by_their_numbers():
    assert sample(2147483647 * 65535 * 65535) == [0, 4611545279865356287, 9223090559730712574]
