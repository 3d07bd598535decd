"""Exercises of every shape, by the true way: source rules, compiler, CPU device, report."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from kernels.compile import Compilation, compile_source
from kernels.exercise import Exercise, find_exercise, load_exercise
from kernels.report import Report
from kernels.report_text import render
from kernels.text_style import Style
from kernels.verdict import CaseStatus, Finding, Verdict
from worker.analysis_step import AnalysisRequest, AnalysisResponse
from worker.grading import Job, grade
from worker.sandbox.compiling import CompileRequest
from worker.sandbox.disassembling import Disassembly
from worker.stages import SandboxedStages
from worker.steps import CheckRequest, CheckResponse, check

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no compiler elsewhere")


class Here:
    """Both stages in this process; counts compilations."""

    def __init__(self) -> None:
        self.compilations: list[dict[str, str]] = []

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        self.compilations.append(dict(request.defines))
        return compile_source(**asdict(request))

    def check(self, request: CheckRequest) -> CheckResponse:
        return check(request)

    def start_disassembly(self, cubin: bytes) -> None:
        pass

    def disassembly(self) -> Disassembly:
        return Disassembly(None, "not here")

    def prepare_analysis(self, compilations: int = 0) -> None:
        pass

    def analyse(self, request: AnalysisRequest) -> AnalysisResponse:
        raise NotImplementedError

    def isolation(self) -> tuple[str, ...]:
        return ()


def made(tmp_path: Path, definition: str) -> Exercise:
    folder = tmp_path / "mine"
    folder.mkdir(exist_ok=True)
    for file in ("handout.md", "starter.cu", "solution.cu"):
        (folder / file).write_text("# x\n")
    (folder / "exercise.toml").write_text(definition)
    return load_exercise(folder)


def graded(exercise: Exercise, text: str, stages: Here | None = None, case: str | None = None) -> Report:
    job = Job(text.encode(), exercise, "sm_90", "5eed", Path("/nonexistent"), case=case)
    return grade(job, stages or Here())


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
    assert finding.message.startswith("C[0][0] is ")
    assert "only the first tile is added up" in finding.message
    assert finding.count == 2 * 8 * 24
    assert [check.status for check in report.checks[:4]] == [CaseStatus.PASSED] * 2 + [CaseStatus.FAILED] * 2


def test_races_of_all_compilations_are_counted_together(blocked):
    race = GLOBALS + RECTANGLES.replace(
        "float sum = 0;", "__shared__ float s; s = x; float sum = 0;"
    ).replace("= sum;", "= sum + 0 * s;")
    alone = [graded(blocked, race, case=case).findings[0].count for case in ("A_WIDTH=8", "A_WIDTH=16")]
    assert graded(blocked, race).findings[0].count == sum(alone)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("__device__ float d_B[A_WIDTH][B_WIDTH];", "", None,
         "The file declares no `d_B`. It must hold `__device__ float d_B[A_WIDTH][B_WIDTH];`"),
        ("float d_B[A_WIDTH][B_WIDTH]", "float d_B[A_WIDTH][B_WIDTH + 1]", 2,
         "`d_B` is 8 x 9, but A_HEIGHT=8, A_WIDTH=8, B_WIDTH=8 needs 8 x 8 floats (256 bytes)."),
        ("float d_C[A_HEIGHT][B_WIDTH]", "float d_C[B_WIDTH][A_HEIGHT]", 3,
         "`d_C` is 24 x 8, but A_HEIGHT=8, A_WIDTH=16, B_WIDTH=24 needs 8 x 24."),
        ("float d_C", "double d_C", 3, "`d_C` holds `double` here. It must be `__device__ float"),
        ("float d_C", "int d_C", 3, "`d_C` holds `int` here."),
        ("__device__ float d_A", "__constant__ float d_A", 1, "`d_A` is no `__device__` variable"),
    ],
)  # fmt: skip
def test_a_global_that_does_not_fit_is_refused_with_what_it_should_be(blocked, old, new, line, message):
    assert old in GLOBALS
    report = graded(blocked, GLOBALS.replace(old, new) + RECTANGLES)
    assert report.verdict is Verdict.REJECTED
    assert message in report.message
    assert report.findings[0].line == line
    assert {check.status for check in report.checks} == {CaseStatus.NOT_RUN}


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
        job = Job((GLOBALS + RECTANGLES).encode(), blocked, "sm_90", "5eed", Path("/nonexistent"))
        report = grade(job, stages)
    assert report.verdict is Verdict.ACCEPTED


def test_a_constant_of_the_file_is_set_before_each_launch(tmp_path):
    definition = BLOCKED + '[[constants]]\nsymbol = "d_SIZE"\nvalue = "BLOCK_SIZE"\n'
    exercise = made(tmp_path, definition)
    text = GLOBALS + "__constant__ int d_SIZE;\n" + RECTANGLES.replace("blockDim.x", "d_SIZE")
    assert graded(exercise, text).verdict is Verdict.ACCEPTED
    missing = graded(exercise, GLOBALS + RECTANGLES)
    assert "must hold `__constant__ int d_SIZE;`" in missing.message
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
    assert report.message == "Right in 3 of 3 cases, to the last bit."


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "output[blockIdx.x] = part[0]",
            "output[blockIdx.x] = input[start]",
            "just the first element of its",
        ),
        ("stride = blockDim.x", "stride = blockDim.x / 2", "that of the first half of its section"),
        ("stride > 0", "stride > 1", "that of every other element of its section, from the first on"),
        ("= part[0]", "= part[0] + input[start]", "counts the first element of its section twice"),
        ("= part[0]", "= 2 * part[0]", "twice what it should be"),
        ("start + t < Length ?", "start + t < Length && t > 0 ?", "leaves out the first element"),
        ("if (t == 0)", "if (t == 0 && blockIdx.x == 0)", "nobody wrote"),
        ("start + blockDim.x + t < Length", "start + 2 * blockDim.x < Length", "are just the last one"),
    ],
)
def test_wrong_sums_are_explained(sums, old, new, message):
    assert old in REDUCE
    report = graded(sums, REDUCE.replace(old, new))
    assert report.verdict is Verdict.WRONG_ANSWER
    assert report.message.startswith("output[")
    assert "][" not in report.message
    assert message in report.message
    assert "which thread writes the sum?" in render(report, REDUCE, "my.cu", Style())


def test_an_element_of_a_vector_has_one_index(sums):
    report = graded(sums, REDUCE.replace("start + t < Length ?", "start + t <= Length ?"))
    assert report.verdict is Verdict.OUT_OF_BOUNDS
    example = report.findings[0].example
    assert example is not None
    assert example.element == "input[1]"
    written = graded(sums, REDUCE.replace("int t =", "input[0] = 3; int t ="))
    assert any(finding.message.startswith("input[0] was ") for finding in written.findings)


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


@pytest.mark.parametrize(
    ("rows", "threads"), [("", 32), ("#define ROWS 4\n", 16), ("#ifndef ROWS\n#define ROWS 8\n#endif\n", 32)]
)
def test_a_transpose_with_a_macro_that_the_launch_depends_on(turned, rows, threads):
    report = graded(turned, rows + TURN)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.launch is not None
    assert report.launch.threads == threads


def test_a_launch_comment_may_name_a_macro_that_the_file_is_given(turned):
    report = graded(turned, "//!tilelab block=(TILE_WIDTH, TILE_WIDTH/ROWS, 1)\n" + TURN)
    assert report.verdict is Verdict.ACCEPTED, report.message


@pytest.mark.parametrize("value", ["0", "9", "(int)(2.0)"])
def test_a_macro_that_no_launch_can_be_built_with_is_refused(turned, value):
    report = graded(turned, f"\n#define ROWS {value}\n" + TURN)
    assert report.verdict is Verdict.REJECTED
    assert report.findings[0].line == 2
    assert "the launch needs one from 1 to 8" in report.message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("to[(col + i) * Height + row + tx] = tile[tx][i]", "to[(row + i) * Width + col + tx] = tile[i][tx]",
         "Nothing is transposed: to is a plain copy of from."),
        ("to[(col + i) * Height + row + tx] = tile[tx][i]", "to[(col + i) * Height + row + tx] = tile[i][tx]",
         "none is transposed within itself"),
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
    assert report.message == "Ran without a fault in 1 of 1 case; results are not compared here."
    outside = graded(exercise, LOOK.replace("b[4 * i]", "b[5 * i]"))
    assert outside.verdict is Verdict.OUT_OF_BOUNDS


def test_the_ordinary_exercise_is_compiled_once():
    stages = Here()
    tiled = find_exercise("tiled")
    assert graded(tiled, tiled.solution.read_text("utf-8"), stages).verdict is Verdict.ACCEPTED
    assert len(stages.compilations) == 1
