"""Products of four warps: what they read and when, and when their results are there."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.verdict import Verdict
from tests.kernels.device.kernels import Device, Found, Race, Story

_BEFORE = r"""#include <cuda_fp16.h>
__device__ unsigned long long described(void* p) {
  return ((unsigned)__cvta_generic_to_shared(p) >> 4 & 0x3fff) | 8ull << 16 | 16ull << 32; }
#define fence() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define begin() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define commit() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define wait(n) asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory")
#define multiply(d, a, b, add) asm volatile("{.reg .pred p; setp.ne.b32 p, %6, 0; " \
  "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;}" \
  : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(described(a)), "l"(described(b)), "r"(add))
"""
_FILL = """
  __shared__ alignas(128) half a[1024], b[128];
  for (int i = t; i < 1024; i += 128) a[i] = __float2half(i % 7 - 3), b[i % 128] = __float2half(t % 5 - 2);  //@ fill
  fence();
  __syncthreads();
  float d[4] = {}, e[4] = {};
  begin();"""
_STORE = """
  for (int i = 0; i < 4; ++i) P[128 * i + t] = d[i];  //@ use"""
_DONE = "\n  commit();\n  wait(0);" + _STORE
_ONCE = "\n  multiply(d, a, b, 1);  //@ multiply"


def _product() -> np.ndarray:
    """The product of the two matrices, whose pieces of 8 by 8 elements lie one after the other."""
    a, b = (
        (np.arange(8 * rows * 2) % base - shift).reshape(rows // 8, 2, 8, 8).transpose(0, 2, 1, 3).reshape(rows, 16)
        for rows, base, shift in ((64, 7, 3), (8, 5, 2))
    )
    return a @ b.T


def _registers(product: np.ndarray) -> list[float]:
    """The product as the threads hold it: register by register."""
    parts = product.reshape(4, 2, 8, 4, 2).transpose(1, 4, 0, 2, 3)
    return parts.reshape(4, 128).ravel().astype(float).tolist()


_ALL = _registers(_product())


def _story(name: str, wanted: object, body: str) -> Story:
    return Story(name, wanted, body, before=_BEFORE, block=128, n=512)  # type: ignore[arg-type]


STORIES = [
    _story("a product", _ALL, _FILL + _ONCE + _DONE),
    _story("a product added to another", [2 * each for each in _ALL], _FILL + _ONCE + _ONCE + _DONE),
    _story("a product that begins anew", _ALL, _FILL + _ONCE + "\n  multiply(d, a, b, 0);" + _DONE),
    _story("two products, each waited for in its turn", _ALL, _FILL + _ONCE + """
  commit();
  multiply(e, a, b, 1);
  commit();
  wait(1);""" + _STORE + "\n  wait(0);\n  if (e[0] != d[0]) P[t] = 0;"),
    _story("the later of two products is used too early", Found(Verdict.UNINITIALIZED_READ, "late"), _FILL + _ONCE + """
  commit();
  multiply(e, a, b, 1);  //@ late
  commit();
  wait(1);
  P[t] = e[0];"""),
    _story("a result before the wait", Found(Verdict.UNINITIALIZED_READ, "multiply", says="wait_group"),
           _FILL + _ONCE + "\n  commit();" + _STORE),
    _story("a fence is missing", Race("fill", "multiply"), _FILL.replace("fence();", "") + _ONCE + _DONE),
    _story("a factor changes before the wait", Race("multiply", "change"), _FILL + _ONCE + """
  a[t] = 0;  //@ change""" + _DONE),
    _story("a factor changes after the wait of another warp", Race("multiply", "change"), _FILL + _ONCE + _DONE + """
  a[t] = 0;  //@ change"""),
    _story("a factor changes after all have waited", _ALL, _FILL + _ONCE + _DONE + """
  __syncthreads();
  a[t] = 0;"""),
]  # fmt: skip


@pytest.fixture
def device() -> Device:
    """Only this architecture has the instructions."""
    return Device("sm_90")


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)
