"""The slides on memory and warps (document 003): reuse, occupancy, barriers, coalescing, divergence, banks."""

from __future__ import annotations

import pytest

from kernels.verdict import Verdict
from tests.seeds.course import analysed, changed, graded, line_of, occupancy_of, outcomes, solution, starter, wrong

REDUCTION = solution("reduction")
INTERLEAVED = starter("reduction")


# -- S3a: how often an element is read --------------------------------------------------------------------------------


def test_s3a_naive_reads_2_n_cubed_elements():
    row = analysed("naive", solution("naive"), "--size", "64").theory["element_reads"]
    assert (row.expected, row.counted, row.departs) == (2 * 64**3, 2 * 64**3, 0)


@pytest.mark.parametrize("m", [8, 16])
def test_s3a_tiles_of_m_read_2_n_cubed_by_m_and_use_each_element_m_times(m):
    found = analysed("tiled-square", solution("tiled-square"), "--size", "64", "--tile", str(m))
    row = found.theory["element_reads"]
    assert (row.expected, row.counted, row.departs) == (2 * 64**3 / m, 2 * 64**3 / m, 0)
    assert found.theory["reuse"].expected == found.theory["reuse"].counted == m


# -- S3b: occupancy ---------------------------------------------------------------------------------------------------


def test_s3b_tiles_of_16_take_2_kb_and_six_blocks_fill_1536_threads():
    found = occupancy_of("--threads", "256", "--registers", "32", "--shared", "2048", "--cc", "8.6")["occupancy"]
    assert found["shared_bytes"] == 2 * 16 * 16 * 4
    assert found["limits"]["shared"] >= 8
    assert found["max_warps"] * 32 == 1536
    assert (found["blocks_per_sm"], found["share"]) == (6, 1.0)


@pytest.mark.parametrize("cc", ["8.6", "8.9"])
def test_s3b_blocks_of_1024_threads_leave_a_third_of_1536_empty(cc):
    found = occupancy_of("--threads", "1024", "--registers", "32", "--shared", "8192", "--cc", cc)["occupancy"]
    assert (found["blocks_per_sm"], found["share"], found["limit"]) == (1, 2 / 3, "warps")


def test_s3b_a_kernel_of_the_course_on_such_a_device():
    found = analysed("tiled-square", solution("tiled-square"), "--tile", "32", "--size", "32", "--cc", "8.6")
    occupancy = found.analysis.occupancy
    assert occupancy is not None
    assert (occupancy.blocks_per_sm, occupancy.share) == (1, 2 / 3)
    (row,) = [row for row in found.analysis.evidence.checklist if row.key == "occupancy"]
    assert row.state.value == "partly"
    assert "67 %" in row.evidence
    shared = found.theory["shared_bytes"]
    assert shared.expected == shared.counted == 2 * 32 * 32 * 4


# -- S3c: barriers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["no_first_barrier", "no_second_barrier"])
def test_s3c_without_a_barrier_there_is_a_race(name):
    report = graded("tiled", wrong(name), "--case", "Width=29")
    assert report.verdict is Verdict.DATA_RACE
    assert report.findings[0].line


@pytest.mark.parametrize("name", ["barrier_in_load_branch", "barrier_in_both_branches"])
def test_s3c_a_barrier_in_a_branch_is_not_reached_by_all(name):
    assert graded("tiled", wrong(name), "--case", "Width=13").verdict is Verdict.BARRIER_DIVERGENCE


# -- S3d: coalescing of a 4x4 matrix ----------------------------------------------------------------------------------

BY_ROW = """
__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ float tile[4][4];
    int t = threadIdx.x;
    for (int row = 0; row < 4; ++row) {
        tile[row][t] = M[row * Width + t];
    }
    __syncthreads();
    float sum = 0.0f;
    for (int col = 0; col < 4; ++col) {
        sum += tile[t][col];
    }
    Sums[t] = sum;
}
"""
BY_COLUMN = """
__global__ void rowSums(float* M, float* Sums, int Width) {
    int t = threadIdx.x;
    float sum = 0.0f;
    #pragma unroll 1
    for (int col = 0; col < Width; ++col) {
        sum += M[t * Width + col];
    }
    Sums[t] = sum;
}
"""


