"""Matrices of a warp in memory: no thread has a piece for itself, so all of the warp must come after its writer."""

from __future__ import annotations

import pytest

from kernels.verdict import Verdict
from tests.kernels.device.kernels import Found, Race, Story

_BEFORE = r"""#include <mma.h>
using namespace nvcuda;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
#define load(value, row) asm volatile( \
  "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(value) : "r"(at(row)) : "memory")
#define keep(row, value) asm volatile( \
  "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(at(row)), "r"(value) : "memory")
"""
_ROWS = """
  __shared__ alignas(16) half rows[32][8];
  half* own = rows[t];
  for (int i = 0; i < 8; ++i) own[i] = __float2half(M[8 * t + i]);  //@ write"""
_READ = """
  unsigned pair;
  load(pair, own);  //@ read
  P[t] = __low2float(*(half2*)&pair);"""
_KEEP = """
  __shared__ alignas(16) half rows[32][8];
  half* own = rows[t];
  keep(own, 0x3c003c00u);  //@ keep"""
_TILE = """
  __shared__ alignas(32) half tile[16][16];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> c;
"""
_WRITE_TILE = """
  for (int i = 0; i < 8; ++i) tile[t % 8 + t / 8 % 2 * 8][t / 16 * 8 + i] = __float2half(1);  //@ write"""


def _story(name: str, wanted: object, body: str) -> Story:
    return Story(name, wanted, body, before=_BEFORE, values=256)  # type: ignore[arg-type]


_EVEN = [float(8 * (t // 4) + 2 * (t % 4)) for t in range(32)]
STORIES = [
    _story("rows of their own lanes, without a barrier", Race("write", "read"), _ROWS + _READ),
    _story("rows of their own lanes, after a barrier of the warp", _EVEN, _ROWS + "\n  __syncwarp();" + _READ),
    _story("rows of their own lanes, after a barrier of the block", _EVEN, _ROWS + "\n  __syncthreads();" + _READ),
    _story("a shuffle orders no memory", Race("write", "read"), _ROWS + "\n  M += __shfl_sync(~0u, n, 0) - n;" + _READ),
    _story("a row that changes after its own lane's load", Race("read", "change"), _ROWS + "\n  __syncwarp();" + _READ
           + "\n  own[0] = __float2half(0);  //@ change"),
    _story("a row that changes after a barrier", _EVEN, _ROWS + "\n  __syncwarp();" + _READ
           + "\n  __syncwarp();\n  own[0] = __float2half(0);"),
    _story("a stored row that its own lane reads", Race("keep", "look"), _KEEP + """
  P[t] = t < 8 ? __half2float(own[0]) : 1;  //@ look"""),
    _story("a stored row after a barrier", [1.0] * 32, _KEEP + """
  __syncwarp();
  P[t] = t < 8 ? __half2float(own[0]) : 1;"""),
    _story("a stored row that is loaded at once", Race("keep", "read"), _KEEP + _READ),
    _story("a stored row that is loaded after a barrier", [1.0] * 32, _KEEP + "\n  __syncwarp();" + _READ),
    _story("two stores of one row", [1.0] * 32, _KEEP + "\n  keep(own, 0x3c003c00u);\n  __syncwarp();" + _READ),
    _story("two lanes name one row in a store", Race("keep", "keep"), _KEEP.replace("rows[t]", "rows[t / 2]")
           + "\n  P[t] = 0;"),
    _story("a generic address in shared memory", [0.0] * 32, """
  __shared__ alignas(16) half rows[32][8];
  for (int i = 0; i < 8; ++i) rows[t][i] = 0;
  __syncwarp();
  unsigned pair;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];" : "=r"(pair) : "l"(rows[t]) : "memory");
  P[t] = pair;"""),
    _story("a generic address in global memory", Found(Verdict.RUNTIME_ERROR, "read", says="shared memory"), """
  unsigned pair;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];" : "=r"(pair) : "l"(M + 4 * t) : "memory");  //@ read
  P[t] = pair;"""),
    _story("a generic address in global memory to store to", Found(Verdict.RUNTIME_ERROR, "keep"), """
  P[t] = 0;
  asm volatile("stmatrix.sync.aligned.m8n8.x1.b16 [%0], {%1};" :: "l"(M + 4 * t), "r"(0) : "memory");  //@ keep
"""),
    _story("pieces of their own lanes in a tile", Race("write", "read"), _TILE + _WRITE_TILE + """
  wmma::load_matrix_sync(a, &tile[0][0], 16);  //@ read
  P[t] = __half2float(a.x[0]);"""),
    _story("pieces of a tile after a barrier", [1.0] * 32, _TILE + _WRITE_TILE + """
  __syncwarp();
  wmma::load_matrix_sync(a, &tile[0][0], 16);
  P[t] = __half2float(a.x[0]);"""),
    _story("a stored tile that its own lanes read", Race("keep", "look"), _TILE + """
  wmma::fill_fragment(c, __float2half(1));
  wmma::store_matrix_sync(&tile[0][0], c, 16, wmma::mem_row_major);  //@ keep
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += __half2float(tile[t % 16][t / 16 * 8 + i]);  //@ look
  P[t] = sum;"""),
    _story("a stored tile after a barrier", [8.0] * 32, _TILE + """
  wmma::fill_fragment(c, __float2half(1));
  wmma::store_matrix_sync(&tile[0][0], c, 16, wmma::mem_row_major);
  __syncwarp();
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += __half2float(tile[t % 16][t / 16 * 8 + i]);
  P[t] = sum;"""),
    _story("a tile in global memory that is stored and then read", Race("keep", "look"), """
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 1.0f);
  wmma::store_matrix_sync(M, c, 16, wmma::mem_row_major);  //@ keep
  P[t] = ((volatile float*)M)[4 * t];  //@ look"""),
    _story("a tile in global memory after a barrier", [1.0] * 32, """
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 1.0f);
  wmma::store_matrix_sync(M, c, 16, wmma::mem_row_major);
  __syncwarp();
  P[t] = ((volatile float*)M)[4 * t];"""),
]  # fmt: skip


@pytest.mark.one_in(4, "a quarter of the orders")
@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)
