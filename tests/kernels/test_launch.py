"""Launch comments, what they override, and launches that no device can make."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kernels.expression import Expression
from kernels.launch import Launch, LaunchError, LaunchRule, parse_dimensions, parse_launch_comment

RULE = LaunchRule(
    grid=parse_dimensions("(ceil(Width/16), ceil(Width/16))"),
    block=parse_dimensions("(16, 16)"),
    shared=Expression.parse("0"),
)


def test_the_rule_resolves_for_the_sizes_of_a_case():
    launch = RULE.resolve({"Width": 33})
    assert launch == Launch(grid=(3, 3, 1), block=(16, 16, 1), shared=0)
    assert (launch.threads, launch.blocks) == (256, 9)


def test_a_comment_replaces_the_keys_it_gives_and_no_other():
    given = parse_launch_comment("!tilelab block=(32,8) shared=2*T*T*4", 3)
    launch = RULE.override(given).resolve({"Width": 33, "T": 16})
    assert launch == Launch(grid=(3, 3, 1), block=(32, 8, 1), shared=2048)
    assert given is not None
    assert given.line == 3


@pytest.mark.parametrize(
    "comment",
    [
        "!tilelab block=(32,8) grid=(ceil(Width/32), ceil(Width/32)) shared=0",
        "!tilelab grid=(ceil(Width/32),ceil(Width/32)), block=(32,8), shared=0",
        " !tilelab\tblock = ( 32 , 8 ) grid = ( ceil( Width / 32 ) , ceil( Width / 32 ) )",
        "! Tilelab block=(32,8) grid=((Width + 31) / 32, (Width + 31) / 32);",
        "!tilelab block=(32,8) grid=(ceil(Width/32), ceil(Width/32)) // mine, not block=(16,16)",
    ],
)
def test_the_comment_may_be_spaced_as_one_likes(comment):
    launch = RULE.override(parse_launch_comment(comment, 1)).resolve({"Width": 40})
    assert launch == Launch(grid=(2, 2, 1), block=(32, 8, 1), shared=0)


def test_clusters_of_the_comment_or_the_rule():
    by_comment = RULE.override(parse_launch_comment("!tilelab grid=(4,6) cluster=(2,3)", 1)).resolve({"Width": 1})
    assert (by_comment.cluster, by_comment.cluster_blocks) == ((2, 3, 1), 6)
    rule = replace(RULE, cluster=parse_dimensions("(2)"))
    assert rule.resolve({"Width": 32}).cluster == (2, 1, 1)
    assert rule.override(parse_launch_comment("!tilelab cluster=1", 1)).resolve({"Width": 33}).cluster_blocks == 1


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("!tilelab cluster=2", r"grid\.x is 3"),
        ("!tilelab grid=(4,3) cluster=(2,2)", r"grid\.y is 3"),
        ("!tilelab grid=(16) cluster=16", "at most 8 blocks"),
        ("!tilelab cluster=0", r"cluster\.x is 0"),
    ],
)
def test_clusters_that_no_device_starts(comment, reason):
    with pytest.raises(LaunchError, match=reason):
        RULE.override(parse_launch_comment(comment, 1)).resolve({"Width": 33})


def test_one_dimension_needs_no_parentheses():
    launch = RULE.override(parse_launch_comment("!tilelab block=256 grid=(2)*(3)", 1)).resolve({"Width": 1})
    assert launch == Launch(grid=(6, 1, 1), block=(256, 1, 1), shared=0)


@pytest.mark.parametrize("comment", ["", " computes a tile", "tilelab block=(1,1)", "!tilelabs block=(1,1)"])
def test_other_comments_are_no_launch_comments(comment):
    assert parse_launch_comment(comment, 1) is None


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("!tilelab", "no key"),
        ("!tilelab (32,8)", "no key"),
        ("!tilelab fast block=(32,8)", "no key"),
        ("!tilelab blocks=(32,8)", "`blocks` is not one of grid, block, shared, cluster, tile"),
        ("!tilelab block=(32,8) block=(16,16)", "`block` is given twice"),
        ("!tilelab block=(1,2,3,4)", "one to three numbers"),
        ("!tilelab block=", "empty"),
        ("!tilelab block=(32,)", "empty"),
        ("!tilelab block=(32,8", "block=`(32,8`: a `(` has no matching `)`"),
        ("!tilelab block=(16,16 grid=(ceil(Width/16), ceil(Width/16))", "block=`(16,16`: a `(` has no matching"),
        ("!tilelab grid=(ceil(Width/16, ceil(Width/16)) block=(16,16)", "a `(` has no matching"),
        ("!tilelab block=16,16", "put parentheses around the numbers, as in `block=(16,16)`"),
        ("!tilelab tile=", "`tile=` needs a number"),
        ("!tilelab block=(16,16)) grid=(1,1)", "block=`(16,16))`"),
        ("!tilelab shared=(1,2)", "expected `)`"),
        ("!tilelab grid=(Width/32.5, 1)", "`32.5` is not"),
        ("!tilelab grid=(Width/32.0, 1)", "use whole numbers only"),
        ("!tilelab grid=(ceil(Width/16.0), 1)", "`ceil(a/b)` is exact here, so write `ceil(Width/16)`"),
        ("!tilelab grid=(ceilf((float)Width / 16f), 1)", "write `ceil(Width / 16)`"),
        ("!tilelab block=dim3(16,16) grid=(1,1)", "write `block=(16,16)`"),
    ],
)
def test_a_malformed_comment_says_what_was_expected(comment, reason):
    with pytest.raises(LaunchError, match=re.escape(reason)) as caught:
        parse_launch_comment(comment, 7)
    assert caught.value.line == 7
    assert "Example: `//!tilelab block=(32,8)" in str(caught.value)


def test_an_unknown_name_lists_the_known_ones():
    rule = RULE.override(parse_launch_comment("!tilelab grid=(Width/TW, 1)", 4))
    with pytest.raises(LaunchError, match=r"`TW` .*: TILE_WIDTH, Width") as caught:
        rule.resolve({"Width": 8, "TILE_WIDTH": 16})
    assert caught.value.line == 4


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("!tilelab block=(64,32)", "a block of (64,32,1) has 2,048 threads, and a device allows at most 1,024"),
        ("!tilelab block=(0,1)", "block.x is 0, but must be at least 1"),
        ("!tilelab block=(1,1,65)", "block.z is 65, and a device allows at most 64"),
        ("!tilelab grid=(Width/32)", "grid.x is 0, but must be at least 1"),
        ("!tilelab grid=(1,65536)", "grid.y is 65,536, and a device allows at most 65,535"),
        ("!tilelab grid=2147483648", "grid.x is 2,147,483,648"),
        ("!tilelab grid=(1-2)", "grid.x is -1"),
        ("!tilelab shared=-4", "shared is -4 bytes"),
    ],
)
def test_a_launch_that_no_device_can_make_is_refused(comment, reason):
    rule = RULE.override(parse_launch_comment(comment, 1))
    with pytest.raises(LaunchError, match=re.escape(reason)):
        rule.resolve({"Width": 16})


def test_the_largest_launch_is_allowed():
    rule = RULE.override(parse_launch_comment("!tilelab block=(16,1,64) grid=(2147483647,65535,65535)", 1))
    assert rule.resolve({"Width": 16}).threads == 1024
