"""What to look at first: the right line, in the right order, and something for a kernel that is in order."""

from __future__ import annotations

from kernels.evidence import Advice, GoalResult
from kernels.first_look import first_look
from kernels.occupancy import Occupancy
from tests.kernels.analysed import analysed, solution
from tests.kernels.subjects import subject
from tests.kernels.test_checklist import SWAPPED

TURNED = """
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0.0f;
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Mds[tx][ty] = M[Row * Width + ph * TILE_WIDTH + tx];
        Nds[tx][ty] = N[(ph * TILE_WIDTH + ty) * Width + Col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            sum += Mds[k][ty] * Nds[tx][k];
        __syncthreads();
    }
    P[Row * Width + Col] = sum;
}
"""


def advice(source, exercise, size, tile=None) -> tuple[Advice, ...]:
    analysis = analysed(source, exercise, size, tile)
    assert not analysis.message, analysis.findings
    return analysis.evidence.advice


def test_exchanged_axes_are_the_first_thing_with_line_and_figures():
    first = advice(SWAPPED, "naive", 128)[0]
    assert first.line == 8
    assert "uncoalesced" in first.text
    assert "16.00 sectors" in first.text


def test_bank_conflicts_come_first_in_a_kernel_that_turns_its_tiles():
    first = advice(TURNED, "tiled-square", 128, 32)[0]
    assert first.line == 13
    assert "32-way bank conflicts" in first.text
    assert "Nds" in first.text


def test_the_plain_kernel_is_told_to_tile():
    first = advice(solution("naive"), "naive", 128)[0]
    assert first.line == 14
    assert "tiles of 16 by 16" in first.text


def test_a_width_that_is_no_multiple_of_eight_is_no_want_of_coalescing():
    assert not any("uncoalesced" in each.text for each in advice(solution("naive"), "naive", 67))


def test_the_tiled_kernel_hears_what_comes_next():
    (only,) = advice(solution("tiled"), "tiled", 128, 16)
    assert "thread coarsening" in only.text
    assert only.line is None


def test_at_most_five_and_errors_before_speed():
    found = first_look(subject(occupancy=Occupancy(1, 4, 0.06, "shared memory")), broken=True)
    assert len(found) <= 5
    assert "errors" in found[0].text


def test_low_occupancy_names_the_resource_that_limits_it():
    found = first_look(subject(occupancy=Occupancy(1, 4, 0.06, "shared memory")))
    assert any("shared memory" in each.text and "6 %" in each.text for each in found)


def test_a_goal_that_is_not_met_comes_first():
    goal = GoalResult("No bank conflicts", "shared_load_conflicts", 4096, 0, met=False)
    assert first_look(subject(), goals=(goal,))[0].text == (
        "The exercise asks for more: No bank conflicts. Counted 4,096, at most 0 is asked."
    )
