"""Matrices and constants in module variables, sizes in macros: filled, checked, compiled once for each set of sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.exercise import ExerciseError, find_exercise
from kernels.verdict import CaseStatus, Verdict
from tests.marks import linux
from tests.worker.in_process import Here, graded, made
from worker.steps.grading import Job, grade
from worker.steps.stages import SandboxedStages

pytestmark = linux

BLOCKED = """
title = "Rectangles in module globals"
operation = "matmul"
kernel = "matrixMulCUDA"
sizes = ["A_HEIGHT", "A_WIDTH", "B_WIDTH"]
metric = "gflops"
largest_on_cpu = 128
size_macros = { A_HEIGHT = "A_HEIGHT", A_WIDTH = "A_WIDTH", B_WIDTH = "B_WIDTH" }
operands = [
    { name = "A", role = "input", rows = "A_HEIGHT", cols = "A_WIDTH", binding = "global", symbol = "d_A" },
    { name = "B", role = "input", rows = "A_WIDTH", cols = "B_WIDTH", binding = "global", symbol = "d_B" },
    { name = "C", role = "output", rows = "A_HEIGHT", cols = "B_WIDTH", binding = "global", symbol = "d_C" },
]
[tile]
name = "BLOCK_SIZE"
default = 8
allowed = [8, 16]
largest = 16
[launch]
block = "(BLOCK_SIZE, BLOCK_SIZE)"
grid = "(B_WIDTH/BLOCK_SIZE, A_HEIGHT/BLOCK_SIZE)"
[ranking]
A_HEIGHT = 1024
A_WIDTH = 2048
B_WIDTH = 512
[[cases]]
sizes = { A_HEIGHT = "BLOCK_SIZE", A_WIDTH = "BLOCK_SIZE", B_WIDTH = "BLOCK_SIZE" }
inputs = ["integers_left", "permutation"]
[[cases]]
sizes = { A_HEIGHT = "BLOCK_SIZE", A_WIDTH = "2*BLOCK_SIZE", B_WIDTH = "3*BLOCK_SIZE" }
inputs = ["integers_left", "integers_right"]
"""

GLOBALS = """__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[A_WIDTH][B_WIDTH];
__device__ float d_C[A_HEIGHT][B_WIDTH];
"""
RECTANGLES = """__global__ void matrixMulCUDA() {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < A_WIDTH; ++k) sum += d_A[y][k] * d_B[k][x];
    d_C[y][x] = sum;
}
"""


@pytest.fixture
def blocked(tmp_path):
    return made(tmp_path, BLOCKED)


def test_globals_are_filled_and_each_set_of_macros_is_compiled_once(blocked):
    stages = Here()
    report = graded(blocked, GLOBALS + RECTANGLES, stages)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert [check.status for check in report.checks] == [CaseStatus.PASSED] * 4 + [CaseStatus.NOT_RUN]
    assert [(each["A_WIDTH"], each["B_WIDTH"]) for each in stages.compilations] == [("8", "8"), ("16", "24")]
    assert report.launch is not None
    assert report.launch.grid == (3, 1, 1)


def test_one_case_needs_one_compilation(blocked):
    stages = Here()
    report = graded(blocked, GLOBALS + RECTANGLES, stages, "integers_right")
    assert (report.verdict, len(stages.compilations)) == (Verdict.ACCEPTED, 1)


def test_what_only_the_second_compilation_shows_is_one_finding_over_all_cases(blocked):
    report = graded(blocked, GLOBALS + RECTANGLES.replace("k < A_WIDTH", "k < BLOCK_SIZE"))
    (finding,) = report.findings
    assert report.verdict is Verdict.WRONG_ANSWER
    assert finding.message.startswith("`C[0][0]` is ")
    assert "only the first tile is added up" in finding.message
    assert finding.count == 2 * 8 * 24
    assert [check.status for check in report.checks[:4]] == [CaseStatus.PASSED] * 2 + [CaseStatus.FAILED] * 2


def test_races_of_all_compilations_are_counted_together(blocked):
    race = GLOBALS + RECTANGLES.replace("float sum = 0;", "__shared__ float s; s = x; float sum = 0;").replace(
        "= sum;", "= sum + 0 * s;"
    )
    alone = [graded(blocked, race, case=case).findings[0].count for case in ("A_WIDTH=8", "A_WIDTH=16")]
    assert graded(blocked, race).findings[0].count == sum(alone)


@pytest.mark.one_in(3, "a third of the ways not to fit")
@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("__device__ float d_B[A_WIDTH][B_WIDTH];", "", None,
         "The file doesn't declare `d_B`. Add `__device__ float d_B[A_WIDTH][B_WIDTH];`"),
        ("float d_B[A_WIDTH][B_WIDTH]", "float d_B[A_WIDTH][B_WIDTH + 1]", 2,
         "`d_B` is 8 x 9, but A_HEIGHT=8, A_WIDTH=8, B_WIDTH=8 needs 8 x 8 floats (256 bytes)."),
        ("float d_C[A_HEIGHT][B_WIDTH]", "float d_C[B_WIDTH][A_HEIGHT]", 3,
         "`d_C` is 24 x 8, but A_HEIGHT=8, A_WIDTH=16, B_WIDTH=24 needs 8 x 24."),
        ("float d_C", "double d_C", 3, "`d_C` has the type `double` here. It must be `__device__ float"),
        ("float d_C", "int d_C", 3, "`d_C` has the type `int` here."),
        ("__device__ float d_A", "__constant__ int pad; __constant__ double d_A", 1, "`d_A` has the type `double`"),
    ],
)  # fmt: skip
def test_a_global_that_does_not_fit_is_refused_with_what_it_should_be(blocked, old, new, line, message):
    assert old in GLOBALS
    report = graded(blocked, GLOBALS.replace(old, new) + RECTANGLES)
    assert report.verdict is Verdict.REJECTED
    assert message in report.message
    assert report.findings[0].line == line
    assert {check.status for check in report.checks} == {CaseStatus.NOT_RUN}


MASKED = """
title = "Convolution with its mask in constant memory"
operation = "solution"
kernel = "convolve"
sizes = ["length"]
metric = "gbps"
largest_on_cpu = 500
parameters = [
    { type = "const float*", name = "x", operand = "x" },
    { type = "float*", name = "y", operand = "y" },
    { type = "int", name = "length", size = "length" },
]
operands = [
    { name = "x", role = "input", rows = 1, cols = "length", values = { kind = "integers", low = 1, high = 9 } },
    { name = "F", role = "input", rows = 1, cols = 5, binding = "global", values = { kind = "integers" } },
    { name = "y", role = "output", rows = 1, cols = "length" },
]
[tile]
name = "BLOCK_SIZE"
default = 64
allowed = [64]
largest = 1024
[launch]
block = "(BLOCK_SIZE)"
grid = "(ceil(length/BLOCK_SIZE))"
[ranking]
length = 65536
[analysis]
length = 64
[[cases]]
sizes = { length = 1 }
[[cases]]
sizes = { length = "2*BLOCK_SIZE + 3" }
"""
CONVOLUTION = """__constant__ float F[5];
__global__ void convolve(const float* x, float* y, int length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 5; ++k)
        if (i + k - 2 >= 0 && i + k - 2 < length) sum += F[k] * x[i + k - 2];
    if (i < length) y[i] = sum;
}
"""


@pytest.fixture
def masked(tmp_path):
    return made(tmp_path, MASKED, CONVOLUTION)


@pytest.mark.parametrize("space", ["__constant__", "__device__"])
def test_an_input_may_be_in_constant_memory(masked, space):
    report = graded(masked, CONVOLUTION.replace("__constant__", space))
    assert report.verdict is Verdict.ACCEPTED, report.message


def test_an_input_may_have_to_be_in_constant_memory(tmp_path):
    required = made(tmp_path, MASKED.replace('binding = "global"', 'binding = "constant"'), CONVOLUTION)
    assert graded(required, CONVOLUTION).verdict is Verdict.ACCEPTED
    report = graded(required, CONVOLUTION.replace("__constant__", "__device__"))
    assert (report.verdict, report.findings[0].line) == (Verdict.REJECTED, 1)
    assert "`__constant__ float F[1][5];`" in report.message


def test_an_output_is_not_in_constant_memory(tmp_path):
    constant = BLOCKED.replace('binding = "global", symbol = "d_C"', 'binding = "constant", symbol = "d_C"')
    with pytest.raises(ExerciseError) as caught:
        made(tmp_path, constant)
    assert caught.value.field == "operands[2].binding"


@pytest.mark.one_in(2, "every second mistake")
@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("F[k]", "F[4 - k]", Verdict.WRONG_ANSWER),
        ("F[k]", "F[k + 1]", Verdict.OUT_OF_BOUNDS),
        ("F[5]", "F[6]", Verdict.REJECTED),
        ("float sum = 0;", "float sum = 0; *const_cast<float*>(F + 1) = 1;", Verdict.RUNTIME_ERROR),
    ],
)
def test_a_mistake_with_a_constant_input_is_found(masked, old, new, verdict):
    assert graded(masked, CONVOLUTION.replace(old, new)).verdict is verdict


def test_a_global_may_be_flat(blocked):
    flat = GLOBALS.replace("[A_HEIGHT][B_WIDTH]", "[A_HEIGHT * B_WIDTH]")
    report = graded(blocked, flat + RECTANGLES.replace("d_C[y][x]", "d_C[y * B_WIDTH + x]"))
    assert report.verdict is Verdict.ACCEPTED


def test_a_size_that_only_one_compilation_cannot_have_says_which(blocked):
    text = GLOBALS + RECTANGLES + 'static_assert(A_WIDTH <= 8, "too wide");\n'
    report = graded(blocked, text)
    assert report.verdict is Verdict.COMPILE_ERROR
    example = report.findings[0].example
    assert example is not None
    assert example.case == "A_HEIGHT=8 A_WIDTH=16 B_WIDTH=24 integers_left"


def test_several_compilations_pass_through_the_sandbox(blocked):
    with SandboxedStages() as stages:
        job = Job((GLOBALS + RECTANGLES).encode(), blocked, "sm_90", "5eed", Path("/dev/null/cache"))
        report = grade(job, stages)
    assert report.verdict is Verdict.ACCEPTED


def test_a_constant_of_the_file_is_set_before_each_launch(tmp_path):
    definition = BLOCKED + '[[constants]]\nsymbol = "d_SIZE"\nvalue = "BLOCK_SIZE"\n'
    exercise = made(tmp_path, definition)
    text = GLOBALS + "__constant__ int d_SIZE;\n" + RECTANGLES.replace("blockDim.x", "d_SIZE")
    assert graded(exercise, text).verdict is Verdict.ACCEPTED
    missing = graded(exercise, GLOBALS + RECTANGLES)
    assert "Add `__constant__ int d_SIZE;`" in missing.message
    assert (missing.verdict, missing.findings[0].line) == (Verdict.REJECTED, None)
    wide = graded(exercise, text.replace("int d_SIZE", "long d_SIZE"))
    assert (wide.verdict, wide.findings[0].line) == (Verdict.REJECTED, 4)
    array = graded(exercise, text.replace("d_SIZE;", "d_SIZE[2];").replace("d_SIZE +", "d_SIZE[0] +"))
    assert "`d_SIZE` has 8 bytes" in array.message


def test_a_device_variable_that_the_exercise_sets_is_set_again_after_the_kernel_changed_it(tmp_path):
    exercise = made(tmp_path, BLOCKED + '[[constants]]\nsymbol = "d_SIZE"\nvalue = "BLOCK_SIZE"\n')
    text = GLOBALS + "__device__ int d_SIZE;\n" + RECTANGLES.replace("blockDim.x", "d_SIZE")
    text = text.replace("d_C[y][x] = sum;", "d_C[y][x] = sum;\n    d_SIZE = d_SIZE;")
    assert graded(exercise, text).verdict is Verdict.ACCEPTED


def test_dynamic_shared_memory_of_a_block_size_that_only_constant_memory_knows(tmp_path):
    definition = BLOCKED.replace("[launch]", '[launch]\nshared = "2*BLOCK_SIZE*BLOCK_SIZE*4"')
    exercise = made(tmp_path, definition + '[[constants]]\nsymbol = "d_SIZE"\nvalue = "BLOCK_SIZE"\n')
    text = (
        GLOBALS
        + """__constant__ int d_SIZE;
