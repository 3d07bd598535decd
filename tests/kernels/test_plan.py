"""What a job will run is known before anything is compiled."""

from __future__ import annotations

import pytest

from kernels.exercise import InputKind, find_exercise
from kernels.judging.plan import Plan, make_plan, plan_at, select_cases
from kernels.launch import Launch
from kernels.source.source_file import Source, read_source
from kernels.verdict import Verdict

TILED = find_exercise("tiled")
KERNEL = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {}\n"


def plan_of(text: str, tile: int | None = None) -> Plan:
    source = read_source(text.encode(), TILED)
    assert isinstance(source, Source)
    return make_plan(TILED, source, tile, "00")


def widths(plan: Plan) -> set[int]:
    return {case.sizes["Width"] for case in plan.cases}


def test_cases_are_built_around_the_tile_of_the_file():
    assert {7, 8, 9} <= widths(plan_of("#define TILE_WIDTH 8\n" + KERNEL, tile=32))
    assert {31, 32, 33} <= widths(plan_of(KERNEL, tile=32))
    assert {15, 16, 17} <= widths(plan_of(KERNEL))


def test_a_case_knows_launch_matrices_and_arguments():
    (case,) = (case for case in plan_of(KERNEL).cases if case.name == "Width=17 integers_left")
    assert case.launch == Launch((2, 2, 1), (16, 16, 1), 0)
    assert [(matrix.name, matrix.rows, matrix.columns) for matrix in case.matrices] == [
        ("M", 17, 17), ("N", 17, 17), ("P", 17, 17),
    ]  # fmt: skip
    assert [argument.matrix or argument.number for argument in case.arguments] == ["M", "N", "P", 17]


def test_a_launch_comment_wins_over_the_rule_of_the_exercise():
    plan = plan_of("#define B 32\n//!tilelab block=(B,8) grid=(ceil(Width/B), ceil(Width/8))\n" + KERNEL)
    (case,) = select_cases(plan, "Width=17 integers_left").cases
    assert case.launch == Launch((1, 3, 1), (32, 8, 1), 0)


def test_a_launch_that_cannot_be_made_is_a_finding_on_the_comment():
    plan = plan_of("// first\n//!tilelab block=(64,32)\n" + KERNEL)
    problem = plan.cases[0].problem
    assert plan.cases[0].launch is None
    assert problem is not None
    assert (problem.kind, problem.line) == (Verdict.RESOURCE_LIMIT, 2)


def test_permutation_cases_take_turns():
    turns = [case.turn for case in plan_of(KERNEL).cases if case.inputs is InputKind.PERMUTATION]
    assert turns == list(range(len(turns)))
    assert len(turns) >= 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Width=1", {1}),
        ("Width=17 integers_left", {17}),
        ("Width=17, whole numbers, left", {17}),
        ("left whole Width=17", {17}),
        ("Real", {2, 13, 29}),
        ("Width=17 Width=1", set()),
        ("", set()),
        ("7", set()),
    ],
)
def test_cases_are_chosen_by_whole_words(text, expected):
    assert widths(select_cases(plan_of(KERNEL), text)) == expected


def test_a_closer_look_is_a_plan_of_one_case_at_any_sizes():
    source = read_source(("#define TILE_WIDTH 8\n" + KERNEL).encode(), TILED)
    assert isinstance(source, Source)
    plan = plan_at(TILED, source, 32, {"Width": 100}, "5eed")
    (case,) = plan.cases
    assert (plan.tile, plan.seed) == (8, "5eed")
    assert (case.sizes, case.inputs, case.on_cpu) == ({"Width": 100}, InputKind.INTEGERS_LEFT, True)
    assert case.launch == Launch((13, 13, 1), (8, 8, 1), 0)
    assert plan_at(TILED, None, None, {"Width": 32}).cases[0].launch == Launch((2, 2, 1), (16, 16, 1), 0)


@pytest.mark.parametrize(
    ("text", "tile", "line"),
    [
        ("\n#define TILE_WIDTH 64\n", None, 2),
        ("//!tilelab tile=64\n", None, 1),
        ("\n//!tilelab shared=64\n", 64, 2),
        ("", 64, None),
    ],
)
def test_a_tile_whose_blocks_are_too_large_names_the_largest_that_fits(text, tile, line):
    problem = plan_of(text + KERNEL, tile).cases[0].problem
    assert problem is not None
    assert (problem.kind, problem.line) == (Verdict.RESOURCE_LIMIT, line)
    assert "A tile of 64" in problem.message
    assert "4,096 threads" in problem.message


def test_a_block_of_the_files_own_that_is_too_large_is_named():
    problem = plan_of("//!tilelab block=(64, 64) tile=64\n" + KERNEL).cases[0].problem
    assert problem is not None
    assert "(64,64,1)" in problem.message
