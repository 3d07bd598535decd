from __future__ import annotations

import pytest

from kernels.analysis.devices import FILE, DeviceError, device_named, devices, read_devices

ENTRY = """[mine]
title = "Mine"
cc = "8.6"
multiprocessors = 10
clock_mhz = 1000
fp32_lanes = 128
tensor_macs = 512
memory_gbs = 100.5
l2_mb = 4
l2_gbs = 1000
"""

# Of the data sheets, single precision without tensor cores.
TERAFLOPS = {
    "h200": 67, "h100": 67, "h100-pcie": 51, "a100": 19.5, "l4": 30.3, "l40s": 91.6, "t4": 8.1, "v100": 15.7,
    "a10": 31.2, "rtx3090": 35.6, "rtx4090": 82.6, "rtx5090": 104.8,
}  # fmt: skip


def test_every_device_has_the_speed_of_its_data_sheet():
    assert devices().keys() == TERAFLOPS.keys()
    for name, found in devices().items():
        assert found.peak_gflops / 1000 == pytest.approx(TERAFLOPS[name], rel=0.01), name


def test_every_device_has_limits_for_occupancy():
    assert {found.limits.cc for found in devices().values()} == {"7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "12.0"}


def test_a_device_is_found_in_whatever_case():
    assert device_named("H200") is device_named("h200")
    assert device_named("h200").copy_gbs == 4270


def test_an_unknown_device_lists_those_there_are():
    with pytest.raises(DeviceError, match=r"unknown device 'gtx'; known devices are h200, h100, .*rtx5090"):
        device_named("gtx")


def test_an_entry_may_leave_out_what_most_devices_share():
    found = read_devices(ENTRY)["mine"]
    assert (found.memory_gbs, found.l1_bytes, found.tags, found.lsu_lanes, found.copy_gbs) == (100.5, 128, 1, 32, None)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('cc = "8.6"', 'cc = "8.5"', r"mine: cc '8\.5' .* 5\.0, "),
        ('cc = "8.6"', "cc = 8.6", r"mine: cc must be text in quotes, not 8\.6"),
        ("multiprocessors = 10", "multiprocessors = 10.5", r"mine: multiprocessors must be a whole number, not 10\.5"),
        ("multiprocessors = 10", "multiprocessors = true", "mine: multiprocessors must be a whole number, not True"),
        ("memory_gbs = 100.5", 'memory_gbs = "fast"', "mine: memory_gbs must be a number, not 'fast'"),
        ("memory_gbs = 100.5", "memory_gbs = 0", "mine: memory_gbs must be greater than 0, not 0"),
        ("l2_mb = 4\n", "", "mine: 'l2_mb' is missing"),
        ("l2_mb = 4", "l2_mb = 4\nl3_mb = 4", "mine: unknown key 'l3_mb'; known keys are title, cc, "),
        ("[mine]", "mine", "the table of devices is not TOML"),
        ("[mine]", "yours = 1\n[mine]", r"yours: an entry must be a table, such as \[yours\]"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_named(before, after, message):
    assert before in ENTRY
    with pytest.raises(DeviceError, match=message):
        read_devices(ENTRY.replace(before, after))


def test_the_table_lies_where_it_is_packed_with_the_code():
    assert FILE.parent.name == "analysis"