extern __shared__ float tiles[];
__global__ void matrixMulCUDA() {
    int n = d_SIZE, tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * n + tx, y = blockIdx.y * n + ty;
    float *a = tiles, *b = tiles + n * n, sum = 0;
    for (int i = 0; i < A_WIDTH / n; ++i) {
        a[ty * n + tx] = d_A[y][i * n + tx];
        b[ty * n + tx] = d_B[i * n + ty][x];
        __syncthreads();
        for (int k = 0; k < n; ++k) sum += a[ty * n + k] * b[k * n + tx];
        __syncthreads();
    }
    d_C[y][x] = sum;
}
"""
    )
    report = graded(exercise, text)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.launch is not None
    assert report.launch.shared == 512


def test_the_ordinary_exercise_is_compiled_once():
    stages = Here()
    tiled = find_exercise("tiled")
    assert graded(tiled, tiled.solution.read_text("utf-8"), stages).verdict is Verdict.ACCEPTED
    assert len(stages.compilations) == 1


def test_a_constant_that_nothing_fills_is_named(tmp_path):
    exercise = find_exercise("convolution")
    text = exercise.solution.read_text("utf-8").replace("mask[3 * i + j]", "F[i][j]")
    report = graded(exercise, f"__constant__ float F[3][3];\n{text}", case="height=1 width=1")
    assert report.verdict is Verdict.WRONG_ANSWER
    assert "`F` (line 1)" in report.message
    assert "`mask`" in report.message
