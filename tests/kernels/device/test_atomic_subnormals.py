"""The adder of global memory knows no subnormal numbers, as on a GPU; that of shared memory does."""

from __future__ import annotations

from tests.kernels.device.kernels import HEAD, Device

UPDATE = "cell = 4e-40f; atomicAdd(&cell, 4e-40f); P[0] = cell;"


def test_global_memory_adds_without_subnormal_numbers():
    text = f"__device__ float cell; {HEAD} {{ {UPDATE} }}"
    assert Device("sm_90").output(text, block=1, n=1) == [0]


def test_shared_memory_adds_them():
    text = f"{HEAD} {{ __shared__ float cell; {UPDATE} }}"
    (result,) = Device("sm_90").output(text, block=1, n=1)
    assert 7e-40 < result < 9e-40