@pytest.mark.parametrize(
    ("text", "part", "sectors"), [(BY_ROW, "= M[", 1), (BY_COLUMN, "+= M[", 2)], ids=["by row", "by column"]
)
def test_s3d_a_4_by_4_matrix_by_row_and_by_column(text, part, sectors):
    found = analysed("coalescing", text, "--size", "4", "--tile", "4")
    access = found.access("M", part)
    assert access.requests == 4  # one a row, or one a column
    assert access.bytes == access.unique_bytes == 4 * 4 * 4
    assert access.sectors == 4 * sectors
    assert access.ideal_sectors == 4


def test_s3d_the_exercise_s_way_from_columns_to_rows():
    by_column = analysed("coalescing", starter("coalescing"))
    assert by_column.access("M", "+= M[").sectors_per_request == 32
    by_row = analysed("coalescing", solution("coalescing"))
    assert by_row.access("M", "= M[").sectors_per_request == 4
    for found, met in ((by_column, False), (by_row, True)):
        goal = found.analysis.evidence.goals[0]
        assert (goal.counter, goal.met) == ("global_load_sectors_per_request", met)
    assert graded("coalescing", solution("coalescing"), "--case", "Width=64").verdict is Verdict.ACCEPTED


# -- S3e: reduction ---------------------------------------------------------------------------------------------------


def splits(text: str, part: str) -> list[int]:
    """How many warps of a block split at a branch in each of the eight iterations."""
    found = analysed("reduction", text, "--size", "512", "--tile", "256")
    turns = [divergent for warps, divergent in found.branches(part).intervals if warps]
    assert len(turns) == 8
    return turns


def test_s3e_interleaved_addressing_splits_warps_in_every_iteration():
    assert splits(INTERLEAVED, "if (t % (2 * stride) == 0)") == [8, 8, 8, 8, 8, 4, 2, 1]


def test_s3e_contiguous_addressing_splits_none_before_the_fifth_of_eight():
    assert splits(REDUCTION, "if (t < stride)") == [0, 0, 0, 0, 1, 1, 1, 1]


def test_s3e_both_are_right():
    for text in (INTERLEAVED, REDUCTION):
        report = graded("reduction", text, "--case", "n=513")
        assert report.verdict is Verdict.ACCEPTED
        assert outcomes(report) == {"passed"}
    early = changed(REDUCTION, ("        __syncthreads();\n        if", "        if"))
    assert graded("reduction", early, "--case", "n=513").verdict is Verdict.DATA_RACE


# -- S3f: banks -------------------------------------------------------------------------------------------------------


def shared_by(index: str) -> str:
    """A kernel for 256 threads that stores to and loads from one element of shared memory each."""
    return f"""
__global__ void foo_kernel(float* a, float* b, float* c, float* d, float* e) {{
    __shared__ float shared[1024];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;
    shared[tid] = a[i];
    shared[tid + 256] = b[i];
    shared[tid + 512] = c[i];
    shared[tid + 768] = b[i + 256];
    __syncthreads();
    d[i] = shared[{index}];
}}
"""


@pytest.mark.parametrize(
    ("index", "ways"),
    [
        ("2 * tid", 2),
        ("tid + blockDim.x", 1),
        ("tid", 1),
        ("tid / 32", 1),  # one element for all of a warp: broadcast
        ("blockIdx.x", 1),
        ("tid % 32 / 2", 1),  # the same element for two threads is no conflict
        ("3 * tid", 1),
        ("4 * tid", 4),
        ("tid % 32 * 32", 32),
    ],
)
def test_s3f_element_x_lies_in_bank_x_mod_32(index, ways, shared_reads):
    access = shared_reads[index]
    assert (access.requests, access.wavefronts, access.conflicts) == (8, 8 * ways, 8 * (ways - 1))


