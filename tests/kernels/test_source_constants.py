"""What a file says about its tile, its constants and its launch."""

from __future__ import annotations

import pytest

from kernels.exercise import find_exercise
from kernels.judging.plan import make_plan
from kernels.source.source_file import Source, read_source
from kernels.verdict import Severity
from tests.kernels.readings import KERNEL, TILED, answered, only, taken

# --- The tile


@pytest.mark.parametrize(
    ("declaration", "own"),
    [
        ("#define TILE_WIDTH 32\n", 32),
        ("#define TILE_WIDTH (1 << 3)\n", 8),
        ("#define B 8\n#define TILE_WIDTH (2*B)\n", 16),
        ("#define TILE_WIDTH B*2\n#define B 2+1\n", 4),
        ("const int TILE_WIDTH = 32;\n", 32),
        ("const int TILE_WIDTH{8};\n", 8),
        ("static constexpr unsigned TILE_WIDTH(2 * 4);\n", 8),
        ("constexpr int A = 4, TILE_WIDTH = A * 4;\n", 16),
        ("static const unsigned int TILE_WIDTH = 8u;\n", 8),
        ("enum { TILE_WIDTH = 8 };\n", 8),
        ("enum Sizes : int { ONE = 1, TWO, TILE_WIDTH = 30, NEXT };\n", 30),
        ("__device__ int f() { int TILE_WIDTH = blockDim.x; return TILE_WIDTH; }\n", None),
    ],
)
def test_a_file_that_declares_the_tile_keeps_its_own(declaration, own):
    source = taken(declaration + KERNEL)
    assert source.own_macros == {"TILE_WIDTH"}
    assert source.plan.tile.value == own
    assert source.tile(TILED, 8) == (own or 8)
    assert source.tile(TILED) == (own or 16)
    assert source.defines(TILED, 8, {"Width": 3}) == {}


@pytest.mark.parametrize(
    "declaration",
    [
        "#undef TILE_WIDTH\n#define TILE_WIDTH 32\n",
        "template <int TILE_WIDTH> __device__ int f() { return TILE_WIDTH; }\n",
        "const int TILE_WIDTH = 16;\ntemplate <int TILE_WIDTH> __device__ int f() { return TILE_WIDTH; }\n",
        "__device__ int f(int TILE_WIDTH);\n",
        "#if FAST\n#define TILE_WIDTH 32\n#else\n#define TILE_WIDTH 16\n#endif\n",
        "#if FAST\n#define TILE_WIDTH 32\n#endif\n#ifndef TILE_WIDTH\n#define TILE_WIDTH 16\n#endif\n",
        "#ifdef FAST\n#define B 32\n#endif\n#define TILE_WIDTH B\n",
        "#define TILE_WIDTH (int)(16.0)\n",
    ],
)
def test_a_tile_that_the_text_does_not_tell_is_asked_for(declaration):
    text = (declaration + "__device__ int used() { return TILE_WIDTH; }\n" + KERNEL).encode()
    source = taken(text)
    assert source.plan.asked == ("TILE_WIDTH",)
    with pytest.raises(ValueError, match="TILE_WIDTH"):
        make_plan(TILED, source, 8, seed="0")
    settled = read_source(text, TILED, answered(TILE_WIDTH=(32,)))
    assert isinstance(settled, Source)
    assert (settled.plan.asked, settled.tile(TILED, 8), settled.own_macros) == ((), 32, source.own_macros)
    for values in ((), (8, 16), (129,)):
        assert isinstance(read_source(text, TILED, answered(TILE_WIDTH=values)), list)


@pytest.mark.parametrize("exercise", ["naive", "lab6-occupancy", "single-block"])
def test_an_exercise_whose_launch_does_not_hang_on_the_tile_asks_for_none(exercise):
    found = find_exercise(exercise)
    name = found.tile_name
    text = found.solution.read_text().replace(f"#define {name} ", "#define OTHER ")
    text = text if exercise == "lab6-occupancy" else f"#define {name} sizeof(double)\n{text}"
    source = read_source(text.encode(), found)
    assert isinstance(source, Source), source
    assert (source.plan.asked, source.tile(found, 8)) == ((), 8)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#ifndef TILE_WIDTH\n#define TILE_WIDTH 32\n#endif\n",
        "#if !defined(TILE_WIDTH)\n#define TILE_WIDTH 32\n#endif\n",
        "#ifdef TILE_WIDTH\n#else\n#define TILE_WIDTH 32\n#endif\n",
        "__shared__ float a[TILE_WIDTH][TILE_WIDTH];\n",
        "__device__ int f() { return TILE_WIDTH == 16; }\n",
        "#define BLOCK (TILE_WIDTH * 2)\n",
        "#ifndef TILELAB\n#define TILE_WIDTH 32\n#endif\n",
        "// #define TILE_WIDTH 32\n",
    ],
)
def test_a_file_that_leaves_the_tile_open_is_given_one(text):
    source = taken(text + KERNEL)
    assert not source.own_macros
    assert not source.plan.tile.fixed
    assert source.tile(TILED, 8) == 8
    assert source.defines(TILED, 8, {"Width": 3}) == {"TILE_WIDTH": "8"}


@pytest.mark.parametrize("value", ["0", "-1", "129", "1000000"])
def test_a_tile_that_no_case_can_be_built_around_is_refused(value):
    finding = only(f"\n#define TILE_WIDTH {value}\n" + KERNEL)
    assert finding.line == 2
    assert f"The tile is {int(value):,} here" in finding.message


# --- Constants and the launch comment


