"""The slides on memory and data locality (document 002): ratio and roof, phases, boundaries, barriers, coalescing."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from kernels.exercise import find_exercise
from kernels.judging.inputs import expected_product, make_inputs
from kernels.judging.plan import make_plan
from kernels.phases.views import block_phase, thread_header, thread_rows
from kernels.verdict import Verdict
from tests.seeds.course import (
    Analysed,
    analysed,
    changed,
    graded,
    line_of,
    outcomes,
    right,
    solution,
    starter,
    tilelab_says,
    wrong,
)

NAIVE = solution("naive")
SQUARE = solution("tiled-square")
FIRST = (0, 0, 0)


@pytest.fixture(scope="module")
def naive() -> Analysed:
    return analysed("naive", NAIVE, "--size", "64")


@pytest.fixture(scope="module")
def tiled() -> Analysed:
    return analysed("tiled-square", SQUARE, "--size", "64", "--tile", "16")


# -- S2a: the ratio and what memory allows ----------------------------------------------------------------------------


def test_s2a_at_ratio_1_a_terabyte_a_second_allows_250_gflops_and_150_gb_allow_37_5(naive):
    totals = naive.analysis.evidence.totals
    assert totals.compute_to_memory == pytest.approx(1, rel=0.01)  # but for the stores of P
    assert naive.theory["reuse"].counted == 1
    assert naive.theory["roofline_1000"].counted == 250
    assert naive.theory["roofline_150"].counted == 37.5


def test_s2a_a_ratio_of_48_would_take_12_tflops():
    found = analysed("tiled", right("tiled_register_blocking"), "--tile", "16", "--size", "96")
    ratio, gflops = found.theory["reuse"].counted, found.theory["roofline_1000"].counted
    assert ratio is not None
    assert gflops is not None
    assert ratio > 1
    assert 12_000 / (gflops / ratio) == pytest.approx(48)


# -- S2b: the host's triple loop and the plain kernel -----------------------------------------------------------------


def test_s2b_what_is_right_is_what_the_host_s_triple_loop_computes():
    cases = make_plan(find_exercise("naive"), None, 8, "00").cases
    (case,) = [each for each in cases if each.name == "Width=7 integers_left"]
    inputs = make_inputs(case, 1)
    left, right_ = (inputs[name].reshape(7, 7).astype(float) for name in "MN")
    host = np.zeros((7, 7))
    for i in range(7):
        for j in range(7):
            for k in range(7):
                host[i, j] += left[i, k] * right_[k, j]
    assert expected_product(case, inputs).values.tolist() == host.tolist()


def test_s2b_the_plain_kernel_is_accepted_and_needs_its_guards():
    report = graded("naive", NAIVE, "--case", "Width=17")
    assert report.verdict is Verdict.ACCEPTED
    assert outcomes(report) == {"passed"}
    unguarded = changed(NAIVE, ("if (Row < Width && Col < Width) {", "{"))
    assert graded("naive", unguarded, "--case", "Width=17").verdict is Verdict.OUT_OF_BOUNDS


# -- S2c, S2d: phases -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tile", [2, 4])
def test_s2c_work_of_blocks_0_0_and_0_1_of_8_by_8(tile, tmp_path):
    folder = tmp_path / "square"
    shutil.copytree(find_exercise("tiled-square").solution.parent, folder)
    path = folder / "exercise.toml"
    small = "[phases]\nWidth = 4\ntile = 2\n"
    path.write_text(changed(path.read_text(), (small, f"[phases]\nWidth = 8\ntile = {tile}\n")))
    table = analysed(str(folder), SQUARE, "--size", "8", "--tile", str(tile)).phases
    assert table.launch.grid == (8 // tile, 8 // tile, 1)
    assert len(table.phases) == 8 // tile
    for number in range(8 // tile):
        for x in (0, 1):
            block = block_phase(table, number, (x, 0, 0))
            assert block is not None
            of_tile, of_phase = range(tile), range(number * tile, (number + 1) * tile)
            loaded = {fetch.element for fetch in block.fetches}
            assert loaded == {f"M[{row}][{k}]" for row in of_tile for k in of_phase} | {
                f"N[{k}][{x * tile + column}]" for k in of_phase for column in of_tile
            }
            sums = {each.target: each.elements for each in block.accumulations}
            assert sums == {
                f"P[{row}][{column}]": " + ".join(f"M[{row}][{k}]*N[{k}][{column}]" for k in of_phase)
                for row in of_tile
                for column in range(x * tile, (x + 1) * tile)
            }


# The slide's table, set right where it slips: thread 0,1 stores N[0][1] in Nds[0][1].
PHASES = """
0,0 | M[0][0] Mds[0][0] | N[0][0] Nds[0][0] | 00*00 01*10 | M[0][2] Mds[0][0] | N[2][0] Nds[0][0] | 00*00 01*10
0,1 | M[0][1] Mds[0][1] | N[0][1] Nds[0][1] | 00*01 01*11 | M[0][3] Mds[0][1] | N[2][1] Nds[0][1] | 00*01 01*11
1,0 | M[1][0] Mds[1][0] | N[1][0] Nds[1][0] | 10*00 11*10 | M[1][2] Mds[1][0] | N[3][0] Nds[1][0] | 10*00 11*10
1,1 | M[1][1] Mds[1][1] | N[1][1] Nds[1][1] | 10*01 11*11 | M[1][3] Mds[1][1] | N[3][1] Nds[1][1] | 10*01 11*11
"""


def written_out(cell: str) -> str:
    """A cell of the table above as Tilelab writes it."""
    if "*" in cell:
        terms = [f"Mds[{t[0]}][{t[1]}]*Nds[{t[3]}][{t[4]}]" for t in cell.split()]
        return "PValue += " + " + ".join(terms)
    return cell.replace(" ", " -> ")


def test_s2d_the_table_of_execution_phases(tiled):
    expected = tuple(tuple(written_out(cell.strip()) for cell in row.split("|")) for row in PHASES.strip().splitlines())
    assert thread_rows(tiled.phases, FIRST) == expected
    assert thread_header(tiled.phases)[1:4] == ("phase 0: M", "phase 0: N", "phase 0: sum")


def test_s2d_the_table_is_in_the_text_too():
    text = tilelab_says("analyze", SQUARE, "-e", "tiled-square", "--size", "4", "--tile", "2").stdout
    assert "M[1][3] -> Mds[1][1]" in text
    assert "N[3][1] -> Nds[1][1]" in text


# -- S2e, S2f: boundaries and barriers --------------------------------------------------------------------------------


def test_s2e_cells_past_the_edge_that_nobody_set_to_zero_are_found_and_named():
    text = wrong("no_zero_padding")  # figure 4.20 as it is printed
    report = graded("tiled", text, "--case", "Width=13")
    assert report.verdict is Verdict.UNINITIALIZED_READ
    leading = report.findings[0]
    assert leading.line == line_of(text, "Pvalue += Mds")
    assert "`Mds[" in leading.message
    shown = tilelab_says("grade", text, "-e", "tiled", "--case", "Width=13").stdout
    assert " ".join(leading.message.split()) in " ".join(shown.split())
    assert "which adds nothing to a sum" in " ".join(shown.split())


@pytest.mark.parametrize("name", ["barrier_in_load_branch", "barrier_in_both_branches"])
def test_s2f_all_threads_of_a_block_must_arrive_at_the_same_barrier(name):
    report = graded("tiled", wrong(name), "--case", "Width=13")
    assert report.verdict is Verdict.BARRIER_DIVERGENCE
    assert "__syncthreads" in wrong(name).splitlines()[(report.findings[0].line or 0) - 1]


# -- S2g: coalescing --------------------------------------------------------------------------------------------------

ADJACENT_ROWS = """//!tilelab block=(32, 8) grid=(Width/32, Width/8)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.x * blockDim.x + threadIdx.x;
    int Col = blockIdx.y * blockDim.y + threadIdx.y;
    float Pvalue = 0.0f;
    for (int k = 0; k < Width; ++k) {
        float m = M[Row * Width + k];
        float n = N[k * Width + Col];
        Pvalue += m * n;
    }
    P[Row * Width + Col] = Pvalue;
}
"""
ADJACENT_COLUMNS = changed(
    ADJACENT_ROWS,
    ("Row = blockIdx.x * blockDim.x + threadIdx.x", "Row = blockIdx.y * blockDim.y + threadIdx.y"),
    ("Col = blockIdx.y * blockDim.y + threadIdx.y", "Col = blockIdx.x * blockDim.x + threadIdx.x"),
)


def test_s2g_adjacent_columns_of_n_are_coalesced_and_adjacent_rows_of_m_are_not():
    columns = analysed("naive", ADJACENT_COLUMNS, "--size", "64")
    n = columns.access("N", "float n")
    assert (n.sectors_per_request, n.efficiency) == (4, 1)
    rows = analysed("naive", ADJACENT_ROWS, "--size", "64")
    m = rows.access("M", "float m")
    assert m.sectors == 32 * m.requests  # a sector for each thread
    assert m.ideal_sectors == 4 * m.requests
    assert m.efficiency == pytest.approx(1 / 8)
    states = {row.key: row.state.value for row in rows.analysis.evidence.checklist}
    assert states["coalescing"] == "no"
    assert line_of(ADJACENT_ROWS, "float m") in {each.line for each in rows.analysis.evidence.advice}


def test_s2g_with_tiles_in_shared_memory_every_load_is_coalesced(tiled):
    for name in "MN":
        access = tiled.access(name, f"= {name}[")
        assert access.sectors == access.ideal_sectors == 4 * access.requests


# -- S2h: the blanks --------------------------------------------------------------------------------------------------


def test_s2h_the_starter_has_blanks_where_the_slide_has_them():
    text = starter("tiled-square")
    assert "= M[____]" in text
    assert "= N[____]" in text
    report = graded("tiled-square", text)
    assert report.verdict is Verdict.REJECTED
    assert report.findings[0].line == line_of(text, "____ float Mds")
    assert f"Blanks left: {text.count('____') - 1}" in report.message


def test_s2h_the_blanks_filled_in_are_a_right_kernel():
    text = starter("tiled-square")
    intro, start, kernel = text.partition("#ifndef")
    for answer in (
        "__shared__",
        "__shared__",
        "blockIdx.y * TILE_WIDTH + ty",
        "blockIdx.x * TILE_WIDTH + tx",
        "Width / TILE_WIDTH",
        "Row * Width + ph * TILE_WIDTH + tx",
        "(ph * TILE_WIDTH + ty) * Width + Col",
        "__syncthreads()",
        "Mds[ty][k] * Nds[k][tx]",
        "__syncthreads()",
        "Row * Width + Col",
    ):
        assert "____" in kernel
        kernel = kernel.replace("____", answer, 1)
    intro = intro.replace("____", "blank")
    report = graded("tiled-square", intro + start + kernel, "--tile", "4", "--case", "Width=12")
    assert report.verdict is Verdict.ACCEPTED
