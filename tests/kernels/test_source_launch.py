"""Launch comments as a file holds them: names that they may use, and comments that only look like one."""

from __future__ import annotations

import pytest

from kernels.source.names import Evaluated, Evaluations, Given
from kernels.source.source_file import Source, read_source
from kernels.verdict import Severity
from tests.kernels.readings import KERNEL, TILED, answered, only, taken


@pytest.mark.parametrize(
    "comment",
    [
        "/*!tilelab block=(32,8) */",
        "/*\n * tilelab block=(32,8)\n */",
        "//tilelab block=(32,8)",
        "// Tilelab: grid = (1,1)",
        "/// tilelab tile=8",
    ],
)
def test_a_comment_that_is_nearly_a_launch_comment_is_pointed_out(comment):
    source = taken(f"\n{comment}\n{KERNEL}")
    (warning,) = source.warnings
    assert (warning.line, warning.severity) == (2, Severity.WARNING)
    assert "`//!tilelab`" in warning.message
    assert source.plan.launch is None


@pytest.mark.parametrize(
    "comment",
    [
        "// graded with tilelab, block=(16,16)",
        "// tilelab launches this kernel itself: block=(16,16)",
        "/* for tilelab */",
        "// //!tilelab block=(8,8)",
        "//!tilelab block=(16,16) // tilelab block=(16,16)",
        "/* tilelab block=(8,8) */\n//!tilelab block=(16,16)",
    ],
)
def test_other_comments_are_left_alone(comment):
    assert taken(f"{comment}\n{KERNEL}").warnings == ()


@pytest.mark.parametrize(
    ("define", "line"),
    [("#define G ((Width+T-1)/T)", 1), ("#define G(n) ((n)/16)", 1), ("#define F 1\n__device__ const int G = f();", 2)],
)
def test_a_name_of_the_file_that_is_no_number_is_told_from_an_unknown_one(define, line):
    text = f"{define}\n//!tilelab grid=(G,G)\n{KERNEL}"
    assert taken(text).plan.asked == ("G",)
    result = read_source(text.encode(), TILED, answered(G=()))
    assert isinstance(result, list)
    message = result[0].message
    assert "`G`" in message
    assert f"(line {line})" in message


def test_all_names_that_only_the_compiler_knows_are_asked_at_once():
    text = "//!tilelab block=(BX, 4)\n#define BX sizeof(int)\n#define TILE_WIDTH side(0)\n" + KERNEL
    used = "__device__ int used() { return TILE_WIDTH * blockIdx.y; }\n"
    assert taken(text + used).plan.asked == ("BX", "TILE_WIDTH")


@pytest.mark.parametrize(
    ("name", "meant"), [("width", "Width"), ("TILEWIDTH", "TILE_WIDTH"), ("tile_width", "TILE_WIDTH")]
)
def test_what_was_probably_meant_is_asked(name, meant):
    message = only(f"//!tilelab grid=({name},1)\n{KERNEL}").message
    assert f"`{name}`, which is unknown. Did you mean `{meant}`?" in message


@pytest.mark.parametrize("filling", [" ", "*", " *", "/", "tilelab "])
def test_a_long_comment_is_read_in_no_time(filling):
    taken(f"/*{filling * (40_000 // len(filling))}*/\n{KERNEL}")


def test_a_name_unlike_any_other_is_not_guessed():
    assert "meant?" not in only(f"//!tilelab grid=(zebra,1)\n{KERNEL}").message


