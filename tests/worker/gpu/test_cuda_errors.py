"""Which errors of CUDA are the kernel's, and which are the machine's."""

from __future__ import annotations

import pytest

from worker.gpu.backend import DeviceFault, FaultKind
from worker.gpu.cuda_errors import fault_kind


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (700, FaultKind.ADDRESS),
        (701, FaultKind.RESOURCES),
        (702, FaultKind.TIME),
        (714, FaultKind.OTHER),
        (715, FaultKind.TRAP),
        (716, FaultKind.OTHER),
        (720, FaultKind.RESOURCES),
        (912, FaultKind.RESOURCES),
    ],
)
def test_errors_that_a_kernel_causes_have_their_kind_wherever_they_show(status, kind):
    assert fault_kind(status) is kind
    assert fault_kind(status, FaultKind.UNSUPPORTED) is kind


@pytest.mark.parametrize("status", [300, 302, 801, 913, 914, 5000])
def test_other_errors_of_a_load_or_a_launch_are_the_kernels(status):
    assert fault_kind(status) is None
    assert fault_kind(status, FaultKind.UNSUPPORTED) is FaultKind.UNSUPPORTED


@pytest.mark.parametrize(
    "status", [3, 4, 46, 100, 101, 200, 201, 209, 214, 218, 220, 222, 226, 500, 802, 803, 805, 999]
)
def test_errors_of_the_machine_are_never_the_kernels(status):
    assert fault_kind(status, FaultKind.UNSUPPORTED) is None


@pytest.mark.parametrize("status", [1, 2, 9])
def test_invalid_values_are_the_kernels_only_in_its_launch(status):
    assert fault_kind(status) is None
    assert fault_kind(status, FaultKind.UNSUPPORTED) is FaultKind.RESOURCES


def test_only_a_launch_that_never_began_leaves_the_device_usable():
    usable = {kind for kind in FaultKind if not DeviceFault(kind).lost}
    assert usable == {FaultKind.RESOURCES, FaultKind.UNSUPPORTED}
