"""Lab 6 (document 001): rectangles in globals, occupancy, block sizes, contraction, one block, bank conflicts."""

from __future__ import annotations

import shutil
from math import floor, log, sqrt

import numpy as np
import pytest
from click.testing import CliRunner

from kernels.compile.compilation import Compilation, compile_source
from kernels.device import Options, load_program, run
from kernels.exercise import find_exercise
from kernels.judging.inputs import expected_product, make_inputs
from kernels.judging.judge import arguments, buffers, full_budget
from kernels.judging.plan import CasePlan, make_plan
from kernels.verdict import Verdict
from tests.seeds.course import analysed, changed, graded, occupancy_of, outcomes, solution, starter
from worker.commands.root import tilelab

BLOCKED = solution("lab6-blocked")
SINGLE = solution("single-block")
SQUARE = solution("tiled-square")


# -- S1a: rectangles in globals ---------------------------------------------------------------------------------------


def test_s1a_blocked_rectangles_in_module_globals():
    report = graded("lab6-blocked", BLOCKED, "--tile", "4")
    assert report.verdict is Verdict.ACCEPTED
    cases = {check.case.rsplit(" ", 1)[0] for check in report.checks}
    assert {"A_HEIGHT=4 A_WIDTH=8 B_WIDTH=12", "A_HEIGHT=12 A_WIDTH=4 B_WIDTH=8"} <= cases
    assert outcomes(report) == {"passed"}


def test_s1a_the_lab_s_plain_kernel_reads_block_size_times_as_much():
    options = ("--size", "32", "--tile", "8")
    plain = analysed("lab6-blocked", starter("lab6-blocked"), *options).analysis.evidence.totals
    blocked = analysed("lab6-blocked", BLOCKED, *options).analysis.evidence.totals
    assert plain.global_load_bytes == 8 * blocked.global_load_bytes == 2 * 32**3 * 4


def test_s1a_width_and_height_mixed_up_come_out():
    mixed = changed(BLOCKED, ("#define NUM_SUBS (A_WIDTH /", "#define NUM_SUBS (B_WIDTH /"))
    report = graded("lab6-blocked", mixed, "--tile", "4", "--case", "A_WIDTH=8 B_WIDTH=12 integers_left")
    assert report.verdict in {Verdict.OUT_OF_BOUNDS, Verdict.WRONG_ANSWER}


def test_s1a_a_missing_global_is_named():
    report = graded(
        "lab6-blocked", BLOCKED.replace("d_B", "other_B"), "--tile", "4", "--case", "A_WIDTH=4 B_WIDTH=4 real"
    )
    assert report.verdict is not Verdict.ACCEPTED
    assert "d_B" in report.message


# -- S1b, S1c: occupancy ----------------------------------------------------------------------------------------------


def test_s1b_the_formula_as_written_and_the_full_calculation_stand_side_by_side():
    # two tiles of 16 x 16 floats, on a GPU with 5 multiprocessors of 32 blocks and 2,048 threads
    figures = ("--threads", "256", "--registers", "32", "--shared", "2048")
    plain = occupancy_of(*figures, "--cc", "5.0")["occupancy"]
    assert plain["limits"] == {"warps": 8, "blocks": 32, "registers": 8, "shared": 32}
    assert (plain["blocks_per_sm"], plain["share"], plain["simple_share"]) == (8, 1.0, 1.0)
    known = occupancy_of(*figures, "--device", "h200")
    assert known["occupancy"]["formula_share"] == 32 * 256 / (2048 * known["multiprocessors"])
    text = CliRunner().invoke(tilelab, ["occupancy", *figures, "--device", "h200"]).stdout
    assert "as written" in text
    assert "corrected" in text
    assert "in full" in text


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks", "limit"),
    [
        (256, 32, 2_048, 8, "warps"),
        (256, 128, 2_048, 2, "registers"),
        (256, 32, 16_384, 4, "shared"),
        (32, 32, 0, 32, "blocks"),
    ],
)
def test_s1b_registers_and_shared_memory_limit_it_too(threads, registers, shared, blocks, limit):
    found = occupancy_of(
        "--threads", str(threads), "--registers", str(registers), "--shared", str(shared), "--cc", "5.0"
    )["occupancy"]
    assert (found["blocks_per_sm"], found["limit"]) == (blocks, limit)
    assert found["share"] == blocks * threads / 2048


@pytest.mark.parametrize(
    ("cc", "threads", "blocks"),
    [("5.0", 1024, 2), ("8.6", 768, 2)],  # as the driver's own search answers
)
def test_s1c_the_block_size_for_the_best_occupancy_as_a_square_of_a_power_of_two(cc, threads, blocks):
    found = occupancy_of("--threads", "256", "--registers", "32", "--shared-per-block", "2*4*T", "--cc", cc)[
        "suggestion"
    ]
    assert (found["threads"], found["blocks_per_sm"]) == (threads, blocks)
    assert found["square"] == 4 ** floor(log(threads) / log(4) + 1e-9)
    assert found["side"] == sqrt(found["square"])


def test_s1c_the_kernel_gets_its_block_size_in_constant_memory_and_its_tiles_in_dynamic_memory():
    text = solution("lab6-occupancy")
    for side in (8, 16):
        report = graded("lab6-occupancy", text, "--tile", str(side), "--case", f"A_HEIGHT={side} A_WIDTH={2 * side}")
        assert (report.verdict, outcomes(report)) == (Verdict.ACCEPTED, {"passed"})
        assert report.launch is not None
        assert report.launch.block == (side, side, 1)
        assert report.launch.shared == 2 * 4 * side * side
    report = graded("lab6-occupancy", text.replace("__constant__ int BLOCK_SIZE", "__constant__ int SIDE"))
    assert report.verdict is not Verdict.ACCEPTED


