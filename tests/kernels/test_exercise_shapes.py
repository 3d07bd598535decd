"""Exercises beside square products: rectangles in module globals, vectors and sections."""

from __future__ import annotations

import shutil

import pytest

from kernels.exercise import BUILT_IN, Binding, Exercise, ExerciseError, InputKind, Layout, load_exercise


@pytest.fixture
def folder(tmp_path):
    """A folder for an `exercise.toml` of a test's own."""
    return shutil.copytree(BUILT_IN / "tiled", tmp_path / "mine")


def spoil(folder, old, new):
    path = folder / "exercise.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


RECTANGLES = """
title = "Blocked multiplication of rectangles"
operation = "matmul"
kernel = "matrixMulCUDA"
sizes = ["A_HEIGHT", "A_WIDTH", "B_WIDTH"]
metric = "time"
fmad = false
warp_races = "warning"
largest_on_cpu = 128
size_macros = { A_HEIGHT = "A_HEIGHT", A_WIDTH = "A_WIDTH", B_HEIGHT = "A_WIDTH", B_WIDTH = "B_WIDTH" }
operands = [
    { name = "A", role = "input", rows = "A_HEIGHT", cols = "A_WIDTH", binding = "global", symbol = "d_A" },
    { name = "B", role = "input", rows = "A_WIDTH", cols = "B_WIDTH", binding = "global", symbol = "d_B", \
layout = "column_major" },
    { name = "C", role = "output", rows = "A_HEIGHT", cols = "B_WIDTH", binding = "global", symbol = "d_C" },
]
[tile]
name = "BLOCK_SIZE"
default = 8
allowed = [8, 16]
largest = 32
[launch]
block = "(BLOCK_SIZE, BLOCK_SIZE)"
grid = "(B_WIDTH / BLOCK_SIZE, A_HEIGHT / BLOCK_SIZE)"
shared = "2 * BLOCK_SIZE * BLOCK_SIZE * 4"
[ranking]
A_HEIGHT = 1024
A_WIDTH = 2048
B_WIDTH = 512
[[cases]]
sizes = { A_HEIGHT = "BLOCK_SIZE", A_WIDTH = "2*BLOCK_SIZE", B_WIDTH = "3*BLOCK_SIZE" }
inputs = ["integers_left", "real"]
"""


@pytest.fixture
def rectangles(folder) -> Exercise:
    (folder / "exercise.toml").write_text(RECTANGLES)
    return load_exercise(folder)


def test_the_schema_carries_rectangles_in_module_globals_with_size_macros(rectangles):
    case = rectangles.cases(8)[0]
    assert case.name == "A_HEIGHT=8 A_WIDTH=16 B_WIDTH=24 integers_left"
    assert rectangles.defines(case.sizes) == {"A_HEIGHT": 8, "A_WIDTH": 16, "B_HEIGHT": 16, "B_WIDTH": 24}
    assert rectangles.dot_product_length(case.sizes) == 16
    assert rectangles.parameters == ()
    assert [operand.binding for operand in rectangles.operands] == [Binding.GLOBAL] * 3
    assert rectangles.operand("B").layout is Layout.COLUMN_MAJOR
    assert rectangles.output.symbol == "d_C"
    launch = rectangles.launch.resolve({**case.sizes, "BLOCK_SIZE": 8})
    assert (launch.grid, launch.block, launch.shared) == ((3, 1, 1), (8, 8, 1), 512)


def test_real_values_are_left_out_where_the_dot_product_is_too_long(rectangles):
    assert InputKind.REAL in {case.inputs for case in rectangles.cases(8)}
    assert InputKind.REAL in {case.inputs for case in rectangles.cases(16)}
    assert InputKind.REAL not in {case.inputs for case in rectangles.cases(17)}


SUM = """
title = "Partial sums"
operation = "sum"
kernel = "reduce"
sizes = ["Length"]
metric = "gbps"
largest_on_cpu = 5000
section = "2*BLOCK_SIZE"
parameters = [
    { type = "float*", name = "input", operand = "input" },
    { type = "float*", name = "output", operand = "output" },
]
operands = [
    { name = "input", role = "input", rows = "Length" },
    { name = "output", role = "output", rows = "ceil(Length/(2*BLOCK_SIZE))" },
]
[tile]
name = "BLOCK_SIZE"
default = 64
allowed = [32, 64]
largest = 512
[launch]
block = "BLOCK_SIZE"
grid = "ceil(Length/(2*BLOCK_SIZE))"
[ranking]
Length = 1048576
[[cases]]
sizes = { Length = "5*BLOCK_SIZE + 3" }
inputs = ["integers"]
"""


def test_a_sum_has_vectors_and_sections(folder):
    (folder / "exercise.toml").write_text(SUM)
    exercise = load_exercise(folder)
    names = exercise.names(64, {"Length": 323})
    assert [operand.vector for operand in exercise.operands] == [True, True]
    assert exercise.output.shape(names) == (3, 1)
    assert exercise.section_length(names) == 128
    spoil(folder, 'section = "2*BLOCK_SIZE"', "")
    assert load_exercise(folder).section_length(names) == 108


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            'section = "2*BLOCK_SIZE"',
            "section = 64",
            "with Length=323, 323 elements in sections of 64 make 6 sums, but the output has 3 elements",
        ),
        ('section = "2*BLOCK_SIZE"', 'section = "Length - Length"', "a section has 0 elements"),
        ('section = "2*BLOCK_SIZE"', "section = 10000000", "it may have 1 to 8,388,608"),
    ],
)
def test_sections_that_do_not_fit_are_refused(folder, old, new, reason):
    (folder / "exercise.toml").write_text(SUM)
    spoil(folder, old, new)
    with pytest.raises(ExerciseError) as caught:
        load_exercise(folder)
    assert caught.value.field == "operands"
    assert reason in str(caught.value)
