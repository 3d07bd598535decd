"""Next steps for kernels whose branches keep threads from a barrier or from a store."""

from __future__ import annotations

import pytest

from tests.kernels.test_next_steps import diverges, step, unwritten

INNER_ELSE = """
__global__ void mul(float* P, int Width) {
    if (threadIdx.y < Width) {
        if (threadIdx.x < Width) {
            P[0] = 0;
        } else {
            __syncthreads();
        }
    }
}
"""
IN_BOTH = INNER_ELSE.replace("P[0] = 0;", "__syncthreads();")
FULL_ELSE = IN_BOTH.replace("    }\n}", "    } else P[1] = 0;\n}")
BARE = INNER_ELSE.replace("y < Width) {", "y < Width)").replace("        }\n    }", "        }")


@pytest.mark.parametrize(
    ("source", "line", "other", "start"),
    [
        (INNER_ELSE, 6, 9, "Move `__syncthreads()` from"),
        (BARE, 6, 9, "Move `__syncthreads()` from"),
        (IN_BOTH, 4, 6, "Move each"),
        (FULL_ELSE, 4, 6, "Put one"),
    ],
)
def test_only_an_else_of_the_outer_if_is_named(source, line, other, start):
    text, marks = step(diverges(line, other), source)
    assert marks == [2]
    assert text.startswith(start)


KEPT_OUT = """
__global__ void turn(const float* A, float* B, int n) {
    __shared__ float s[16];
    for (int i = threadIdx.x; i < n; i += 16) {
        s[i] = A[i];
        __syncthreads();
        %s
    }
}
"""
SKIPPED = """
__global__ void turn(const float* A, float* B, int n) {
    __shared__ float s[16];
    if (threadIdx.x < n)
        s[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    %s
}
"""


@pytest.mark.parametrize("source", [KEPT_OUT, SKIPPED])
@pytest.mark.parametrize(
    ("use", "sums"),
    [
        ("B[0] = s[15 - threadIdx.x];", False),
        ("B[0] = s[1] > s[0] ? s[1] : s[0];", False),
        ("atomicAdd(B, s[1]);", True),
        ("for (int k = 0; k < 16; ++k) B[0] += s[k];", True),
        ("B = B + s[1];", True),
    ],
)
def test_only_a_kernel_that_sums_is_told_about_its_sum(source, use, sums):
    assert ("to a sum" in step(unwritten(6, "s[15]"), source % use)[0]) is sums