# -- S1d: contraction -------------------------------------------------------------------------------------------------


def product_on_device(case: CasePlan, fmad: bool, seed: int = 1) -> np.ndarray:
    """What the kernel gives on the CPU device, as bits."""
    made = compile_source(SQUARE, "MatrixMulKernel", "sm_90", {"TILE_WIDTH": "8"}, fmad)
    assert isinstance(made, Compilation)
    assert ("fma.rn.f32" in made.ptx) is fmad
    assert case.launch is not None
    program, operands = load_program(made.ptx, made.entry), buffers(case, make_inputs(case, seed))
    done = run(program, case.launch, arguments(case), operands, Options(budget=full_budget(case)))
    assert not done.findings
    return np.asarray(done.values["P"], np.float32).view(np.uint32)


@pytest.mark.one_in(2, "every second")
@pytest.mark.parametrize("kind", ["integers_left", "integers_right", "permutation", "real"])
def test_s1d_contraction_changes_the_last_bits_of_real_sums_and_of_no_exact_one(kind):
    plan = make_plan(find_exercise("tiled-square"), None, 8, "00")
    case = next(case for case in plan.cases if case.inputs == kind and case.sizes["Width"] in {8, 16})
    fused, plain = product_on_device(case, fmad=True), product_on_device(case, fmad=False)
    assert bool((fused != plain).any()) is (kind == "real")
    assert np.abs(fused.astype(np.int64) - plain.astype(np.int64)).max() < 2**10  # the last bits only
    expected = expected_product(case, make_inputs(case, 1))
    for bits in (fused, plain):
        off = np.abs(bits.view(np.float32).ravel() - expected.values.ravel())
        assert (off <= expected.bound.ravel()).all()


@pytest.mark.parametrize("fmad", ["true", "false"])
def test_s1d_a_right_kernel_is_accepted_with_and_without_contraction(fmad, tmp_path):
    folder = tmp_path / "square"
    shutil.copytree(find_exercise("tiled-square").solution.parent, folder)
    path = folder / "exercise.toml"
    path.write_text(changed(path.read_text(), ("largest_on_cpu", f"fmad = {fmad}\nlargest_on_cpu")))
    report = graded(str(folder), SQUARE, "--tile", "8", "--case", "Width=16")
    assert report.verdict is Verdict.ACCEPTED
    assert {check.case.split()[1] for check in report.checks} >= {"integers_left", "permutation", "real"}
    assert outcomes(report) == {"passed"}


# -- S1e: a single block ----------------------------------------------------------------------------------------------


def test_s1e_all_of_both_matrices_in_shared_memory_of_one_block():
    report = graded("single-block", SINGLE, "--tile", "4")
    assert report.verdict is Verdict.ACCEPTED
    assert report.launch is not None
    assert report.launch.grid == (1, 1, 1)
    totals = analysed("single-block", SINGLE).analysis.evidence.totals
    assert totals.global_load_bytes == 2 * 16 * 16 * 4  # every element once


@pytest.mark.one_in(3, "one of three changes")
@pytest.mark.parametrize(
    "change", [("if (x < A_WIDTH) {", "{"), ("if (y < B_HEIGHT) {", "{"), ("__syncthreads();", "")]
)
def test_s1e_without_its_checks_or_its_barrier_it_is_wrong(change):
    text = changed(SINGLE, change)
    verdict = graded("single-block", text, "--case", "A_HEIGHT=16 A_WIDTH=7 B_WIDTH=15").verdict
    assert verdict in {Verdict.OUT_OF_BOUNDS, Verdict.DATA_RACE}


# -- S1f: bank conflicts ----------------------------------------------------------------------------------------------

# Both tiles are kept the other way round, so that the threads of a warp go down a column of shared memory.
UPRIGHT = (
    ("Mds[ty][tx] = M", "Mds[tx][ty] = M"),
    ("Nds[ty][tx] = N", "Nds[tx][ty] = N"),
    ("Mds[ty][k] * Nds[k][tx]", "Mds[k][ty] * Nds[tx][k]"),
)
PADDED = (
    ("float Mds[TILE_WIDTH][TILE_WIDTH]", "float Mds[TILE_WIDTH][TILE_WIDTH + 1]"),
    ("float Nds[TILE_WIDTH][TILE_WIDTH]", "float Nds[TILE_WIDTH][TILE_WIDTH + 1]"),
)


@pytest.mark.one_in(2, "two of three")
@pytest.mark.parametrize(
    ("changes", "ways"), [((), 1), (UPRIGHT, 32), (UPRIGHT + PADDED, 1)], ids=["inverted", "upright", "padded"]
)
def test_s1f_bank_conflicts_go_by_inverting_the_storage_or_by_padding(changes, ways):
    found = analysed("tiled-square", changed(SQUARE, *changes), "--tile", "32", "--size", "32", "--cc", "8.6")
    for name in ("Mds", "Nds"):
        stored = found.access(name, "= M[" if name == "Mds" else "= N[")
        assert stored.requests == 32
        assert stored.ptx_wavefronts == ways * stored.ptx_requests
        assert stored.conflicts == (ways - 1) * stored.requests
    read = found.access("Nds", "Pvalue +=")
    assert read.requests > 0
    assert read.ptx_wavefronts == ways * read.ptx_requests
    assert (read.conflicts > 0) is (ways > 1)
    totals = found.analysis.evidence.totals
    assert (totals.shared_load_conflicts > 0) is (totals.shared_store_conflicts > 0) is (ways > 1)
