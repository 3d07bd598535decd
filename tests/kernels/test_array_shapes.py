"""The extents of arrays, as far as they can be read."""

from __future__ import annotations

import pytest

from kernels.source.array_shapes import array_shapes


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("__shared__ float Mds[16][16];", {"Mds": (16, 16)}),
        ("__shared__ float A[T][T + 1], B[2 * T];", {"A": (8, 9), "B": (16,)}),
        ("static __shared__ __align__(16) float4 v[T/4];", {"v": (2,)}),
        ("extern __shared__ float s[];", {"s": (256,)}),
        ("extern __shared__ __align__(1024) unsigned char s[];", {"s": (1024,)}),
        ("extern __shared__ alignas(16) __nv_bfloat16 s[];", {"s": (512,)}),
        ("using bf16 = __nv_bfloat16;\nvoid f() { extern __shared__ bf16 s[]; }", {"s": (512,)}),
        ("typedef float4 Four;\nvoid f() { extern __shared__ Four s[]; }", {"s": (64,)}),
        (
            "typedef float Tile[T][T + 1];\nvoid f() { __shared__ __align__(16) Tile A[2], B; }",
            {"A": (2, 8, 9), "B": (8, 9)},
        ),
        ("using Tile = float[T][4];\nvoid f() { __shared__ Tile A; __shared__ float B[2]; }", {"A": (8, 4), "B": (2,)}),
        ("typedef float Row[4]; using Tile = Row[T]; __device__ Tile A[3], *p;", {"A": (3, 8, 4)}),
        ("typedef float Tile[T][4]; extern __shared__ Tile s[];", {"s": (8, 8, 4)}),
        ("typedef float (*F)(float[8]); __shared__ float A[2];", {"A": (2,)}),
        ("typedef float Tile[4]; extern __shared__ Stage s[];", {}),
        ("extern __shared__ Stage s[];", {}),
        ("extern __shared__ s[]; extern __shared__ [];", {}),
        ("__shared__ float A[unknown][2], B[3];", {"B": (3,)}),
        ("__shared__ float x; float y[4];", {}),
        ("// __shared__ float A[2];\nint a[3];", {}),
        ("{ __shared__ float A[2]; } { __shared__ float A[3]; }", {}),
        ("{ __shared__ float A[2]; } { __shared__ float A[2]; }", {"A": (2,)}),
        ("__device__ float A[2][3] = {{1, 2, 3}, {4, 5, 6}}, B[4];", {"A": (2, 3), "B": (4,)}),
        ("__constant__ float A[T];\n__device__ float B[T], *p, C[T - 1];", {"A": (8,), "B": (8,), "C": (7,)}),
        ("__device__ float f(float A[4]) { float B[5]; return A[2] + B[3]; }", {}),
        ("__device__ void f(float (&A)[4]) { __shared__ float B[5]; B[2] = 1; }", {"B": (5,)}),
        ("__shared__ struct { float A[2]; } s[3];", {}),
        ("template <int N> __device__ void f() { __shared__ float A[N], B[T]; }", {"B": (8,)}),
        ("#ifndef TILELAB\n__shared__ float A[2];\n#else\n__shared__ float A[3];\n#endif", {"A": (3,)}),
        ("__shared__ float A[T - 8][2], B[3 - T], C[1];", {"C": (1,)}),
        ("__shared__ float A[[[", {}),
        ("__shared__ float A[2] = {", {"A": (2,)}),
        ("__shared__ __align__(", {}),
        ("__shared__", {}),
    ],
)
def test_extents(text, shapes):
    assert array_shapes(text, {"T": 8}, 1024) == shapes
