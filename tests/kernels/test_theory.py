"""The course's formulas beside the count, from kernels that ran."""

from __future__ import annotations

import pytest

from kernels.analysis.theory import contiguous, interleaved
from kernels.evidence import TheoryRow
from kernels.exercise import find_exercise
from tests.kernels.analysed import analysed, solution
from tests.marks import some_of


def rows(source, exercise="tiled", size=None, tile=None) -> dict[str, TheoryRow]:
    analysis = analysed(source, exercise, size, tile)
    assert not analysis.message, analysis.findings
    return {row.key: row for row in analysis.evidence.theory}


@pytest.mark.parametrize(("tile", "requests"), [(16, 65_536), (32, 32_768)])
def test_s0c_load_requests_of_the_tiled_kernel_are_n_cubed_by_16_w(tile, requests):
    row = rows(solution("tiled"), "tiled", 256, tile)["load_requests"]
    assert row.formula == f"256^3 / (16 x {tile})"
    assert (row.expected, row.counted, row.departs) == (requests, requests, 0)


def test_s0c_the_formula_is_for_warps_that_are_full():
    row = rows(solution("tiled"), "tiled", 16, 4)["load_requests"]
    assert row.formula == "16^3 / (16 x 4) x 32/16"
    assert row.expected == row.counted == 2 * 4**3  # one request of a block for each of two tiles in each phase


def test_s0c_a_width_that_is_no_multiple_of_the_tile_departs_with_a_reason():
    row = rows(solution("tiled"), "tiled", 1000, 16)["load_requests"]
    assert row.counted == 3_969_000  # as an H200 counts it
    assert row.departs == pytest.approx(3_969_000 * 256 / 1000**3 - 1)
    assert row.line in {25, 26}
    assert "aren't multiples of 16" in row.note


def test_s2a_the_plain_kernel_does_one_operation_an_access():
    found = rows(solution("naive"), "naive", 128)
    assert found["reuse"].expected == found["reuse"].counted == 1
    assert found["compute_to_memory"].departs == 0


def test_s2a_memory_of_150_gb_and_of_1_tb_a_second_bound_the_plain_kernel_at_37_5_and_250_gflops():
    found = rows(solution("naive"), "naive", 128)
    assert (found["roofline_150"].expected, found["roofline_150"].counted) == (37.5, 37.5)
    assert (found["roofline_1000"].expected, found["roofline_1000"].counted) == (250, 250)


def test_s2a_tiles_of_16_raise_the_bound_16_times():
    assert rows(solution("tiled"), "tiled", 256, 16)["roofline_150"].counted == 16 * 37.5


def test_s3a_the_plain_kernel_reads_2_n_cubed_elements():
    found = rows(solution("naive"), "naive", 128)
    assert found["element_reads"].counted == found["element_reads"].expected == 2 * 128**3
    assert found["element_reads_tiled"].expected == 2 * 128**3 / 16


@pytest.mark.parametrize("tile", some_of([16, 8, 32], 3, str, "the short suite has tiles of 16"))
def test_s3a_tiles_of_w_leave_one_read_in_w_and_use_each_element_w_times(tile):
    found = rows(solution("tiled"), "tiled", 128, tile)
    assert found["element_reads_naive"].expected == 2 * 128**3
    assert found["element_reads"].counted == found["element_reads"].expected == 2 * 128**3 / tile
    assert found["reuse"].counted == tile


def test_s3b_two_tiles_of_16_take_2_kib_and_a_block_waits_twice_a_phase():
    found = rows(solution("tiled"), "tiled", 256, 16)
    assert found["shared_bytes"].counted == found["shared_bytes"].expected == 2048
    assert found["barriers"].counted == found["barriers"].expected == 2 * 16


@pytest.mark.long("the short suite has the other formulas")
def test_s4d_coarsening_by_4_divides_the_loads_of_m():
    found = rows(solution("coarsened"), "coarsened", 256, 32)
    assert found["load_requests"].counted == found["load_requests"].expected == 20_480  # as an H200 counts it


REGISTER_TILES = """//!tilelab block=(256) grid=(ceil(Width/SIDE), ceil(Width/SIDE))
#define SIDE 32
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
  __shared__ float Mds[SIDE][8], Nds[8][SIDE];
  int t = threadIdx.x, row = blockIdx.y * SIDE, col = blockIdx.x * SIDE + t % SIDE;
  float sums[4] = {};
  for (int k0 = 0; k0 < Width; k0 += 8) {
    bool inM = row + t / 8 < Width && k0 + t % 8 < Width, inN = k0 + t / SIDE < Width && col < Width;
    Mds[t / 8][t % 8] = inM ? M[(row + t / 8) * Width + k0 + t % 8] : 0;
    Nds[t / SIDE][t % SIDE] = inN ? N[(k0 + t / SIDE) * Width + col] : 0;
    __syncthreads();
    for (int k = 0; k < 8; ++k)
      for (int i = 0; i < 4; ++i) sums[i] += Mds[t / SIDE + 8 * i][k] * Nds[k][t % SIDE];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    if (row + t / SIDE + 8 * i < Width && col < Width) P[(row + t / SIDE + 8 * i) * Width + col] = sums[i];
}"""


def test_a_tile_of_registers_is_that_of_the_launch_and_not_of_the_exercise():
    analysis = analysed(REGISTER_TILES, size=40, ranking=40)
    found = {row.key: row for row in analysis.evidence.theory}
    assert "multiples of 32" in found["element_reads"].note
    assert found["reuse"].expected == 32
    assert not found.keys() & {"shared_bytes", "barriers"}  # the textbook's kernel has a thread for each element


def test_s3e_the_course_s_two_ways_to_add_up_with_256_threads():
    assert interleaved(256) == [8, 8, 8, 8, 8, 4, 2, 1]
    assert contiguous(256) == [0, 0, 0, 0, 1, 1, 1, 1]  # none before the fifth of eight


def test_s3e_interleaved_addressing_splits_warps_in_every_iteration():
    found = rows(find_exercise("reduction").starter, "reduction")
    assert found["divergent_interleaved"].departs == 0
    assert found["divergent_contiguous"].departs > 1
    assert "8 8 8 8 8 4 2 1" in found["divergent_contiguous"].note


def test_s3e_contiguous_addressing_splits_none_before_the_fifth_of_eight_iterations():
    found = rows(solution("reduction"), "reduction")
    assert found["divergent_contiguous"].departs == 0
    assert found["divergent_interleaved"].departs < 0
    assert "0 0 0 0 1 1 1 1" in found["divergent_interleaved"].note
    assert found["element_reads"].departs == 0