@pytest.fixture(scope="module")
def shared_reads():
    """All the indices in one kernel, each on a line of its own, to be analysed once."""
    indices = (
        "2 * tid", "tid + blockDim.x", "tid", "tid / 32",
        "blockIdx.x", "tid % 32 / 2", "3 * tid", "4 * tid", "tid % 32 * 32",
    )  # fmt: skip
    text = shared_by("0").replace(
        "    d[i] = shared[0];\n",
        "".join(f"    float v{at} = shared[{index}];\n" for at, index in enumerate(indices))
        + "    d[i] = " + " + ".join(f"v{at}" for at in range(len(indices))) + ";\n",
    )  # fmt: skip
    found = analysed("foo-kernel", text, "--size", "256")
    return {index: found.access("shared", f"= shared[{index}];") for index in indices}


# A thread stores two elements: neighbours, or a block apart.
STORED_TWICE = """
__global__ void foo_kernel(float* a, float* b, float* c, float* d, float* e) {
    __shared__ float shared[512];
    int tid = threadIdx.x;
    shared[2 * tid] = b[2 * tid];
    shared[2 * tid + 1] = b[2 * tid + 1];
    __syncthreads();
    d[tid] = shared[tid];
}
"""
BLOCK_APART = changed(
    STORED_TWICE,
    ("shared[2 * tid] = b[2 * tid]", "shared[tid] = b[tid]"),
    ("shared[2 * tid + 1] = b[2 * tid + 1]", "shared[tid + blockDim.x] = b[tid + blockDim.x]"),
)


@pytest.mark.parametrize(
    ("text", "parts", "ways"),
    [
        (STORED_TWICE, ("shared[2 * tid] =", "shared[2 * tid + 1] ="), 2),
        (BLOCK_APART, ("shared[tid] =", "shared[tid + blockDim.x] ="), 1),
    ],
)
def test_s3f_two_neighbours_a_thread_conflict_two_ways_and_a_block_apart_none(text, parts, ways):
    found = analysed("foo-kernel", text, "--size", "256")
    stored = [
        each
        for line in found.analysis.evidence.lines
        for each in line.accesses
        if (each.name, each.verb) == ("shared", "store") and line.line in {line_of(text, p) for p in parts}
    ]
    assert sum(each.ptx_requests for each in stored) == 16
    assert sum(each.ptx_conflicts for each in stored) == 16 * (ways - 1)


def test_s3f_the_exercise_has_its_conflict_and_its_remedy():
    found = analysed("bank-conflicts", starter("bank-conflicts"))
    access = found.access("tile", "= tile[tx][ty]")
    assert access.wavefronts == 32 * access.requests
    assert not found.analysis.evidence.goals[0].met
    found = analysed("bank-conflicts", solution("bank-conflicts"))
    assert found.access("tile", "= tile[tx][ty]").conflicts == 0
    assert all(goal.met for goal in found.analysis.evidence.goals)


# -- S3g: divergence --------------------------------------------------------------------------------------------------


def test_s3g_thread_index_mod_3_splits_every_warp_three_ways():
    found = analysed("divergence", starter("divergence"))
    warps = 384 // 32
    for part in ("    if (threadIdx.x % 3 == 0)", "else if (threadIdx.x % 3 == 1)"):
        branch = found.branches(part)
        assert (branch.warps, branch.divergent) == (warps, warps)
    assert not found.analysis.evidence.goals[0].met
    states = {row.key: row.state.value for row in found.analysis.evidence.checklist}
    assert states["divergence"] == "no"


def test_s3g_a_kind_for_each_warp_splits_none():
    found = analysed("divergence", solution("divergence"))
    assert found.analysis.evidence.totals.divergent_branches == 0
    assert all(goal.met for goal in found.analysis.evidence.goals)
