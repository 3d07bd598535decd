"""What to look at first: the right line, in the right order, and something for a kernel that is in order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.analysis.checklist import checklist
from kernels.analysis.first_look import first_look
from kernels.analysis.subject import Subject
from kernels.counters import Totals
from kernels.evidence import (
    AccessEvidence,
    Advice,
    GoalResult,
    Light,
    LineEvidence,
    ResourceTime,
    State,
    TheoryRow,
    Verb,
)
from kernels.exercise import find_exercise
from kernels.occupancy import Occupancy
from kernels.rendering.page.bounds import roofline_of
from kernels.rendering.page.context import context
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


def advice(source, exercise, size, tile=None, ranking=None) -> tuple[Advice, ...]:
    analysis = analysed(source, exercise, size, tile, ranking)
    assert not analysis.message, analysis.findings
    return analysis.evidence.advice


def test_exchanged_axes_are_the_first_thing_with_line_and_figures():
    first = advice(SWAPPED, "naive", 128)[0]
    assert first.line == 8
    assert "uncoalesced" in first.text
    assert "16 sectors; 2 are enough" in first.text
    assert "the tile" not in first.text


def test_uncoalesced_accesses_come_before_bank_conflicts():
    source = solution("tiled").read_text("utf-8").replace("threadIdx.x", "AXIS").replace("threadIdx.y", "threadIdx.x")
    found = advice(source.replace("AXIS", "threadIdx.y"), "tiled", 128, 16)
    kinds = [name for each in found for name in ("uncoalesced", "bank conflicts") if name in each.text]
    assert set(kinds) == {"uncoalesced", "bank conflicts"}
    assert kinds == sorted(kinds, reverse=True)


@pytest.mark.parametrize(("counted", "named"), [(272, True), (48, False), (None, False)])
def test_several_times_the_textbooks_barriers_are_named(counted, named):
    departs = 0 if counted is None else (counted - 32) / 32
    row = TheoryRow("barriers", "barriers of a block", "2 x 16 phases", 32, counted, "barriers", departs)
    found = first_look(subject(), (row,))
    assert any("passes 272 barriers" in each.text for each in found) is named


def test_bank_conflicts_come_first_in_a_kernel_that_turns_its_tiles():
    first = advice(TURNED, "tiled-square", 128, 32)[0]
    assert first.line == 13
    assert "32-way bank conflicts" in first.text
    assert "Nds" in first.text


@pytest.mark.parametrize(
    ("shape", "width", "words"),
    [
        ((32, 32), 4, "rows of 33 elements instead of 32"),
        ((32, 33), 4, "neighbouring elements of `tile`"),
        ((512,), 4, "neighbouring elements of `tile`"),
        ((), 4, "last index"),
        ((32, 32), 16, "16 bytes longer"),
        ((), 16, "16 bytes longer"),
    ],
)
def test_conflicts_are_repaired_by_longer_rows_where_there_are_rows(shape, width, words):
    read = AccessEvidence(
        "shared", Verb.LOAD, "tile", width, 100, 3200, 12_800, 12_800, 0, 0, 0, 3200, 3100, 100, 0, 3200, 3100
    )
    found = replace(subject(), lines=(LineEvidence(9, 3200, 100, 0, (read,)),), shapes={"tile": shape})
    goal = GoalResult("No bank conflicts", "shared_load_conflicts", 3100, 0, met=False)
    assert words in first_look(found, goals=(goal,))[0].text


def test_the_plain_kernel_is_told_to_tile():
    first = advice(solution("naive"), "naive", 128)[0]
    assert first.line == 14
    assert "Load 16x16 tiles" in first.text
    missed, *others = advice(solution("naive"), "tiled", 128)
    assert missed.line == 14
    assert missed.text.endswith(first.text)
    assert first not in others


def test_a_width_that_is_no_multiple_of_eight_is_no_want_of_coalescing():
    assert not any("uncoalesced" in each.text for each in advice(solution("naive"), "naive", 67))


def test_the_tiled_kernel_hears_what_comes_next():
    (only,) = advice(solution("tiled"), "tiled", 128, 16)
    assert "thread coarsening" in only.text
    assert only.line is None


def test_at_most_five_and_errors_before_speed():
    found = first_look(subject(occupancy=Occupancy(1, 4, 0.06, "shared")), broken=True)
    assert len(found) <= 5
    assert "errors" in found[0].text


def test_low_occupancy_names_the_resource_that_limits_it():
    found = first_look(subject(occupancy=Occupancy(1, 4, 0.06, "shared")))
    assert any("shared memory" in each.text and "6 %" in each.text for each in found)


def test_a_goal_that_is_not_met_comes_first():
    goal = GoalResult("No bank conflicts", "shared_load_conflicts", 4096, 0, met=False)
    assert first_look(subject(), goals=(goal,))[0].text == (
        "Goal not met: No bank conflicts. Counted 4,096. The limit is 0."
    )


LOOPS = """
    for (int row = threadIdx.y; row < Width; row += blockDim.y)
        for (int col = threadIdx.x; col < Width; col += blockDim.x) {
            float sum = 0.0f;
            for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
            P[row * Width + col] = sum;
        }
}
"""
HEAD = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {"


@pytest.mark.one_in(2, "one of two")
@pytest.mark.parametrize("stages", [1, 2])
def test_a_pipeline_of_one_stage_is_told_of_more(stages):
    text = solution("hopper-wgmma").read_text("utf-8").replace("#define STAGES 2", f"#define STAGES {stages}")
    made = analysed(text, "hopper-wgmma", 128, ranking=128)

    place = next(number for number, each in enumerate(text.splitlines(), 1) if "load(stages[stage].M" in each)
    assert [each.line for each in made.evidence.advice if "stages" in each.text] == [place] * (stages == 1)
    totals = made.evidence.totals
    assert (totals.bulk_load_bytes, totals.product_bytes) == (2 * 2 * 128**3 // 64, 2 * 2 * 128**3 // 64)
    assert (totals.tensor_flops, totals.tensor_instructions) == (2 * 128**3, 2 * 128**3 // (2 * 16 * 64 * 16))
    states = {row.key: row.state for row in made.evidence.checklist}
    assert (states["tiling"], states["occupancy"]) == (State.YES, State.NOT_NEEDED)
    rows = {row.key: row.departs for row in made.evidence.theory}
    assert {"element_reads", "reuse", "tensor_flops"} <= rows.keys()
    assert not any(rows.values())
    (light,) = made.evidence.light
    assert {"tensor", "bulk"} <= {each.resource for each in light.resources}
    assert made.arch == "sm_90a"
    assert "tensor" in {view.key for view in context(made, text)["views"]}
    assert "tensor" not in {view.key for view in context(analysed(TURNED, "tiled-square", 128, 32), TURNED)["views"]}
    roof = roofline_of(made)
    assert roof is not None
    assert roof.roofs.peak == pytest.approx(1.07e6, rel=0.01)


def bulk(verb: Verb = Verb.BULK_LOAD, *, copies: int = 16, sectors: int = 4096, needed: int = 4096, repeats: int = 0):
    """Bulk copies of M on line 9."""
    moved = 32 * needed
    numbers = (moved // copies, copies, copies, moved, moved, sectors, needed, 0, 0, 0, copies, sectors, 0, 0)
    access = AccessEvidence("global", verb, "M", *numbers, repeats=repeats)
    return LineEvidence(9, 32 * copies, copies, 0, (access,))


def on_tensor_cores(line: LineEvidence, limit: str = "tensor", times: float = 1, **totals: int) -> Subject:
    """A product on tensor cores. limit, times: what takes how many times as long as they do."""
    resources = [ResourceTime(key, "", time, "") for key, time in {"tensor": 1, limit: times}.items()]
    kept = {"warp_instructions": 1000, "flops": 2 * 64**3, "tensor_flops": 2 * 64**3, "bulk_load_requests": 16}
    made = Totals(**{**kept, **totals})
    light = Light("GPU", {}, tuple(resources), limit, times, 1)
    return replace(subject(), lines=(line,), totals=made, light=light)


def texts_of(made: Subject, *words: str) -> list[bool]:
    found = [each.text for each in first_look(made)]
    return [any(word in text for text in found) for word in words]


@pytest.mark.parametrize("line", [9, None])
def test_a_wait_for_later_tiles_is_advised_against(line):
    made = replace(on_tensor_cores(bulk(), global_load_sectors=4096), early_wait=line)
    assert ["wait_prior" in each.text for each in first_look(made) if each.line == 9].count(True) == (line == 9)


@pytest.mark.parametrize(("repeats", "named"), [(15, True), (4, False), (0, False)])
def test_copies_into_one_tile_are_told_of_stages(repeats, named):
    made = on_tensor_cores(bulk(repeats=repeats), bulk_load_sectors=4096, product_bytes=4096)
    assert [9] * named == [each.line for each in first_look(made) if "stages" in each.text]


@pytest.mark.parametrize(
    ("totals", "named"),
    [
        ({"shared_store_requests": 64, "shared_store_wavefronts": 256}, True),
        ({"shared_store_requests": 64, "shared_store_wavefronts": 256, "async_load_requests": 64}, False),
        ({}, False),
    ],
)
def test_tiles_that_go_through_registers_are_told_of_asynchronous_copies(totals, named):
    numbers = (16, 64, 2048, 32_768, 32_768, 1024, 1024, 256, 0, 0, 64, 1024, 0, 0)
    made = on_tensor_cores(
        LineEvidence(9, 2048, 64, 0, (AccessEvidence("global", Verb.LOAD, "M", *numbers),)),
        bulk_load_requests=0,
        **totals,
    )
    assert [each.line for each in first_look(made) if "cp.async" in each.text] == [9] * named


@pytest.mark.parametrize("shared", [0, 64])
def test_factors_from_global_memory_are_told_of_tiles_not_of_other_threads(shared):
    numbers = (4, 64, 2048, 8192, 8192, 512, 256, 128, 0, 0, 64, 512, 0, 0)
    line = LineEvidence(9, 2048, 64, 0, (AccessEvidence("global", Verb.LOAD, "M", *numbers),))
    made = on_tensor_cores(
        line, "l1_tags", 8, bulk_load_requests=0, shared_store_requests=shared, shared_load_requests=shared,
        global_load_sectors=512,
    )  # fmt: skip
    (found,) = (each.text for each in first_look(made) if each.line == 9 and "cp.async" not in each.text)
    assert ("touches" in found) is bool(shared)
    assert "threadIdx" not in found


def shared_access(verb: Verb, conflicts: int) -> LineEvidence:
    numbers = (4, 64, 2048, 8192, 8192, 0, 0, 0, 64 + conflicts, conflicts, 64, 0, 64 + conflicts, conflicts)
    access = AccessEvidence("shared", verb, "tile", *numbers)
    return LineEvidence(7 if verb is Verb.LOAD else 8, 2048, 64, 0, (access,))


@pytest.mark.parametrize(("of_loads", "of_stores", "lines"), [(192, 0, [7]), (0, 64, []), (192, 64, [7, 8])])
def test_rows_that_spare_fragments_all_conflicts_keep_their_length(of_loads, of_stores, lines):
    load, store = shared_access(Verb.LOAD, of_loads), shared_access(Verb.STORE, of_stores)
    made = replace(on_tensor_cores(load, bulk_load_requests=0), lines=(load, store), shapes={"tile": (32, 12)})
    found = [each for each in first_look(made) if "bank" in each.text]
    assert sorted(each.line or 0 for each in found) == lines
    assert all("16 bytes longer" in each.text for each in found)


@pytest.mark.parametrize(
    ("verbs", "totals", "swizzled"),
    [
        ("load", {"bulk_load_requests": 9}, True),
        ("store", {"bulk_load_requests": 9, "product_bytes": 9}, True),
        ("store", {"product_bytes": 9}, True),
        ("store", {"bulk_store_requests": 9}, True),
        ("load store", {"product_bytes": 9}, False),
        ("load store", {"bulk_store_requests": 9}, False),
        ("load store", {"bulk_load_requests": 9}, False),
        ("load store", {}, False),
    ],
)
@pytest.mark.parametrize("cores", ["tensor", "ordinary"])
def test_an_array_that_bulk_copies_or_wgmma_use_gets_a_swizzle(verbs, totals, swizzled, cores):
    lines = tuple(shared_access(Verb(verb), 192) for verb in verbs.split())
    none = {"bulk_load_requests": 0, "shared_store_requests": 64, "flops": 100, "tensor_flops": 100}
    none["tensor_flops"] *= cores == "tensor"
    made = replace(on_tensor_cores(lines[0], **none | totals), lines=lines, shapes={"tile": (32, 12)})
    found = [each.text for each in first_look(made) if "bank" in each.text]
    assert found
    assert all(("swizzle" in each) is swizzled for each in found)


def test_sums_of_tensor_cores_are_not_exchanged_between_threads():
    numbers = (4, 64, 2048, 8192, 8192, 512, 256, 128, 0, 0, 64, 512, 0, 0)
    store = LineEvidence(9, 2048, 64, 0, (AccessEvidence("global", Verb.STORE, "P", *numbers),))
    (found,) = (each.text for each in first_look(on_tensor_cores(store)) if each.line == 9)
    assert "float2" in found
    row = next(each for each in checklist(on_tensor_cores(store)) if each.key == "coalescing")
    assert row.advice in found


@pytest.mark.parametrize(("sectors", "named"), [(8192, True), (4096, False)])
def test_boxes_of_narrow_rows_are_told_to_be_wider(sectors, named):
    made = on_tensor_cores(bulk(sectors=sectors), bulk_load_sectors=sectors, product_bytes=4096)
    assert texts_of(made, "wider boxes") == [named]


@pytest.mark.parametrize(
    ("limit", "times", "totals", "named"),
    [
        ("l1_data", 2, {"product_bytes": 4096}, "more columns"),
        ("l1_data", 2, {"shared_load_wavefronts": 64}, "each warp compute more"),
        ("l1_data", 2, {"shared_load_wavefronts": 64, "shared_load_conflicts": 32}, ""),
        ("l1_data", 2, {"shared_load_wavefronts": 64, "global_load_sectors": 1024}, ""),
        ("l1_data", 1.05, {"product_bytes": 4096}, ""),
        ("bulk", 2, {"product_bytes": 4096}, "larger tile of the output"),
        ("l1_tags", 2, {"product_bytes": 4096}, ""),
        ("l1_tags", 2, {"global_load_sectors": 1024}, "from global memory"),
    ],
)
def test_what_brings_too_little_to_tensor_cores_is_named(limit, times, totals, named):
    known = ("more columns", "each warp compute more", "larger tile of the output", "from global memory")
    made = on_tensor_cores(bulk(), limit, times, **totals)
    assert texts_of(made, *known) == [each == named for each in known]


def test_a_single_block_is_the_first_thing_said_of_a_launch_that_has_no_other():
    first = advice(f"//!tilelab block=(16,16) grid=(1)\n{HEAD}{LOOPS}", "naive", 64, ranking=128)[0]
    assert "single block" in first.text


def test_a_launch_of_one_small_block_is_not_told_for_the_ranking_size():
    analysis = analysed(f"//!tilelab block=(4,4) grid=(1)\n{HEAD}{FIXED}", "naive", 4)
    assert not analysis.findings
    assert dict(analysis.evidence.light[0].sizes) == {"Width": 4}
    (row,) = (each for each in analysis.evidence.theory if each.key == "load_requests")
    assert "16 threads" in row.note
    assert not any("Tiles of 16" in each.text for each in analysis.evidence.advice)


FIXED = """
    float sum = 0.0f;
    for (int k = 0; k < Width; ++k) sum += M[threadIdx.y * Width + k] * N[k * Width + threadIdx.x];
    P[threadIdx.y * Width + threadIdx.x] = sum;
}
"""


def test_a_narrow_block_is_told_to_be_wider_and_not_to_exchange_its_axes():
    source = "//!tilelab block=(8,8) grid=(ceil(Width/8),ceil(Width/8))\n" + solution("naive").read_text()
    texts = [each.text for each in advice(source, "naive", 64) if "reads M" in each.text]
    assert all("8 threads wide" in text and "row, or" not in text for text in texts)
    assert texts


def test_spilled_registers_are_named_though_no_count_shows_them():
    sums = "".join(f"s[{i}] += M[row * Width + k + {i}] * N[(k + {i}) * Width + col];" for i in range(64))
    source = (
        "__global__ void __launch_bounds__(1024, 2) MatrixMulKernel(float* M, float* N, float* P, int Width) {\n"
        "    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;\n"
        "    float s[64] = {}, sum = 0.0f;\n"
        f"    for (int k = 0; k < Width; k += 64) {{ {sums} }}\n"
        "#pragma unroll\n    for (int i = 0; i < 64; ++i) sum += s[i];\n"
        "    P[row * Width + col] = sum;\n}\n"
    )
    first = advice(source, "naive", 64)[0]
    assert "registers don't suffice" in first.text


def test_tiles_of_eight_are_told_of_larger_ones_before_coarsening():
    (only,) = advice(solution("tiled"), "tiled", 64, 8)
    assert "Tiles of 16" in only.text


@pytest.mark.parametrize(("rung", "named"), [("11_register_column", True), ("12_register_block", False)])
def test_a_kernel_with_squares_in_registers_is_not_told_to_make_them(rung, named):
    source = (find_exercise("tiled").root / "ladder" / f"{rung}.cu").read_text()
    assert any("register tiling" in each.text for each in advice(source, "tiled", 128, ranking=128)) == named
