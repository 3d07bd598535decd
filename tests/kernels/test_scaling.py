"""Counts of a grid from some of its blocks are those of all of its blocks, or say that they are an estimate."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.analysis.scaling import plan_blocks, probed_blocks, scaled, usual_blocks
from kernels.device.counting.counts import ACCESS_FIELDS, AccessCount, BranchCount, Counts, LineWork, Verb, Work
from kernels.launch import Launch
from tests.kernels.device.counted import Product


def grid(*extent: int) -> Launch:
    x, y, z = (*extent, 1, 1)[:3]
    return Launch((x, y, z), (16, 16, 1), 0)


def counts(launch: Launch, blocks, number, field="sectors") -> Counts:
    """Counts in which one field is a function of the block's coordinates."""
    x, y, _ = launch.grid
    places = [(block % x, block // x % y, block // (x * y)) for block in blocks]
    row = np.array([[number(*place) for place in places]], np.int64)
    values = np.ones((len(ACCESS_FIELDS), len(blocks)), np.int64)
    values[ACCESS_FIELDS.index(field)] = row
    access = AccessCount((1,), 7, "global", Verb.LOAD, "M", 4, True, values)
    branch = BranchCount(2, 8, np.ones((2, len(blocks)), np.int64), ((len(blocks), len(blocks)),))
    work = LineWork(7, np.ones((len(Work._fields), len(blocks)), np.int64))
    return Counts(tuple(blocks), (access,), (), (branch,), (work,))


def sums(launch: Launch, number, affordable: int, field="sectors"):
    """What is made of a sample, and the sum over all blocks."""
    blocks = plan_blocks(launch, affordable)
    assert blocks is not None
    found = scaled(counts(launch, blocks, number, field), launch)
    x, y, z = launch.grid
    whole = sum(number(i, j, k) for i in range(x) for j in range(y) for k in range(z))
    return found, int(found.counts.accesses[0].values[ACCESS_FIELDS.index(field), 0]), whole


def test_probed_blocks_exist():
    assert probed_blocks(grid(1)) == (0,)
    assert probed_blocks(grid(3)) == (0, 1, 2)
    assert probed_blocks(grid(60, 60)) == (0, 1200, 1800, 2400)


def test_if_a_block_is_expensive_the_fewest_run():
    assert len(plan_blocks(grid(64, 64), usual_blocks(grid(64, 64))) or ()) >= usual_blocks(grid(64, 64))
    assert len(plan_blocks(grid(64, 64), 0) or ()) <= 12
    found, total, whole = sums(grid(40, 40), lambda x, y, z: 5 - (x == 39) - 2 * (y == 39), 0)
    assert (total, found.exact) == (whole, True)


def test_few_blocks_are_all_run():
    assert plan_blocks(grid(1), 1) is None
    assert plan_blocks(grid(6, 6), 64) is None
    assert plan_blocks(grid(2, 2, 2), 1) is None


@pytest.mark.parametrize("launch", [grid(63, 63), grid(1000), grid(1, 500), grid(40, 40, 3), grid(2**31 - 1)])
@pytest.mark.parametrize("affordable", [16, 64, 300])
def test_a_sample_is_affordable_and_has_the_corners(launch, affordable):
    blocks = plan_blocks(launch, affordable)

    assert blocks is not None
    assert len(blocks) == len(set(blocks)) <= max(affordable, 100)
    assert {0, launch.blocks - 1} <= set(blocks)
    assert blocks == plan_blocks(launch, affordable)


PATTERNS = [
    lambda x, y, z: 5,
    lambda x, y, z: 5 if x < 39 else 3,
    lambda x, y, z: 5 - (x == 39) - 2 * (y == 29),
    lambda x, y, z: x % 2,
    lambda x, y, z: (x % 4) * (y % 2),
    lambda x, y, z: (4 * x + y) % 8,
]


@pytest.mark.parametrize("number", PATTERNS)
def test_what_comes_round_again_is_exact(number):
    found, total, whole = sums(grid(40, 30), number, 300)

    assert (total, found.exact, found.note) == (whole, True, "")


@pytest.mark.parametrize(
    "number", [lambda x, y, z: int(y > x), lambda x, y, z: 1 + x, lambda x, y, z: x * y, lambda x, y, z: abs(x - y)]
)
@pytest.mark.parametrize("affordable", [16, 64, 300])
def test_what_differs_is_an_estimate_and_says_where(number, affordable):
    found, total, whole = sums(grid(40, 40), number, affordable)

    assert not found.exact
    assert found.note == "an estimate: blocks differ at line 7"
    assert total == pytest.approx(whole, rel=0.5)


def test_other_numbers_stay_exact_beside_an_estimate():
    launch = grid(40, 40)
    found, _, _ = sums(launch, lambda x, y, z: x, 64)

    assert found.counts.accesses[0].values[0, 0] == launch.blocks
    assert found.counts.lines[0].values.tolist() == [[launch.blocks]] * len(Work._fields)
    assert found.counts.branches[0].intervals == ((1600, 1600),)


@pytest.mark.parametrize("ends", [{0}, {38}, {0, 38}])
@pytest.mark.parametrize("affordable", [16, 64, 300])
def test_blocks_next_to_the_edge_that_differ_are_found(ends, affordable):
    found, _, _ = sums(grid(40, 40), lambda x, y, z: 5 - (x in ends), affordable)

    assert not found.exact


def test_what_one_block_in_a_hundred_does_is_found_where_many_can_be_run():
    found, _, _ = sums(grid(31250), lambda x, y, z: 5 + (x % 125 == 31), 300)

    assert not found.exact


def test_lines_at_which_other_blocks_may_differ_make_an_estimate():
    launch = grid(40, 40)
    sample = counts(launch, plan_blocks(launch, 64), lambda x, y, z: 5)
    whole = counts(launch, range(launch.blocks), lambda x, y, z: 5)

    assert scaled(sample, launch).exact
    found = scaled(sample, launch, {None, *range(1, 11)})
    note = "blocks that didn't run may differ at lines 1, 2, 3, 4, 5, 6, 7, 8 and 2 more"
    assert (found.exact, found.note) == (False, f"an estimate: {note}")
    assert scaled(whole, launch, {3}).exact


def test_segments_that_differ_spoil_nothing_else():
    found, _, _ = sums(grid(40, 40), lambda x, y, z: x, 64, "segments")

    assert found.exact
    assert found.note == "the number of 128-byte segments is an estimate"


def test_a_whole_run_is_only_added_up():
    launch = grid(3, 2)
    found = scaled(counts(launch, range(6), lambda x, y, z: x * y), launch)

    assert found.exact
    assert found.counts.accesses[0].values[2].tolist() == [3]


@pytest.mark.one_in(2, "every second")
@pytest.mark.parametrize(("kernel", "tile", "width"), [("tiled_bounds", 16, 250), ("naive", 8, 101)])
@pytest.mark.parametrize("affordable", [60, 200])
def test_a_sample_gives_what_the_whole_run_gives(kernel, tile, width, affordable):
    product = Product(kernel, tile, width)
    blocks = plan_blocks(product.launch, affordable)
    sample, whole = (scaled(product.counts(some), product.launch) for some in (blocks, None))

    assert sample.exact
    assert _rows(sample.counts) == _rows(whole.counts)


def _rows(counts: Counts) -> list[object]:
    accesses = [np.delete(each.values, ACCESS_FIELDS.index("segments"), axis=0).tolist() for each in counts.accesses]
    return [
        accesses,
        [each.values.tolist() for each in counts.branches],
        [each.values.tolist() for each in counts.lines],
    ]
