"""Files that declare their tile in many forms are launched with the tile that a C++ compiler computes."""

from __future__ import annotations

import tomllib
from operator import itemgetter
from pathlib import Path

import pytest

from kernels.exercise import find_exercise
from kernels.report import Report
from kernels.verdict import Verdict
from tests.marks import linux, some_of
from worker.steps.grading import Job, grade

TABLES = tomllib.loads((Path(__file__).parent / "tiles.toml").read_text(encoding="utf-8"))
PARAMETERS = "(float* M, float* N, float* P, int Width)"
BODY = """{
    __shared__ float Mds[@T][@T], Nds[@T][@T];
    int tx = threadIdx.x, ty = threadIdx.y, Row = blockIdx.y * @T + ty, Col = blockIdx.x * @T + tx;
    float Pvalue = 0;
    for (int ph = 0; ph * (@T) < Width; ++ph) {
        Mds[ty][tx] = Row < Width && ph * @T + tx < Width ? M[Row * Width + ph * @T + tx] : 0;
        Nds[ty][tx] = Col < Width && ph * @T + ty < Width ? N[(ph * @T + ty) * Width + Col] : 0;
        __syncthreads();
        for (int k = 0; k < @T; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
}
"""


def kernel(before: str, name: str, tile: int | None) -> str:
    """A tiled kernel; the compiler refuses it where `name` has another value than `tile`."""
    own = "" if tile is None else f'static_assert({name} == {tile}, "");'
    return f"{before}\n{own}\n__global__ void MatrixMulKernel{PARAMETERS} {BODY}".replace("@T", name)


def template(head: str, call: str, tile: int | None) -> str:
    """The same with its body in a device template, which the kernel calls."""
    body = BODY.replace("@T", "TILE_WIDTH")
    if tile is not None:
        body = body.replace("{", f'{{ static_assert(TILE_WIDTH == {tile}, "");', 1)
    return f"{head} __device__ void body{PARAMETERS} {body}\n__global__ void MatrixMulKernel{PARAMETERS} {{ {call} }}\n"


def known() -> list[tuple[str, str, int]]:
    """Where the tile follows from the file: name of the test, text and tile."""
    files = [(key, kernel(before, "(TILE_WIDTH)", tile), tile) for key, (before, tile) in TABLES["declared"].items()]
    files += [(f"template: {key}", template(*entry), entry[2]) for key, entry in TABLES["templates"].items()]
    files += [(f"named: {key}", kernel(*entry), entry[2]) for key, entry in TABLES["named"].items()]
    return files


def graded(text: str, cache: Path, kept) -> Report:
    return grade(Job(text.encode(), find_exercise("tiled"), "sm_90", "5eed" * 8, cache, case="Width=29"), kept.stages())


def test_the_table_is_large():
    assert len(TABLES["declared"]) >= 110


@linux
@pytest.mark.parametrize("file", some_of(known(), 10, itemgetter(0), "the short suite has a tenth of the table"))
def test_a_kernel_is_launched_with_the_tile_of_its_file(file, cache, kept):
    _, text, tile = file
    report = graded(text, cache, kept)

    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.launch is not None
    assert (report.tile, report.launch.block) == (tile, (tile, tile, 1))


@linux
@pytest.mark.parametrize(
    "entry", some_of(TABLES["asked"].items(), 10, itemgetter(0), "the short suite has a tenth of the table")
)
def test_a_file_whose_tile_cannot_be_known_is_refused(entry, cache, kept):
    before, name = entry[1]
    text = template(before, name, None) if "template" in before else kernel(before, name, None)
    report = graded(text, cache, kept)

    assert report.verdict is Verdict.REJECTED, report.message
    assert "//!tilelab" in report.message
