"""The tile of a file, by the whole way of `tilelab grade`: launched with what the file declares, or asked for."""

from __future__ import annotations

import re
import tomllib
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from kernels.exercise import find_exercise
from kernels.report import Report
from kernels.verdict import Verdict
from tests.marks import linux, some_of
from worker.steps.grading import Job, grade

FILES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "tiles.toml").read_text(encoding="utf-8"))["file"]
SIGNATURE = "(float* M, float* N, float* P, int Width)"
BODY = """
    __shared__ float Mds[@E][@E], Nds[@E][@E];
    int tx = threadIdx.x, ty = threadIdx.y, Row = blockIdx.y * @W + ty, Col = blockIdx.x * @W + tx;
    float Pvalue = 0;
    for (int ph = 0; ph < (Width + @W - 1) / @W; ++ph) {
        Mds[ty][tx] = Row < Width && ph * @W + tx < Width ? M[Row * Width + ph * @W + tx] : 0;
        Nds[ty][tx] = Col < Width && ph * @W + ty < Width ? N[(ph * @W + ty) * Width + Col] : 0;
        __syncthreads();
        for (int k = 0; k < @W; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
"""


def text_of(file: dict[str, Any]) -> str:
    if "text" in file:
        return str(file["text"])
    width = file.get("width", "TILE_WIDTH")
    inside = file.get("inside", "")
    body = BODY.replace("@E", file.get("extent", width)).replace("@W", width)
    before = f"{file['before']}\n" if "before" in file else ""
    if "body" in file:
        before = f"{before}{file['body']} __device__ void body{SIGNATURE} {{{body}}}\n"
        body = ""
    return f"{before}__global__ void MatrixMulKernel{SIGNATURE} {{\n{inside}\n{body}}}\n"


def graded(text: str, cache: Path, kept) -> Report:
    job = Job(text.encode(), find_exercise("tiled"), "sm_90", "5eed" * 8, cache, case="Width=29")
    return grade(job, kept.stages())


@pytest.mark.one_in(3, "a third of those here")
@linux
@pytest.mark.parametrize("file", some_of(FILES, 6, itemgetter("name"), "the short suite has a sixth of the files"))
def test_a_kernel_is_launched_with_the_tile_that_its_file_declares(file, tmp_path, kept):
    report = graded(text_of(file), tmp_path, kept)

    if "tile" in file:
        tile = file["tile"]
        assert report.verdict is Verdict.ACCEPTED, report.message
        assert report.launch is not None
        assert (report.tile, report.launch.block) == (tile, (tile, tile, 1))
        assert file.get("note", "") in report.launch_note
        assert bool(report.launch_note) == ("note" in file)
    else:
        assert report.verdict is Verdict(file.get("verdict", "rejected")), report.message
        assert report.findings[0].line == file["line"]
        assert all(words in report.message for words in file["words"]), report.message
        assert report.launch is None
        if "offers" in file:
            assert re.findall("`(//!tilelab [^`]*)`", report.message) == file["offers"]


@linux
@pytest.mark.parametrize("file", [file for file in FILES if "offers" in file], ids=lambda file: file["name"])
def test_a_kernel_is_accepted_with_each_launch_comment_that_its_refusal_offers(file, tmp_path, kept):
    for line in file["offers"]:
        report = graded(f"{line}\n{text_of(file)}", tmp_path, kept)

        assert report.verdict is Verdict.ACCEPTED, report.message


@linux
@pytest.mark.parametrize(("tile", "told"), [(8, False), (16, True)])
def test_a_tile_that_is_asked_for_in_vain_is_reported(tile, told, tmp_path, kept):
    text = text_of({"before": "#define TILE_WIDTH 8"})
    exercise = find_exercise("tiled")
    job = Job(text.encode(), exercise, "sm_90", "5eed" * 8, tmp_path, case="Width=29", tile=tile)

    assert ("`--tile 16`" in grade(job, kept.stages()).launch_note) == told


GUARDED = "#ifndef TILE_WIDTH\n#define TILE_WIDTH {}\n#endif"


