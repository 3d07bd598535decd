"""One class for the same hardware, whatever driver names it; different classes for different hardware."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernels.analysis.devices import devices
from worker.gpu.device_class import device_class, sold_gb

MIB = 2**20
NAMED = [
    # name, memory in MiB as drivers report it, class
    ("NVIDIA H200", 143771, "h200"),
    ("NVIDIA H200 NVL", 143771, "h200-nvl"),
    ("NVIDIA H100 80GB HBM3", 81559, "h100"),
    ("NVIDIA H100 PCIe", 81559, "h100-pcie"),
    ("NVIDIA H100 NVL", 95830, "h100-nvl"),
    ("NVIDIA H100 96GB HBM3", 97871, "h100-96gb"),
    ("NVIDIA H20", 97871, "h20"),
    ("NVIDIA H20", 143771, "h20-141gb"),
    ("NVIDIA A100-SXM4-40GB", 40536, "a100-40gb"),
    ("NVIDIA A100-SXM4-80GB", 81920, "a100"),
    ("A100-SXM4-40GB", 40960, "a100-40gb"),
    ("NVIDIA A100 80GB PCIe", 81920, "a100-pcie"),
    ("NVIDIA A100-PCIE-40GB", 40960, "a100-pcie-40gb"),
    ("NVIDIA GH200 480GB", 97871, "gh200"),
    ("NVIDIA GH200 120GB", 97871, "gh200"),
    ("NVIDIA GH200 144G HBM3e", 146831, "gh200-144gb"),
    ("NVIDIA B200", 183359, "b200"),
    ("NVIDIA GB200", 189471, "gb200"),
    ("NVIDIA L4", 23034, "l4"),
    ("NVIDIA L40", 46068, "l40"),
    ("NVIDIA L40S", 46068, "l40s"),
    ("NVIDIA A10", 23028, "a10"),
    ("NVIDIA A10G", 23028, "a10g"),
    ("Tesla T4", 15360, "t4"),
    ("NVIDIA T4", 16127, "t4"),
    ("Tesla V100-SXM2-16GB", 16384, "v100"),
    ("Tesla V100-SXM2-32GB", 32768, "v100-32gb"),
    ("Tesla V100-SXM3-32GB", 32768, "v100-sxm3-32gb"),
    ("Tesla V100-PCIE-16GB", 16384, "v100-pcie"),
    ("Tesla P100-PCIE-12GB", 12198, "p100-pcie-12gb"),
    ("Tesla K80", 11441, "k80"),
    ("NVIDIA GeForce RTX 3090", 24576, "rtx3090"),
    ("GeForce RTX 3090", 24268, "rtx3090"),
    ("NVIDIA GeForce RTX 3090 Ti", 24564, "rtx3090-ti"),
    ("NVIDIA GeForce RTX 4090", 24564, "rtx4090"),
    ("NVIDIA GeForce RTX 4090 D", 24564, "rtx4090-d"),
    ("NVIDIA GeForce RTX 4090 Laptop GPU", 16376, "rtx4090-laptop-16gb"),
    ("NVIDIA GeForce RTX 3080 Laptop GPU", 8192, "rtx3080-laptop-8gb"),
    ("NVIDIA GeForce RTX 2080 with Max-Q Design", 8192, "rtx2080-max-q-8gb"),
    ("NVIDIA GeForce RTX 5090", 32607, "rtx5090"),
    ("NVIDIA GeForce RTX 4060 Ti", 8188, "rtx4060-ti-8gb"),
    ("NVIDIA GeForce RTX 4060 Ti", 16380, "rtx4060-ti-16gb"),
    ("NVIDIA GeForce RTX 4070 Ti SUPER", 16376, "rtx4070-ti-super"),
    ("NVIDIA GeForce RTX 3080", 10240, "rtx3080-10gb"),
    ("NVIDIA GeForce RTX 3080", 12288, "rtx3080-12gb"),
    ("NVIDIA GeForce GTX 1060 6GB", 6144, "gtx1060-6gb"),
    ("NVIDIA GeForce RTX 2080 Ti", 11019, "rtx2080-ti"),
    ("Quadro RTX 6000", 24220, "quadro-rtx6000"),
    ("NVIDIA RTX A6000", 49140, "rtx-a6000"),
    ("NVIDIA RTX A2000 12GB", 11514, "rtx-a2000-12gb"),
    ("NVIDIA RTX A2000", 5754, "rtx-a2000"),
    ("NVIDIA RTX 6000 Ada Generation", 46068, "rtx6000-ada"),
    ("NVIDIA RTX 6000 Ada Generation", 49140, "rtx6000-ada"),
    ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 97887, "rtx-pro-6000-blackwell-workstation-96gb"),
    ("NVIDIA TITAN V", 12066, "titan-v"),
    ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 9856, "h100-mig-1g-10gb"),
    ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", 19968, "a100-40gb-mig-3g-20gb"),
    ("GRID A100D-40C", 40960, "grid-a100d-40c-40gb"),
    ("Orin", 30536, "orin-32gb"),
    ("", 0, "gpu"),
    ("显卡", 8192, "gpu-8gb"),
]


@pytest.mark.parametrize(("name", "mib", "expected"), NAMED)
def test_a_name_gives_its_class(name, mib, expected):
    assert device_class(name, mib * MIB) == expected


def test_every_device_with_a_speed_of_light_is_a_class():
    classes = {device_class(name, mib * MIB) for name, mib, _ in NAMED}
    assert set(devices()) <= classes


@given(st.text(), st.integers(-5, 2**60))
@example("NVIDIA " + "X" * 300, 1)
@example("\ud800", 2**30)
@example(" MIG ", 0)
def test_any_name_gives_a_class_that_can_be_written_anywhere(name, memory):
    found = device_class(name, memory)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", found)
    assert len(found) <= 48
    assert device_class(name, memory) == found


@given(st.sampled_from([name for name, *_ in NAMED if "MIG" not in name]), st.integers(1, 200))
def test_upper_case_and_the_makers_name_change_nothing(name, gigabytes):
    bare = name.removeprefix("NVIDIA ")
    assert device_class(bare.upper(), gigabytes * 2**30) == device_class(f"NVIDIA {bare}", gigabytes * 2**30)


def test_long_names_that_differ_at_their_end_differ():
    long = "NVIDIA Engineering Sample of an Accelerator with a Very Long Name "
    assert device_class(long + "one", 2**30) != device_class(long + "two", 2**30)


@pytest.mark.parametrize(
    ("mib", "gb"), [(0, 0), (-1, 0), (1, 1), (15109, 16), (11019, 11), (11514, 12), (81559, 80), (143771, 141)]
)
def test_memory_is_what_is_sold(mib, gb):
    assert sold_gb(mib * MIB) == gb


@given(st.integers(1, 300 * 2**30))
def test_memory_is_never_sold_as_less_than_there_is(memory):
    assert sold_gb(memory) >= memory / 2**30 - 0.2
