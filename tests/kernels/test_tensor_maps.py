"""Tensor maps of exercises and submissions: which ones exist, and what is refused before a kernel runs."""

from __future__ import annotations

import re

import pytest

from kernels.exercise import find_exercise, read_exercise
from kernels.exercise.schema import definition_in
from kernels.exercise.table import ExerciseError
from kernels.exercise.tensor_map import TensorMap
from kernels.exercise.values import ElementType
from kernels.facts import Mistake
from kernels.judging.plan import CasePlan, make_plan
from kernels.launch import LaunchError, parse_launch_comment
from kernels.source.source_file import Source, read_source
from kernels.verdict import Finding, Verdict

EXERCISE = find_exercise("hopper-wgmma")
SOLUTION = EXERCISE.solution.read_text("utf-8")
COMMENT = "//!tilelab"


_SLICES = 'interleave = 16, extents = "(rows, depth/8, 1)"'


def read(text: str) -> Source | list[Finding]:
    return read_source(text.encode(), EXERCISE)


def planned(text: str) -> CasePlan:
    """The case of one whole tile."""
    source = read(text)
    assert isinstance(source, Source), source
    return next(case for case in make_plan(EXERCISE, source, None, "0").cases if case.on_cpu)


def maps(case: CasePlan) -> list[TensorMap]:
    return [argument.map for argument in case.arguments if argument.map is not None]


def test_maps_follow_the_operands_and_the_tile():
    left, right = maps(planned(SOLUTION))

    assert left == TensorMap("M", ElementType.BFLOAT, (32, 40), (64,), (64, 64), 128)
    # N is stored column by column
    assert right == TensorMap("N", ElementType.BFLOAT, (32, 24), (64,), (64, 64), 128)


def test_constants_of_the_file_choose_boxes():
    text = SOLUTION.replace("#define TILE_M 64 ", "#define TILE_M 128 ").replace(
        "#define TILE_K 64 ", "#define TILE_K 32 "
    )

    left, right = maps(planned(text))

    assert (left.box, left.swizzle) == ((32, 128), 64)
    assert (right.box, right.swizzle) == ((32, 64), 64)


def test_a_comment_chooses_box_and_swizzle():
    text = f"{COMMENT} box.mapN=(DEEP, 2*TILE_N) swizzle.mapN=32 shared=64\n#define DEEP 16\n{SOLUTION}"

    left, right = maps(planned(text))

    assert left.box == (64, 64)
    assert (right.box, right.swizzle) == ((16, 128), 32)


@pytest.mark.parametrize(
    ("comment", "words"),
    [
        ("box.mapM=(60, 64)", "a multiple of 8"),
        ("box.mapM=(128, 64)", "at most as many"),
        ("box.mapM=(64, 257)", "256 elements"),
        ("box.mapM=64 swizzle.mapM=0", "2 dimensions"),
        ("swizzle.mapM=96", "must be one of"),
        ("swizzle.mapM=1/(rows-40)", "has no value"),
    ],
)
def test_a_map_that_no_gpu_has_is_found_before_the_run(comment, words):
    problem = planned(f"\n{COMMENT} {comment}\n{SOLUTION}").problem

    assert problem is not None
    assert (problem.kind, problem.line) == (Verdict.RESOURCE_LIMIT, 2)
    assert problem.facts.mistake is Mistake.IMPOSSIBLE_MAP
    assert words in problem.message


def test_a_map_of_another_name_is_refused():
    refused = read(f"{COMMENT} box.M=(64, 64)\n{SOLUTION}")

    assert isinstance(refused, list)
    (finding,) = refused
    assert (finding.kind, finding.line) == (Verdict.REJECTED, 1)


