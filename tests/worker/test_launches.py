"""Exercises with several launches in a row, on the CPU device and with the GPU's judge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels.exercise import ExerciseError
from kernels.verdict import CaseStatus, Severity, Verdict, decide
from tests.gpu.solutions import Machine
from tests.marks import linux
from tests.worker.gpu.measuring import Scripted, measured, request_for
from tests.worker.in_process import Here, graded, made
from worker.gpu.nvml import gpus
from worker.steps.grading import grade

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "exercises.md"
SUM = DOCUMENTATION.read_text("utf-8").split("### Several launches")[1].split("```toml\n")[1].split("```")[0]
TWO_PASSES = """__global__ void partialSums(const int* values, int* partial, int n) {
    __shared__ int sums[BLOCK_SIZE];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? values[i] : 0;
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        __syncthreads();
        if (t < s) sums[t] += sums[t + s];
    }
    if (t == 0) partial[blockIdx.x] = sums[0];
}

__global__ void addSums(const int* partial, int* sum, int count) {
    __shared__ int sums[BLOCK_SIZE];
    int t = threadIdx.x, own = 0;
    for (int i = t; i < count; i += blockDim.x) own += partial[i];
    sums[t] = own;
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        __syncthreads();
        if (t < s) sums[t] += sums[t + s];
    }
    if (t == 0) *sum = sums[0];
}
"""
SCAN = """
title = "Scan in three launches"
operation = "solution"
kernel = "scanBlocks"
sizes = ["n"]
metric = "gbps"
largest_on_cpu = 300
parameters = [
    { type = "const int*", name = "x", operand = "x" },
    { type = "int*", name = "y", operand = "y" },
    { type = "int*", name = "sums", operand = "sums" },
    { type = "int", name = "n", size = "n" },
]
operands = [
    { name = "x", role = "input", type = "int", rows = "n", values = { kind = "integers" } },
    { name = "y", role = "output", type = "int", rows = "n" },
    { name = "sums", role = "scratch", type = "int", rows = "ceil(n/BLOCK_SIZE)" },
]
tile = { name = "BLOCK_SIZE", default = 32, allowed = [32], largest = 1024 }
launch = { block = "(BLOCK_SIZE)", grid = "(ceil(n/BLOCK_SIZE))" }
ranking = { n = 700 }
cases = [{ sizes = { n = 100 } }]

[[then]]
kernel = "scanSums"
block = "(BLOCK_SIZE)"
grid = "(1)"
parameters = [
    { type = "int*", name = "sums", operand = "sums" },
    { type = "int", name = "count", value = "ceil(n/BLOCK_SIZE)" },
]

[[then]]
kernel = "addSums"
block = "(BLOCK_SIZE)"
grid = "(ceil(n/BLOCK_SIZE))"
parameters = [
    { type = "int*", name = "y", operand = "y" },
    { type = "const int*", name = "sums", operand = "sums" },
    { type = "int", name = "n", size = "n" },
]
"""
THREE_KERNELS = """__global__ void scanBlocks(const int* x, int* y, int* sums, int n) {
    int first = blockIdx.x * blockDim.x, i = first + threadIdx.x, sum = 0;
    for (int k = first; k <= i && k < n; k++) sum += x[k];
    if (i < n) y[i] = sum;
    if (threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = sum;
}

__global__ void scanSums(int* sums, int count) {
    if (threadIdx.x == 0)
        for (int k = 1; k < count; k++) sums[k] += sums[k - 1];
}

__global__ void addSums(int* y, const int* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && blockIdx.x > 0) y[i] += sums[blockIdx.x - 1];
}
"""
STEPS = """
title = "Sums of all pairs at growing distances"
operation = "solution"
kernel = "step"
sizes = ["n"]
metric = "time"
largest_on_cpu = 300
parameters = [
    { type = "const int*", name = "from", operand = "x" },
    { type = "int*", name = "to", operand = "a" },
    { type = "int", name = "distance", value = 1 },
    { type = "int", name = "n", size = "n" },
]
operands = [
    { name = "x", role = "input", type = "int", rows = "n", values = { kind = "integers" } },
    { name = "a", role = "scratch", type = "int", rows = "n" },
    { name = "y", role = "output", type = "int", rows = "n" },
]
tile = { name = "BLOCK_SIZE", default = 32, allowed = [32], largest = 1024 }
launch = { block = "(BLOCK_SIZE)", grid = "(ceil(n/BLOCK_SIZE))" }
ranking = { n = 700 }
cases = [{ sizes = { n = 100 } }]

[[then]]
kernel = "step"
block = "(BLOCK_SIZE)"
grid = "(ceil(n/BLOCK_SIZE))"
parameters = [
    { type = "const int*", name = "from", operand = "a" },
    { type = "int*", name = "to", operand = "y" },
    { type = "int", name = "distance", value = 2 },
    { type = "int", name = "n", size = "n" },
]

