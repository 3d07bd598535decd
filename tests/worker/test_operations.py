"""Sums, transposes and analyses, by the true way: source rules, compiler, CPU device, report."""

from __future__ import annotations

import pytest

from kernels.rendering.report import render
from kernels.rendering.text_style import Style
from kernels.verdict import CaseStatus, Verdict
from tests.marks import linux
from tests.worker.in_process import graded, made

pytestmark = linux

SUMS = """
title = "Partial sums"
operation = "sum"
kernel = "reduce"
sizes = ["Length"]
metric = "gbps"
largest_on_cpu = 5000
section = "2*BLOCK_SIZE"
parameters = [
    { type = "float*", name = "input", operand = "input" },
    { type = "float*", name = "output", operand = "output" },
    { type = "int", name = "Length", size = "Length" },
]
operands = [
    { name = "input", role = "input", rows = "Length" },
    { name = "output", role = "output", rows = "ceil(Length/(2*BLOCK_SIZE))" },
]
[tile]
name = "BLOCK_SIZE"
default = 64
allowed = [32, 64]
largest = 512
[launch]
block = "BLOCK_SIZE"
grid = "ceil(Length/(2*BLOCK_SIZE))"
[ranking]
Length = 1048576
[[cases]]
sizes = { Length = 1 }
inputs = ["integers"]
[[cases]]
sizes = { Length = "6*BLOCK_SIZE" }
inputs = ["integers"]
[[cases]]
sizes = { Length = "5*BLOCK_SIZE + 3" }
inputs = ["integers"]
"""
REDUCE = """__global__ void reduce(float* input, float* output, int Length) {
    __shared__ float part[2 * BLOCK_SIZE];
    int t = threadIdx.x, start = 2 * blockIdx.x * blockDim.x;
    part[t] = start + t < Length ? input[start + t] : 0.0f;
    part[blockDim.x + t] = start + blockDim.x + t < Length ? input[start + blockDim.x + t] : 0.0f;
    for (int stride = blockDim.x; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) part[t] += part[t + stride];
    }
    if (t == 0) output[blockIdx.x] = part[0];
}
"""


@pytest.fixture
def sums(tmp_path):
    return made(tmp_path, SUMS)


@pytest.mark.parametrize("tile", ["", "#define BLOCK_SIZE 128\n"])
def test_partial_sums_are_right_to_the_last_bit(sums, tile):
    report = graded(sums, tile + REDUCE)
    assert report.verdict is Verdict.ACCEPTED, report.message
    ran = [check.status for check in report.checks if check.status is not CaseStatus.NOT_RUN]
    assert ran == [CaseStatus.PASSED] * 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("output[blockIdx.x] = part[0]", "output[blockIdx.x] = input[start]", "only the first element of its"),
        ("stride = blockDim.x", "stride = blockDim.x / 2", "equals the sum of the first half of its section"),
        ("stride > 0", "stride > 1", "adds up every second element of its section, from the first"),
        ("= part[0]", "= part[0] + input[start]", "counts the first element of its section twice"),
        ("= part[0]", "= 2 * part[0]", "twice the expected sum"),
        ("start + t < Length ?", "start + t < Length && t > 0 ?", "leaves out the first element"),
        ("if (t == 0)", "if (t == 0 && blockIdx.x == 0)", "leaves elements of output unwritten"),
        ("start + blockDim.x + t < Length", "start + 2 * blockDim.x < Length", "Incorrect elements: only the last"),
    ],
)
def test_wrong_sums_are_explained(sums, old, new, message):
    assert old in REDUCE
    report = graded(sums, REDUCE.replace(old, new))
    assert report.verdict is Verdict.WRONG_ANSWER
    assert report.message.startswith("`output[")
    assert "][" not in report.message
    assert message in report.message
    asks = "Which thread writes the sum?" in render(report, "", "my.cu", Style())
    assert asks is not any(words in message for words in ("unwritten", "every second"))


def test_an_element_of_a_vector_has_one_index(sums):
    report = graded(sums, REDUCE.replace("start + t < Length ?", "start + t <= Length ?"))
    assert report.verdict is Verdict.OUT_OF_BOUNDS
    example = report.findings[0].example
    assert example is not None
    assert example.element == "input[1]"
    written = graded(sums, REDUCE.replace("int t =", "input[0] = 3; int t ="))
    assert any(finding.message.startswith("`input[0]` changed ") for finding in written.findings)