NAIVE = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {{ P[{}] = 0; }}"


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("//!tilelab block=(32,8)\n" + NAIVE.format("blockIdx.x * blockDim.x"), (2, 8)),
        ("//!tilelab block=(T, T)\n#define T 8\n" + NAIVE.format("blockIdx.x * T"), (8, 8)),
        ("//!tilelab block=(32, 8)\n" + NAIVE.format("blockIdx.x * 32 + blockIdx.y * 32"), (2, 2)),
        ("//!tilelab block=(TILE_WIDTH, 4)\n" + NAIVE.format("blockIdx.y * TILE_WIDTH"), (4, 4)),
        ("//!tilelab block=(32, 8) grid=(1, 1)\n" + NAIVE.format("0"), (1, 1)),
        ("//!tilelab block=(32, 8)\n" + NAIVE.format("blockIdx.y * (int)(blockDim.y)"), (2, 8)),
        ("//!tilelab block=(32, 8)\n#define S 16\n" + NAIVE.format("blockIdx.x * (int)S"), (4, 8)),
        ("//!tilelab block=(32, 8)\n#define H blockDim.y\n" + NAIVE.format("blockIdx.y * H"), (2, 8)),
        ("//!tilelab block=(64)\n" + NAIVE.format("blockIdx.y * Width + threadIdx.x"), (1, 64)),
        ("//!tilelab block=(64)\n" + NAIVE.format("blockIdx.y * n").replace("Width", "n"), (1, 64)),
        ("//!tilelab block=(64)\n" + NAIVE.format("blockIdx.y * n").replace("{", "{ int n, m; n = m; m = n;"), (1, 64)),
    ],
)
def test_a_block_without_a_grid_gets_a_grid_that_covers_the_matrix(text, blocks):
    unknown: Evaluated = {"H": (), "Width": (), "n": (), "m": ()}
    source = read_source(text.encode(), TILED, Evaluations({frozenset(): unknown}))
    assert isinstance(source, Source), source
    rule = TILED.launch.override(source.plan.launch)
    assert rule.resolve(source.launch_names(TILED, 16, {"Width": 64})).grid == (*blocks, 1)


@pytest.mark.parametrize(
    ("before", "index"),
    [
        ("constexpr int s() { return 4; }", "blockIdx.y * s()"),
        ("constexpr int s() { return 4; }", "s() * blockIdx.y"),
        ("#define ROWS (blockDim.y / 2)", "blockIdx.y * ROWS"),
        ("", "blockIdx.x * (blockDim.x / 2)"),
    ],
)
def test_a_block_without_a_grid_is_refused_where_the_steps_between_blocks_are_unknown(before, index):
    text = f"//!tilelab block=(16, 8)\n{before}\n" + NAIVE.format(index)
    result = read_source(text.encode(), TILED, Evaluations({frozenset(): {"ROWS": ()}}))
    assert isinstance(result, list), result
    assert result[0].line == 3


def test_a_name_whose_value_differs_from_case_to_case_is_known_for_each():
    text = f"//!tilelab block=(TILE_WIDTH, ROWS)\n#define ROWS rows(TILE_WIDTH)\n{KERNEL}".encode()
    given = {tile: frozenset({("TILE_WIDTH", str(tile))}) for tile in (8, 16, 32)}
    cases: dict[Given, Evaluated] = {given[8]: {"ROWS": (2,)}}
    others: dict[Given, Evaluated] = {given[16]: {"ROWS": (4,)}, given[32]: {"ROWS": ()}}
    source = read_source(text, TILED, Evaluations(cases, others))
    assert isinstance(source, Source), source
    sizes = {"Width": 5}
    assert [source.launch_names(TILED, tile, sizes).get("ROWS") for tile in given] == [2, 4, None]


@pytest.mark.parametrize(("values", "words"), [((8, 16), "more than one value"), ((8, None), "evaluate")])
def test_a_tile_that_differs_from_case_to_case_is_refused(values, words):
    text = f"#define TILE_WIDTH side(0)\n{KERNEL}__shared__ float a[TILE_WIDTH];".encode()
    answers: dict[Given, Evaluated] = {
        frozenset({("CASE", str(case))}): {"TILE_WIDTH": () if value is None else (value,)}
        for case, value in enumerate(values)
    }
    result = read_source(text, TILED, Evaluations(answers))
    assert isinstance(result, list), result
    assert result[0].line == 1
    assert words in result[0].message