def test_integer_macros_and_constants_are_known_to_the_launch_comment():
    source = taken(
        "#define BX 32 // threads along x\n#define BY (BX / 4)\n#define F(x) x\n#define PI 3.14f\n"
        "constexpr int COARSE = 4;\nenum { A, B = 7, C };\n"
        "//!tilelab block=(BX, BY) grid=(ceil(Width/(BX*COARSE)), ceil(Width/BY)) shared=BX*4\n" + KERNEL
    )
    assert source.macros == {"BX": 32, "BY": 8, "COARSE": 4, "A": 0, "B": 7, "C": 8}
    names = source.launch_names(TILED, 16, {"Width": 130})
    launch = TILED.launch.override(source.plan.launch).resolve(names)
    assert (launch.grid, launch.block, launch.shared) == ((2, 17, 1), (32, 8, 1), 128)


def test_a_name_with_two_values_is_not_known():
    text = "#if X\n#define BX 32\n#else\n#define BX 16\n#endif\n//!tilelab block=(BX,1)\n"
    assert taken(text + KERNEL).plan.asked == ("BX",)
    result = read_source((text + KERNEL).encode(), TILED, answered(BX=()))
    assert isinstance(result, list)
    (finding,) = result
    assert finding.line == 6
    assert "`BX`, which isn't an integer with one value (line 2)" in finding.message
    assert "TILE_WIDTH, Width." in finding.message


def test_a_launch_comment_may_name_the_tile():
    source = taken("#define BLOCK 32\n//!tilelab tile=BLOCK\n" + KERNEL)
    assert source.plan.tile.value == 32
    assert source.tile(TILED, 8) == 32
    assert source.launch_names(TILED, 32, {"Width": 3})["TILE_WIDTH"] == 32


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("//!tilelab block=(8,8)\n//!tilelab grid=(1,1)\n", 2, "second launch comment. The first is at line 1"),
        ("\n\n//!tilelab blok=(8,8)\n", 3, "`blok` is not"),
        ("//!tilelab tile=Width\n", 1, "`Width` isn't one"),
        ("//!tilelab tile=500\n", 1, "The tile is 500 here"),
    ],
)
def test_a_bad_launch_comment_is_refused_on_its_line(text, line, message):
    finding = only(text + KERNEL)
    assert finding.line == line
    assert message in finding.message


def test_a_launch_comment_in_a_string_a_block_comment_or_a_skipped_part_is_none():
    text = 'const char* s = "//!tilelab x";\n/* //!tilelab x */\n#ifndef TILELAB\n//!tilelab x\n#endif\n'
    assert taken("__device__ " + text + KERNEL).plan.launch is None


def test_sizes_that_come_as_macros_are_left_out_or_refused(tmp_path):
    folder = tmp_path / "sized"
    folder.mkdir()
    for file in ("handout.md", "starter.cu", "solution.cu"):
        (folder / file).write_text("")
    text = "[[cases]]".join((TILED.root / "exercise.toml").read_text().split("[[cases]]")[:4])
    (folder / "exercise.toml").write_text('size_macros = { WIDTH = "Width" }\n' + text)
    exercise = find_exercise(str(folder))
    result = read_source(("enum { WIDTH = 8 };\n" + KERNEL).encode(), exercise)
    assert isinstance(result, list)
    assert (result[0].line, "Tilelab sets `WIDTH` for each case" in result[0].message) == (1, True)
    for fixed in ("#define WIDTH 8\n", "const int WIDTH = 4 * 2;\n", "static constexpr int WIDTH = 8;\n"):
        source = read_source((fixed + KERNEL).encode(), exercise)
        assert isinstance(source, Source)
        assert source.text == "\n" + KERNEL
        assert [(each.line, each.severity) for each in source.warnings] == [(1, Severity.WARNING)]
        assert "`WIDTH` in line 1 has no effect" in source.warnings[0].message
    source = read_source(("#ifndef WIDTH\n#define WIDTH 8\n#endif\n" + KERNEL).encode(), exercise)
    assert isinstance(source, Source)
    assert source.defines(exercise, 16, {"Width": 5}) == {"TILE_WIDTH": "16", "WIDTH": "5"}
    assert source.launch_names(exercise, 16, {"Width": 5})["WIDTH"] == 5


# --- What follows from the tile


def test_what_is_built_on_an_open_tile_has_its_value_case_by_case():
    guarded = "#ifndef TILE_WIDTH\n#define TILE_WIDTH 16\n#endif\n"
    source = taken(guarded + "#define PITCH (TILE_WIDTH + 1)\nconst int CELLS = PITCH * TILE_WIDTH;\n" + KERNEL)
    assert source.macros == {}
    names = source.launch_names(TILED, 8, {"Width": 5})
    assert (names["PITCH"], names["CELLS"]) == (9, 72)


def test_a_launch_comment_may_use_what_is_built_on_the_tile():
    guarded = "#ifndef TILE_WIDTH\n#define TILE_WIDTH 16\n#endif\n#define HALF (TILE_WIDTH / 2)\n"
    source = taken("//!tilelab block=(TILE_WIDTH, HALF)\n" + guarded + KERNEL)
    plan = make_plan(TILED, source, 32, seed="0")
    assert {case.launch.block for case in plan.cases if case.launch is not None} == {(32, 16, 1)}


def test_a_name_with_two_values_that_hang_on_the_tile_has_none():
    source = taken("#if X\n#define PITCH (TILE_WIDTH + 1)\n#else\n#define PITCH (TILE_WIDTH + 2)\n#endif\n" + KERNEL)
    assert "PITCH" not in source.launch_names(TILED, 8, {"Width": 5})