TRANSPOSE = """
title = "Transpose"
operation = "transpose"
kernel = "transpose"
sizes = ["Height", "Width"]
metric = "gbps"
largest_on_cpu = 100
parameters = [
    { type = "float*", name = "from", operand = "from" },
    { type = "float*", name = "to", operand = "to" },
    { type = "int", name = "Height", size = "Height" },
    { type = "int", name = "Width", size = "Width" },
]
operands = [
    { name = "from", role = "input", rows = "Height", cols = "Width" },
    { name = "to", role = "output", rows = "Width", cols = "Height" },
]
[tile]
default = 8
allowed = [8, 16]
largest = 32
[macros]
ROWS = { default = 2, largest = 8 }
[launch]
block = "(TILE_WIDTH, TILE_WIDTH/ROWS)"
grid = "(Width/TILE_WIDTH, Height/TILE_WIDTH)"
[ranking]
Height = 4096
Width = 4096
[[cases]]
sizes = { Height = "2*TILE_WIDTH", Width = "3*TILE_WIDTH" }
inputs = ["mantissas"]
"""
TURN = """__global__ void transpose(float* from, float* to, int Height, int Width) {
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];
    int tx = threadIdx.x, row = blockIdx.y * TILE_WIDTH, col = blockIdx.x * TILE_WIDTH;
    for (int i = threadIdx.y; i < TILE_WIDTH; i += TILE_WIDTH / ROWS)
        tile[i][tx] = from[(row + i) * Width + col + tx];
    __syncthreads();
    for (int i = threadIdx.y; i < TILE_WIDTH; i += TILE_WIDTH / ROWS)
        to[(col + i) * Height + row + tx] = tile[tx][i];
}
"""


@pytest.fixture
def turned(tmp_path):
    return made(tmp_path, TRANSPOSE)


@pytest.mark.one_in(3, "one of three")
@pytest.mark.parametrize(
    ("rows", "threads"), [("", 32), ("#define ROWS 4\n", 16), ("#ifndef ROWS\n#define ROWS 8\n#endif\n", 8)]
)
def test_a_transpose_with_a_macro_that_the_launch_depends_on(turned, rows, threads):
    report = graded(turned, rows + TURN)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.launch is not None
    assert report.launch.threads == threads


def test_a_launch_comment_may_name_a_macro_that_the_file_is_given(turned):
    report = graded(turned, "//!tilelab block=(TILE_WIDTH, TILE_WIDTH/ROWS, 1)\n" + TURN)
    assert report.verdict is Verdict.ACCEPTED, report.message


@pytest.mark.parametrize("value", ["0", "9", "(int)(9.0)"])
def test_a_macro_that_no_launch_can_be_built_with_is_refused(turned, value):
    report = graded(turned, f"\n#define ROWS {value}\n" + TURN)
    assert report.verdict is Verdict.REJECTED
    assert report.findings[0].line == 2
    assert "The launch needs a number from 1 to 8" in report.message


@pytest.mark.one_in(2, "every second mistake")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("to[(col + i) * Height + row + tx] = tile[tx][i]", "to[(row + i) * Width + col + tx] = tile[i][tx]",
         "Nothing is transposed: to is a plain copy of from."),
        ("to[(col + i) * Height + row + tx] = tile[tx][i]", "to[(col + i) * Height + row + tx] = tile[i][tx]",
         "no tile is transposed"),
        ("= tile[tx][i]", "= rintf(tile[tx][i] / 2048) * 2048", "of 384 elements"),
    ],
)  # fmt: skip
def test_a_wrong_transpose_is_explained(turned, old, new, message):
    assert old in TURN
    report = graded(turned, TURN.replace(old, new))
    assert report.verdict is Verdict.WRONG_ANSWER
    assert message in report.message


ANALYSIS = """
title = "Which accesses coalesce"
operation = "analysis"
kernel = "look"
sizes = ["Length"]
metric = "time"
largest_on_cpu = 1000
parameters = [
    { type = "float*", name = "a", operand = "a" },
    { type = "float*", name = "b", operand = "b" },
    { type = "float*", name = "c", operand = "c" },
]
operands = [
    { name = "a", role = "input", rows = "Length" },
    { name = "b", role = "input", rows = 4, cols = "Length" },
    { name = "c", role = "output", rows = "Length" },
]
[tile]
default = 32
allowed = [32]
largest = 32
[launch]
block = "TILE_WIDTH"
grid = "Length/TILE_WIDTH"
[ranking]
Length = 4096
[analysis]
Length = 64
[[cases]]
sizes = { Length = 64 }
inputs = ["integers"]
"""
LOOK = """__global__ void look(float* a, float* b, float* c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 2) c[i] = a[i] + b[4 * i];
}
"""


def test_an_analysis_asks_only_that_a_kernel_runs_clean(tmp_path):
    exercise = made(tmp_path, ANALYSIS)
    report = graded(exercise, LOOK)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.message == "Ran without a fault in 1 of 1 case. This exercise compares no results."
    outside = graded(exercise, LOOK.replace("b[4 * i]", "b[5 * i]"))
    assert outside.verdict is Verdict.OUT_OF_BOUNDS
