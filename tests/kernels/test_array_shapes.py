"""The extents of shared arrays, as far as they can be read."""

from __future__ import annotations

import pytest

from kernels.array_shapes import shared_shapes


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("__shared__ float Mds[16][16];", {"Mds": (16, 16)}),
        ("__shared__ float A[T][T + 1], B[2 * T];", {"A": (8, 9), "B": (16,)}),
        ("static __shared__ __align__(16) float4 v[T/4];", {"v": (2,)}),
        ("extern __shared__ float s[];", {}),
        ("__shared__ float A[unknown][2], B[3];", {"B": (3,)}),
        ("__shared__ float x; float y[4];", {}),
        ("// __shared__ float A[2];\nint a[3];", {}),
        ("{ __shared__ float A[2]; } { __shared__ float A[3]; }", {}),
        ("{ __shared__ float A[2]; } { __shared__ float A[2]; }", {"A": (2,)}),
        ("__shared__ float A[[[", {}),
        ("__shared__", {}),
    ],
)
def test_extents(text, shapes):
    assert shared_shapes(text, {"T": 8}) == shapes
