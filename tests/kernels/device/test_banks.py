"""Passes through shared memory's banks: published measurements, and a slow count by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.device.counting.patterns import wavefronts
from kernels.device.memory.boxes import swizzled
from kernels.exercise.tensor_map import SWIZZLES
from tests.kernels.device.slow_counts import warps_of_words

LANES = np.arange(32)


def passes(addresses, width, active=None):
    """Passes, and those that there would be without conflicts, of one warp."""
    takes_part = np.ones((1, 32), np.bool_) if active is None else np.array([active], np.bool_)
    found = wavefronts(np.array([addresses], np.int64), takes_part, width)
    return tuple(int(number) for number in found[:, 0])


@pytest.mark.parametrize(
    ("stride", "expected"), [(1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (17, 1), (32, 32), (33, 1)]
)
def test_a_stride_in_words_meets_in_a_bank_as_often_as_it_divides_32(stride, expected):
    assert passes(LANES * stride * 4, 4) == (expected, 1)


@pytest.mark.parametrize("width", SWIZZLES)
def test_the_rows_that_wgmma_reads_together_are_in_different_banks(width):
    """8 rows of 16 bytes, from any piece of memory on, as each layout of its descriptors puts them."""
    for start in range(0, 1024, 16):
        rows = swizzled(start + np.arange(8) * max(width, 16), width)
        assert passes(np.resize(rows, 32), 16, np.arange(32) < 8) == (1, 1)


def test_one_word_for_all_is_one_pass():
    assert passes(LANES * 0 + 64, 4) == (1, 1)


def test_bytes_of_one_word_do_not_conflict():
    assert passes(LANES, 1) == (1, 1)
    assert passes(LANES * 2, 2) == (1, 1)


def test_wide_accesses_side_by_side_need_a_pass_for_each_part_of_the_warp():
    assert passes(LANES * 8, 8) == (2, 2)
    assert passes(LANES * 16, 16) == (4, 4)


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("distance", [1, 2])
def test_groups_go_together_where_neighbours_want_the_same(width, distance):
    pairs = (LANES & ~distance) * width
    groups = {8: 1, 16: 2}[width]

    assert passes(pairs, width)[1] == groups


def test_four_threads_that_want_the_same_still_need_two_passes():
    assert passes(LANES // 4 * 16, 16) == (2, 2)
    assert passes(LANES * 0, 16) == (2, 2)


def test_one_thread_out_of_step_keeps_the_groups_apart():
    addresses = (LANES // 2) * 8
    addresses[5] += 8

    assert passes(addresses, 8)[1] == 2


def test_idle_threads_do_not_keep_groups_apart():
    assert passes(LANES * 16, 16, LANES % 2 == 0)[1] == 2
    assert passes(LANES * 8, 8, LANES < 16) == (1, 1)


def test_the_bad_and_the_good_layout_of_a_published_kernel():
    """A measured 16-byte load: each thread at its own row of 128 bytes, and the same cells side by side."""
    assert passes(LANES * 128, 16) == (32, 4)
    assert passes(LANES * 16, 16) == (4, 4)


def test_nobody_makes_no_pass():
    assert passes(LANES * 4, 4, LANES < 0) == (0, 0)


@pytest.mark.long("the short suite counts pairs by hand, and conflicts of a GPU in test_hardware.py")
@given(
    st.lists(st.integers(0, 63), min_size=32, max_size=32),
    st.lists(st.booleans(), min_size=32, max_size=32),
    st.sampled_from([1, 2, 4, 8, 16]),
)
def test_counting_by_hand_gives_the_same(cells, active, width):
    addresses = [cell * width for cell in cells]

    assert passes(addresses, width, active) == warps_of_words(addresses, active, width)


@given(st.lists(st.integers(0, 15), min_size=16, max_size=16), st.sampled_from([1, 2]), st.sampled_from([8, 16]))
def test_counting_by_hand_gives_the_same_for_pairs(cells, distance, width):
    places = sorted(range(32), key=lambda lane: lane & ~distance)
    addresses = [0] * 32
    for at, lane in enumerate(places):
        addresses[lane] = cells[at // 2] * width

    assert passes(addresses, width) == warps_of_words(addresses, [True] * 32, width)
