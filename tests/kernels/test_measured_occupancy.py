"""The driver's answer beside the table's."""

from __future__ import annotations

import pytest

from kernels.occupancy import limits_of, occupancy
from kernels.occupancy.driver_answer import by_driver, driver_differs

TABLE = occupancy(limits_of("9.0"), 256, 32, 2048, barriers=1)


def test_the_same_number_is_no_remark():
    assert driver_differs(256, TABLE.blocks_per_sm, TABLE) is None


@pytest.mark.parametrize("blocks", [0, 1, TABLE.blocks_per_sm + 1])
def test_another_number_is_told_with_both(blocks):
    told = driver_differs(256, blocks, TABLE) or ""
    assert f"{blocks} block" in told
    assert f"says {TABLE.blocks_per_sm}" in told


def test_blocks_of_another_size_are_not_compared():
    assert driver_differs(128, TABLE.blocks_per_sm + 1, TABLE) is None


def test_the_drivers_figures_get_a_limit_from_the_table():
    held = by_driver("9.0", 256, 8, registers=32, shared_static=1024, shared_dynamic=1024, local_bytes=16)
    assert (held.blocks_per_sm, held.warps_per_sm, held.max_warps, held.share) == (8, 64, 64, 1.0)
    assert (held.limit, held.note, held.shared_bytes, held.local_bytes) == ("warps", "", 2048, 16)


def test_a_block_with_half_a_warp_takes_a_whole_one():
    assert by_driver("9.0", 40, 3, registers=32, shared_static=0).warps_per_sm == 6


def test_where_they_differ_no_limit_is_named():
    held = by_driver("9.0", 256, 5, registers=32, shared_static=2048)
    assert held.limit == ""
    assert "5 blocks" in held.note


def test_an_unknown_device_gets_the_numbers_alone():
    held = by_driver("99.0", 256, 5, registers=32, shared_static=2048)
    assert (held.warps_per_sm, held.max_warps, held.share, held.limit, held.note) == (40, 0, 0.0, "", "")
