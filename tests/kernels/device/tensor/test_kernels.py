"""Kernels on tensor cores: what they compute, and the mistakes that are found in them."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.verdict import Verdict
from tests.kernels.device.kernels import Found, Race, Story

_WMMA = "#include <mma.h>\nusing namespace nvcuda::wmma;"
_FILL = """
  __shared__ __align__(32) half a[256], b[256];
  __shared__ __align__(32) float c[256];
  for (int i = t; i < 256; i += blockDim.x) { a[i] = __float2half(i % 7 - 3); b[i] = __float2half(i % 5 - 2); }
  __syncthreads();"""
_A, _B = (np.arange(256).reshape(16, 16) % base - shift for base, shift in ((7, 3), (5, 2)))
_PRODUCT = (_A @ _B).ravel().astype(float).tolist()


def _wmma(a: str, b: str, multiply: str = "mma_sync(z, x, y, z);", before: str = "fill_fragment(z, 0.0f);") -> str:
    return f"""
  fragment<matrix_a, 16, 16, 16, half, {a}_major> x;
  fragment<matrix_b, 16, 16, 16, half, {b}_major> y;
  fragment<accumulator, 16, 16, 16, float> z;
  {before}
  load_matrix_sync(x, a, 16);
  load_matrix_sync(y, b, 16);
  {multiply}
  store_matrix_sync(P, z, 16, mem_row_major);  //@ store"""


def _matrix(rows: int, columns: int, kind: str) -> str:
    """Loads a matrix of M with ldmatrix and writes it back with stmatrix."""
    return f"""
  __shared__ __align__(16) half from[{rows * columns}], to[{rows * columns}];
  for (int i = t; i < {rows * columns}; i += 32) from[i] = __float2half(M[i]);
  __syncwarp();
  unsigned r, p = (unsigned)__cvta_generic_to_shared(from + 8 * (t % 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1{kind}.shared.b16 {{%0}}, [%1];" : "=r"(r) : "r"(p) : "memory");"""


_BACK = """
  unsigned q = (unsigned)__cvta_generic_to_shared(to + 8 * (t % 8));
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%1], {%0};" :: "r"(r), "r"(q) : "memory");
  __syncwarp();
  for (int i = t; i < 64; i += 32) P[i] = __half2float(to[i]);"""
_EIGHT = np.arange(64).reshape(8, 8).astype(float)

