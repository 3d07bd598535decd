"""Launch comments as a file holds them: names that they may use, and comments that only look like one."""

from __future__ import annotations

import pytest

from kernels.verdict import Severity
from tests.kernels.readings import KERNEL, only, taken


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
    assert source.launch is None


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
    [
        ("#define G ((Width+T-1)/T)", 1),
        ("#define G(n) ((n)/16)", 1),
        ("#define F 1\n__device__ const int G = f();", 2),
    ],
)
def test_a_name_of_the_file_that_is_no_number_is_told_from_an_unknown_one(define, line):
    message = only(f"{define}\n//!tilelab grid=(G,G)\n{KERNEL}").message
    assert f"`G` is not a plain integer with one value (line {line})" in message
    assert "not known" not in message


@pytest.mark.parametrize(
    ("name", "meant"), [("width", "Width"), ("TILEWIDTH", "TILE_WIDTH"), ("tile_width", "TILE_WIDTH")]
)
def test_what_was_probably_meant_is_asked(name, meant):
    message = only(f"//!tilelab grid=({name},1)\n{KERNEL}").message
    assert f"`{name}`, which is not known. Is `{meant}` meant?" in message


@pytest.mark.parametrize("filling", [" ", "*", " *", "/", "tilelab "])
def test_a_long_comment_is_read_in_no_time(filling):
    taken(f"/*{filling * (40_000 // len(filling))}*/\n{KERNEL}")


def test_a_name_unlike_any_other_is_not_guessed():
    assert "meant?" not in only(f"//!tilelab grid=(zebra,1)\n{KERNEL}").message