@pytest.mark.parametrize("body", ["box=(1, 2)", "box.=(1, 2)", "box.a=1 box.a=2", "box.a.b=1", "block.a=1"])
def test_a_key_for_a_map_has_one_name_and_occurs_once(body):
    with pytest.raises(LaunchError):
        parse_launch_comment(f"!tilelab {body}", 1)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('box = "(TILE_K, TILE_M)"', 'box = "(TILE_K, TILE_M, 1)"', "parameters[0].map"),
        ('box = "(TILE_K, TILE_M)"', 'box = "(TILE_K, 1, 1, 1, 1, 1)"', "parameters[0].map.box"),
        ('operand = "M", box', 'operand = "X", box', "parameters"),
        ('swizzle = "2*TILE_K" }', 'swizzle = "TILE_K" }', "parameters[0].map"),
        ('swizzle = "2*TILE_K" }', 'swizzle = "2*TILE_K", extents = "(depth, rows + 1)" }', "parameters[0].map"),
        ('swizzle = "2*TILE_K" }', 'swizzle = "2*TILE_K", outside = "one" }', "parameters[0].map.outside"),
        ('swizzle = "2*TILE_K" }', 'swizzle = "2*TILE_K", interleave = 16 }', "parameters[0].map"),
        ('swizzle = "2*TILE_K" }', 'swizzle = "2*TILE_K", interleave = 8 }', "16, 32"),
        ('(TILE_K, TILE_M)", swizzle = "2*TILE_K" }', f'(TILE_M, 2, 1)", {_SLICES} }}', "parameters[0].map"),
        (
            '(TILE_K, TILE_M)", swizzle = "2*TILE_K" }',
            f'(TILE_M, 1, 1)", {_SLICES.replace("16", "32")} }}',
            "parameters[0].map",
        ),
        ('swizzle = "2*TILE_K" }', 'swizzle = "2*TILE_K" }\nsize = "rows"', "parameters[0].operand"),
        ('type = "const __grid_constant__ CUtensorMap"', 'type = "CUtensorMap"', "parameters[0].type"),
        ("depth = 32, cols", "depth = 36, cols", "parameters[0].map"),
    ],
)
def test_an_exercise_with_an_impossible_map_is_refused(old, new, field):
    text = definition_in(EXERCISE.root)
    assert old in text

    with pytest.raises(ExerciseError, match=re.escape(field)):
        read_exercise("hopper-wgmma", text.replace(old, new, 1))


def test_a_map_that_only_one_tile_makes_impossible_names_the_tile_and_the_macros():
    text = definition_in(EXERCISE.root).replace('box = "(TILE_K, TILE_M)"', 'box = "(TILE_K, 5*TILE_M)"', 1)
    with pytest.raises(ExerciseError, match=re.escape(f"{EXERCISE.tile_name}={EXERCISE.tile}")):
        read_exercise("hopper-wgmma", text)


def test_a_tensor_may_have_other_dimensions_than_its_operand():
    wide = 'swizzle = "2*TILE_K", outside = "nan", extents = "(depth, 2, rows/2)" }'
    text = definition_in(EXERCISE.root).replace('swizzle = "2*TILE_K" }', wide, 1)
    text = text.replace('box = "(TILE_K, TILE_M)"', 'box = "(TILE_K, 2, TILE_M/2)"').replace("TILE_M + 1", "TILE_M + 2")

    exercise = read_exercise("hopper-wgmma", text)

    (case, *_) = make_plan(exercise, None, None, "0").cases
    described, _ = maps(case)
    assert (described.extents, described.strides, described.nan) == ((32, 2, 20), (64, 128), True)


def test_an_interleaved_tensor_consists_of_slices_of_channels():
    text = definition_in(EXERCISE.root).replace(
        '(TILE_K, TILE_M)", swizzle = "2*TILE_K" }', f'(TILE_M, 1, 1)", {_SLICES} }}', 1
    )

    (case, *_) = make_plan(read_exercise("hopper-wgmma", text), None, None, "0").cases
    described, _ = maps(case)

    assert (described.extents, described.strides) == ((40, 4, 1), (40 * 16, 160 * 16))
    assert (described.box, described.bytes) == ((64, 1, 1), 64 * 16)
