"""Kernels whose blocks are alike but at the edges are told from those in which any block may be the odd one out."""

from __future__ import annotations

import pytest

from kernels.device.ptx.likeness import unforeseen_lines
from tests.kernels.device.kernels import HEAD, Device, program

PLACE = "int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;"


def lines(device: Device, text: str) -> list[int | None]:
    return sorted(unforeseen_lines(program(f"{HEAD} {{ {PLACE}\n{text}\n}}", device.arch)), key=str)


@pytest.mark.parametrize(
    "text",
    [
        "if (row < n && col < n) P[row * n + col] = M[row * n + col];",
        "row = min(row, n - 1); col = col < n ? col : n - 1; P[row * n + col] = M[col];",
        "if (col <= row) P[row * n + col] = 1;",
        "int c = blockIdx.x * 64 + threadIdx.x; P[c] = M[c]; P[c | 32] = M[c | 32];",
        "if (threadIdx.x % 3 == 0) P[row * n + col + threadIdx.x / 5] = M[0];",
        "__shared__ float a[32]; a[threadIdx.x] = M[col]; __syncthreads(); P[col] = a[31 - threadIdx.x] * M[row];",
        "atomicAdd(&P[col], M[row]);",
    ],
)
def test_what_moves_evenly_is_foreseen(device, text):
    assert lines(device, text) == []


@pytest.mark.parametrize(
    "text",
    [
        "if (blockIdx.x == 7) P[col] = 1;",
        "if (blockIdx.x % 3 < 1) P[col] = 1;",
        "if (blockIdx.x / 3 < n) P[col] = 1;",
        "if (blockIdx.x * blockIdx.y < n) P[col] = 1;",
        "P[col / n * 7 + col % n] = 1;",
        "P[1 << blockIdx.x] = 1;",
        "if (M[col] > 0) P[col] = 1;",
        "P[(int)M[col]] = 1;",
        "if (atomicAdd(&P[0], 1.0f) == n) P[1] = 1;",
        "for (int k = 0; k < (blockIdx.x == 7 ? n : 1); k++) P[k] = M[k];",
        "__shared__ int a; a = M[col]; __syncthreads(); P[a] = 1;",
        "if (clock() > n) P[col] = 1;",
    ],
)
def test_what_may_single_out_any_block_is_not(device, text):
    assert lines(device, text) == [2]


def test_a_called_function_hands_its_argument_on(device):
    called = "__device__ __noinline__ int f(int a) { return a %s 3; }\n"
    kernel = f"{HEAD} {{ P[f(blockIdx.x)] = 1; }}"

    assert unforeseen_lines(program(called % "+" + kernel, device.arch)) == set()
    assert unforeseen_lines(program(called % "%" + kernel, device.arch)) == {2}