STORIES = [
    Story("rows by rows", _PRODUCT, _FILL + _wmma("row", "row"), before=_WMMA, n=256),
    Story("columns by columns", (_A.T @ _B.T).ravel().astype(float).tolist(), _FILL + _wmma("col", "col"),
          before=_WMMA, n=256),
    Story("two warps, each with a product", _PRODUCT * 2,
          _FILL + _wmma("row", "row").replace("(P,", "(P + t / 32 * 256,"), before=_WMMA, n=512, block=64),
    Story("products only in the second warp", _PRODUCT,
          _FILL + f"  if (t >= 32) {{ {_wmma('row', 'row')}\n  }}", before=_WMMA, n=256, block=64),
    Story("a product of doubles", (_EIGHT[:, :4] @ _EIGHT[:4]).ravel().tolist(), """
  __shared__ double a[64], c[64];
  for (int i = t; i < 64; i += 32) a[i] = M[i];
  __syncwarp();
  fragment<matrix_a, 8, 8, 4, double, row_major> x;
  fragment<matrix_b, 8, 8, 4, double, row_major> y;
  fragment<accumulator, 8, 8, 4, double> z;
  fill_fragment(z, 0.0);
  load_matrix_sync(x, a, 8);
  load_matrix_sync(y, a, 8);
  mma_sync(z, x, y, z);
  store_matrix_sync(c, z, 8, mem_row_major);
  __syncwarp();
  for (int i = t; i < 64; i += 32) P[i] = c[i];""", before=_WMMA, n=64),
    Story("every element of a fragment", [3 * each for each in _PRODUCT],
          _FILL + _wmma("row", "row", "mma_sync(z, x, y, z); for (int i = 0; i < z.num_elements; ++i) z.x[i] *= 3;"),
          before=_WMMA, n=256),
    Story("a matrix and its transpose", (_EIGHT.T).ravel().tolist(), _matrix(8, 8, ".trans") + _BACK,
          before="#include <cuda_fp16.h>", n=64),
    Story("a matrix transposed in registers", (_EIGHT.T).ravel().tolist(), _matrix(8, 8, "") + """
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(r));""" + _BACK,
          before="#include <cuda_fp16.h>", n=64),
    Story("a missing barrier before a load", Race("write", "load"), _FILL.replace("__syncthreads();", "") .replace(
          "for (int i", "//\n  for (int i").replace("- 2); }", "- 2); }  //@ write") + """
  fragment<matrix_a, 16, 16, 16, half, row_major> x;
  load_matrix_sync(x, a, 16);  //@ load
  P[t] = x.x[0];""", before=_WMMA),
    Story("two warps store the same matrix", Found(Verdict.DATA_RACE, "store", "store"), _FILL + _wmma("row", "row"),
          before=_WMMA, n=256, block=64),
    Story("a fragment that was never filled", Found(Verdict.UNINITIALIZED_READ, "store"),
          _FILL + _wmma("row", "row", before=""), before=_WMMA, n=256),
    Story("a part of a matrix that was never written", Found(Verdict.UNINITIALIZED_READ, "load"), """
  __shared__ __align__(32) half a[256];
  for (int i = t; i < 240; i += 32) a[i] = __float2half(i);
  __syncwarp();
  fragment<matrix_a, 16, 16, 16, half, row_major> x;
  load_matrix_sync(x, a, 16);  //@ load
  for (int i = 0; i < 8; ++i) P[8 * t + i] = x.x[i];""", before=_WMMA, n=256),
    Story("half a warp multiplies", Found(Verdict.RUNTIME_ERROR, "multiply", count=16),
          _FILL + _wmma("row", "row", "if (t < 16) mma_sync(z, x, y, z);  //@ multiply"), before=_WMMA, n=256),
    Story("half a warp multiplies, the rest waits for the block", Found(Verdict.BARRIER_DIVERGENCE, "multiply"),
          _FILL + _wmma("row", "row", "if (t < 16) mma_sync(z, x, y, z);  //@ multiply\n  __syncthreads();"),
          before=_WMMA, n=256),
    Story("a block of half a warp", Found(Verdict.RUNTIME_ERROR, "load", count=16, says="32"), """
  __shared__ __align__(32) half a[256];
  fragment<matrix_a, 16, 16, 16, half, row_major> x;
  load_matrix_sync(x, a, 16);  //@ load
  P[t] = x.x[0];""", before=_WMMA, block=16),
    Story("each thread loads from another address", Found(Verdict.RUNTIME_ERROR, "load", says="different"), """
  __shared__ __align__(32) half a[512];
  fragment<matrix_a, 16, 16, 16, half, row_major> x;
  load_matrix_sync(x, a + t, 16);  //@ load
  P[t] = x.x[0];""", before=_WMMA),
    Story("lines that are too close", Found(Verdict.RUNTIME_ERROR, "load", says="multiple of 16"), """
  __shared__ __align__(32) half a[512];
  for (int i = t; i < 512; i += 32) a[i] = __float2half(i);
  __syncwarp();
  fragment<matrix_a, 16, 16, 16, half, row_major> x;
  load_matrix_sync(x, a, 17);  //@ load
  P[t] = x.x[0];""", before=_WMMA),
    Story("a store past the end", Found(Verdict.OUT_OF_BOUNDS, "store", element="P[240]"),
          _FILL + _wmma("row", "row"), before=_WMMA, n=240),
]  # fmt: skip


@pytest.mark.one_in(4, "a quarter here, and tests/corpus has such kernels, right and wrong")
@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


def test_counts_are_the_same_if_tensor_cores_multiply_nothing(device):
    story = STORIES[0]

    runs = [device.run(story.text, **story.launch, count=True, multiplies=each) for each in (True, False)]

    assert [ran.values["P"].any() for ran in runs] == [True, False]
    whole, fast = (ran.counts for ran in runs)
    assert [each.values.tolist() for each in whole.lines] == [each.values.tolist() for each in fast.lines]
    assert [each.values.tolist() for each in whole.accesses] == [each.values.tolist() for each in fast.accesses]
    assert sum(int(each.values[3].sum()) for each in fast.lines) == 2 * 16**3