@linux
@pytest.mark.parametrize(
    ("own", "asked", "tile", "told"), [(32, None, 32, False), (16, 8, 8, False), (32, 8, 8, True), (8, 8, 8, False)]
)
def test_a_guarded_tile_counts_unless_another_is_set(own, asked, tile, told, tmp_path, kept):
    text = text_of({"before": GUARDED.format(own)})
    exercise = find_exercise("tiled")
    job = Job(text.encode(), exercise, "sm_90", "5eed" * 8, tmp_path, case="Width=29", tile=asked)
    report = grade(job, kept.stages())

    assert report.launch is not None
    assert (report.verdict, report.tile, report.launch.block) == (Verdict.ACCEPTED, tile, (tile, tile, 1))
    assert (f"not your {own} (line 2)" in report.launch_note) == told


@linux
def test_a_guarded_tile_that_cannot_be_launched_is_a_resource_limit(tmp_path, kept):
    report = graded(text_of({"before": GUARDED.format(64)}), tmp_path, kept)

    assert report.verdict is Verdict.RESOURCE_LIMIT


# A tile with fewer threads than cells: each thread has every ROWS-th row of it.
STRIDED = """
#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif
#if TILE_WIDTH > 8
#define ROWS 4
#else
#define ROWS 2
#endif
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    for (int row = threadIdx.y; row < TILE_WIDTH; row += ROWS) {
        int Row = blockIdx.y * TILE_WIDTH + row, Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
        if (Row >= Width || Col >= Width) continue;
        float Pvalue = 0;
        for (int k = 0; k < Width; ++k) Pvalue += M[Row * Width + k] * N[k * Width + Col];
        P[Row * Width + Col] = Pvalue;
    }
}
"""


@pytest.mark.one_in(2, "one of two ways")
@linux
@pytest.mark.parametrize(("tile", "rows"), [(8, 2), (None, 4)])
def test_a_launch_follows_a_constant_that_depends_on_the_tile(tile, rows, tmp_path, kept):
    comment = "//!tilelab block=(TILE_WIDTH, ROWS) grid=(ceil(Width/TILE_WIDTH), ceil(Width/TILE_WIDTH))\n"
    job = Job((comment + STRIDED).encode(), find_exercise("naive"), "sm_90", "5eed" * 8, tmp_path, tile=tile)
    report = grade(job, kept.stages())

    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.launch is not None
    assert report.launch.block == (tile or 16, rows, 1)


BLOCKED = """
constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
#define GRID_X ceil_div(B_WIDTH, BLOCK_SIZE)
#define GRID_Y ceil_div(A_HEIGHT, BLOCK_SIZE)
//!tilelab block=(BLOCK_SIZE, BLOCK_SIZE) grid=(GRID_X, GRID_Y)
"""


@pytest.mark.one_in(2, "one of two ways")
@linux
@pytest.mark.parametrize(("own", "tile"), [("", 16), ("#define BLOCK_SIZE sizeof(double)\n", 8)])
def test_a_launch_follows_constants_that_depend_on_the_sizes_of_a_case(own, tile, tmp_path, kept):
    exercise = find_exercise("lab6-blocked")
    text = own + exercise.solution.read_text(encoding="utf-8") + BLOCKED
    job = Job(text.encode(), exercise, "sm_90", "5eed" * 8, tmp_path)
    report = grade(job, kept.stages())

    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.tile == tile


STEPS = """
#define STEP sizeof(double)
//!tilelab block=(16, 16)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    if (threadIdx.x >= STEP || threadIdx.y >= STEP) return;
    int Row = blockIdx.y * STEP + threadIdx.y, Col = blockIdx.x * STEP + threadIdx.x;
    if (Row >= Width || Col >= Width) return;
    float Pvalue = 0;
    for (int k = 0; k < Width; ++k) Pvalue += M[Row * Width + k] * N[k * Width + Col];
    P[Row * Width + Col] = Pvalue;
}
"""


@linux
def test_the_grid_of_a_block_follows_steps_that_only_the_compiler_can_evaluate(tmp_path, kept):
    job = Job(STEPS.encode(), find_exercise("naive"), "sm_90", "5eed" * 8, tmp_path)

    assert grade(job, kept.stages()).verdict is Verdict.ACCEPTED