[[then]]
kernel = "step"
block = "(BLOCK_SIZE)"
grid = "(ceil(n/BLOCK_SIZE))"
parameters = [
    { type = "const int*", name = "from", operand = "y" },
    { type = "int*", name = "to", operand = "a" },
    { type = "int", name = "distance", value = 4 },
    { type = "int", name = "n", size = "n" },
]

[[then]]
kernel = "step"
block = "(BLOCK_SIZE)"
grid = "(ceil(n/BLOCK_SIZE))"
parameters = [
    { type = "const int*", name = "from", operand = "a" },
    { type = "int*", name = "to", operand = "y" },
    { type = "int", name = "distance", value = 8 },
    { type = "int", name = "n", size = "n" },
]
"""
REPEATED = """__global__ void step(const int* from, int* to, int distance, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i] + (i >= distance ? from[i - distance] : 0);
}
"""
EXERCISES = {"sum": (SUM, TWO_PASSES), "scan": (SCAN, THREE_KERNELS), "steps": (STEPS, REPEATED)}


def exercise_of(tmp_path, name):
    return made(tmp_path, *EXERCISES[name])


def changed(name, *changes):
    text = EXERCISES[name][1]
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def on_gpu(exercise, text, cases=("none",)):
    request = request_for(text, exercise, {"n": 700}, cases=cases)
    return measured(request, Scripted([1.0]), real_judge=True)


def first_error(report):
    return next(finding for finding in report.findings if finding.severity is Severity.ERROR)


@pytest.mark.parametrize("name", EXERCISES)
def test_correct_kernels_are_accepted(tmp_path, name):
    report = graded(exercise_of(tmp_path, name), changed(name))
    assert report.verdict is Verdict.ACCEPTED, report.message


@linux
@pytest.mark.parametrize("name", EXERCISES)
def test_a_gpu_judges_and_times_all_launches(tmp_path, name):
    response = on_gpu(exercise_of(tmp_path, name), changed(name), cases=())
    assert response.findings == ()
    assert response.measurement is not None
    assert [check.status for check in response.checks] == [CaseStatus.PASSED] * len(response.checks)


SECOND_LOOP = "for (int i = t; i < count; i += blockDim.x) own += partial[i];"


@pytest.mark.parametrize(
    ("name", "old", "new", "verdict", "launch"),
    [
        ("sum", "i < count; i", "i <= count; i", Verdict.OUT_OF_BOUNDS, 2),
        ("sum", "if (t == 0) partial", "if (t == 0 && blockIdx.x != 1) partial", Verdict.UNINITIALIZED_READ, 2),
        ("sum", "own += partial[i];", "own += partial[i];\n    while (count > 1) own |= t;", Verdict.TIME_LIMIT, 2),
        ("sum", "*sum = sums[0]", "sum[count] = sums[0]", Verdict.OUT_OF_BOUNDS, 2),
        ("sum", SECOND_LOOP, "own = partial[t % count]; *sum = t;", Verdict.DATA_RACE, 2),
        ("sum", "if (t < s) sums[t] += sums[t + s];\n    }\n    if (t == 0) partial", "", None, 0),
        ("scan", "k < count", "k <= count", Verdict.OUT_OF_BOUNDS, 2),
        ("scan", "if (threadIdx.x == 0)\n", "if (threadIdx.x < 64)\n", Verdict.DATA_RACE, 2),
        ("scan", "y[i] += sums[blockIdx.x - 1]", "y[i + 1] += sums[blockIdx.x - 1]", Verdict.DATA_RACE, 3),
        ("scan", "if (threadIdx.x == blockDim.x - 1) ", "if (threadIdx.x == 0 && i > 0) ", Verdict.UNINITIALIZED_READ, 2),
        ("scan", "sums[blockIdx.x - 1];", "sums[blockIdx.x];", Verdict.WRONG_ANSWER, 0),
        ("steps", "i >= distance ?", "i >= distance || distance == 4 ?", Verdict.OUT_OF_BOUNDS, 3),
        ("steps", "if (i < n)", "if (i < n && (distance != 1 || i != 50))", Verdict.UNINITIALIZED_READ, 2),
        ("steps", "from[i - distance]", "(distance == 8 ? 0 : from[i - distance])", Verdict.WRONG_ANSWER, 0),
    ],
)  # fmt: skip
def test_an_incorrect_launch_is_found_with_its_number(tmp_path, name, old, new, verdict, launch):
    if verdict is None:
        pytest.skip("x")
    report = graded(exercise_of(tmp_path, name), changed(name, (old, new)))
    finding = first_error(report)
    assert (report.verdict, finding.kind) == (verdict, verdict), report.message
    assert finding.example.launch == launch
    print(report.message, finding.line)
