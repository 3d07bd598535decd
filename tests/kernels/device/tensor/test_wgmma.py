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
#define multiply(d, a, b, add) start(d, described(a), described(b), add)
#define start(d, a, b, add) asm volatile("{.reg .pred p; setp.ne.b32 p, %6, 0; " \
  "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;}" \
  : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"(add))
#define with_registers(d, a, b) asm volatile( \
  "{.reg .pred p; setp.ne.b32 p, 1, 0; " \
  "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, p, 1, 1, 0;}" \
  : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
  : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(described(b)))
"""
_MINUS = _BEFORE.partition("#define with_registers")[2].replace("p, 1, 1, 0;", "p, -1, 1, 0;")
_BEFORE += f"#define minus_registers{_MINUS}"
_FILL = """
  __shared__ alignas(128) half a[1024], b[128];
  for (int i = t; i < 1024; i += 128) a[i] = __float2half(i % 7 - 3), b[i % 128] = __float2half(t % 5 - 2);  //@ fill
  fence();
  __syncthreads();
  float d[4] = {}, e[4] = {};
  begin();"""
_AGAIN = (
    _FILL
    + """
  if (t < 32) for (int i = t; i < 128; i += 32) b[i] = __float2half(i % 5 - 2);  //@ again
  fence();"""
)
_OWN_ROWS = (
    _FILL
    + """
  for (int i = t % 32; i < 256; i += 32) {
    int at = WARP * 256 + i;
    a[at] = __float2half(at % 7 - 3);  //@ again
  }
  fence();
  __syncwarp();"""
)
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


def _story(name: str, wanted: object, body: str, **launch: object) -> Story:
    return Story(name, wanted, body, before=_BEFORE, **({"block": 128, "n": 512} | launch))  # type: ignore[arg-type]


_FACTOR = """
  unsigned f[4];
  for (int i = 0; i < 4; ++i) f[i] = ((volatile unsigned*)a)[t % 32 + 32 * (i / 2 + i % 2 * 2) + t / 32 * 128];"""
_CHANGED = """
  for (int i = 0; i < 4; ++i) asm volatile("add.f32 %0, %0, %1;" : "+f"({}[i]) : "f"(M[0]));"""
_HALF_FILL = _FILL.replace("for (", "if (t < 128) for (", 1)
_LOAD = 'asm volatile("ld.shared.u32 %0, [%1];" : "+r"(f[i]) : "r"((unsigned)__cvta_generic_to_shared(a + 8 * i)));'
_HALVES = """
  unsigned f[4];
  unsigned short low[4], high[4];
  for (int i = 0; i < 4; ++i) {
    volatile unsigned short* pair = (unsigned short*)a + 2 * (t % 32 + 32 * (i / 2 + i % 2 * 2) + t / 32 * 128);
    low[i] = pair[0], high[i] = pair[1];
  }"""
_PACK = """
  for (int i = 0; i < 4; ++i) asm volatile("mov.b32 %0, {%1, %2};" : "=r"(f[i]) : "h"(low[i]), "h"(high[i]));
  with_registers(d, f, b);  //@ multiply"""
_IN_REGISTERS = _FILL.replace("\n  begin();", _FACTOR + "\n  begin();")


def _pieces_of_rows(base: int) -> list[float]:
    """The number of the first piece of 16 bytes in each row of a left factor that begins at the third line."""
    addresses = 384 + np.arange(64) * 128
    pieces = (addresses >> 4) ^ (addresses >> 7) - base & 7
    return _registers(np.broadcast_to(pieces[:, np.newaxis], (64, 8)))


def _shifted(base: int) -> Story:
    return _story(
        f"a tile inside the pattern of its swizzle, base offset {base}",
        _pieces_of_rows(base),
        f"""
  __shared__ alignas(1024) half a[4608], b[128];
  for (int i = t; i < 4608; i += 128) a[i] = __float2half(i / 8);
  b[t] = __float2half(t < 64 && t % 9 == 0);
  fence();
  __syncthreads();
  float d[4] = {{}};
  unsigned long long rows = (unsigned)__cvta_generic_to_shared(a) + 384 >> 4 & 0x3fff;
  begin();
  start(d, rows | 64ull << 32 | {base}ull << 49 | 1ull << 62, described(b), 1);"""
        + _DONE,
    )


STORIES = [
    *map(_shifted, (0, 3, 5)),
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
    _story("a right factor that all warps know to be written", _ALL, _AGAIN + "\n  __syncthreads();" + _ONCE + _DONE),
    _story("a right factor that one warp knows to be written", Race("again", "multiply"),
           _AGAIN + "\n  __syncwarp();" + _ONCE + _DONE),
    _story("rows of a left factor that their warp writes", _ALL, _OWN_ROWS.replace("WARP", "t / 32") + _ONCE + _DONE),
    _story("rows of a left factor that another warp writes", Race("again", "multiply"),
           _OWN_ROWS.replace("WARP", "(t / 32 ^ 1)") + _ONCE + _DONE),
    _story("a factor changes before the wait", Race("multiply", "change"), _FILL + _ONCE + """
  a[t] = 0;  //@ change""" + _DONE),
    _story("a factor changes after the wait of its own warpgroup", _ALL, _FILL + _ONCE + _DONE + """
  a[t] = 0;"""),
    _story("a factor changes after the wait of one warp", _ALL, _FILL + _ONCE + """
  commit();
  if (t < 32) {
    wait(0);
    for (int i = t; i < 1024; i += 32) a[i] = 0;
  } else {
    __nanosleep(1);
    wait(0);
  }""" + _STORE),
    _story("a factor changes after the wait of another warpgroup", Race("multiply", "change"), _FILL.replace(
           "b[i % 128]", "i < 128 ? b[i]").replace("t % 5 - 2)", "t % 5 - 2) : half()").replace("+= 128", "+= 256")
           + _ONCE + """
  commit();
  wait(0);
  a[t] = 0;  //@ change
  for (int i = 0; i < 4; ++i) if (t < 128) P[128 * i + t] = d[i];""", block=256),
    _story("a factor changes after all have waited", _ALL, _FILL + _ONCE + _DONE + """
  __syncthreads();
  a[t] = 0;"""),
    # -- who takes part
    Story("a fifth warp that only stores", [*_ALL, *[0.0] * 32], _FILL.replace("  for", "  if (t < 128) for") + """
  if (t >= 128) { P[384 + t] = 0; return; }""" + _ONCE + _DONE, before=_BEFORE, block=160, n=544),
    Story("a fifth warp that multiplies", Found(Verdict.RUNTIME_ERROR, "multiply"),
          _FILL.replace("  for", "  if (t < 128) for") + _ONCE + _DONE, before=_BEFORE, block=160, n=640),
    _story("two of four warps", Found(Verdict.BARRIER_DIVERGENCE, "multiply", says="128 threads"),
           _FILL + "\n  if (t < 64) {" + _ONCE + "\n  }" + _DONE),
    _story("the second of two warpgroups", [0.0] * 512, _FILL.replace(
           "b[i % 128]", "i < 128 ? b[i]").replace("t % 5 - 2)", "t % 5 - 2) : half()").replace("+= 128", "+= 256")
           + "\n  if (t >= 128) {" + _ONCE + """
  commit();
  wait(0);
  }
  for (int i = 0; i < 4; ++i) if (t < 128) P[128 * i + t] = d[i];""", block=256),
    _story("each half of a warpgroup on its own", Found(Verdict.BARRIER_DIVERGENCE), _FILL + """
  if (t < 64) {
    multiply(d, a, b, 1);
    e[0] = 1;
  } else {
    multiply(e, a, b, 1);
  }""" + _DONE.replace("d[i]", "d[i] + e[i]")),
    _story("warps that come one after the other", _ALL, _FILL + """
  for (int i = 0; i < t / 32; ++i) __nanosleep(1);""" + _ONCE + _DONE),
    _story("another factor in each warp", Found(Verdict.RUNTIME_ERROR, "multiply", says="descriptors"),
           _FILL + "\n  start(d, described(a) + t / 32, described(b), 1);  //@ multiply" + _DONE),
    _story("a predicate that differs in a warpgroup", Found(Verdict.RUNTIME_ERROR, "multiply", says="predicates"),
           _FILL + "\n  start(d, described(a), described(b), (int)(t < 96));  //@ multiply" + _DONE),
    _story("another factor in each warpgroup", [2.0 * (t // 128 + 1) * 16 for _ in range(4) for t in range(256)], """
  __shared__ alignas(128) half a[1024], b[2][128];
  for (int i = t; i < 1024; i += 256) a[i] = __float2half(1), b[t / 128][t % 128] = __float2half(2 * (t / 128 + 1));
  fence();
  __syncthreads();
  float d[4] = {};
  begin();
  multiply(d, a, b[t / 128], 1);
  commit();
  wait(0);
  for (int i = 0; i < 4; ++i) P[256 * i + t] = d[i];""", block=256, n=1024),
    # -- unset values
    _story("a descriptor from a variable without a value", Found(Verdict.UNINITIALIZED_READ), _FILL + """
  __shared__ volatile unsigned long long where[2];
  if (t == 0) where[0] = described(a);
  start(d, where[1], described(b), 1);""" + _DONE),
    _story("padding that no result needs", [32.0 if i < 2 else 0.0 for i in range(4) for _ in range(128)], """
  __shared__ alignas(128) half a[1024], b[128];
  for (int i = t; i < 1024; i += 128) if (i / 64 % 4 < 2) a[i] = __float2half(1);
  b[t] = __float2half(2);
  fence();
  __syncthreads();
  float d[4] = {};
  begin();
  multiply(d, a, b, 1);
  commit();
  wait(0);
  for (int i = 0; i < 4; ++i) P[128 * i + t] = i < 2 ? d[i] : 0;"""),
    _story("padding that a result needs", Found(Verdict.UNINITIALIZED_READ, "multiply"), """
  __shared__ alignas(128) half a[1024], b[128];
  for (int i = t; i < 1024; i += 128) if (i / 64 % 4 < 2) a[i] = __float2half(1);
  b[t] = __float2half(2);
  fence();
  __syncthreads();
  float d[4] = {};
  begin();
  multiply(d, a, b, 1);  //@ multiply
  commit();
  wait(0);""" + _STORE),
    _story("one element of a piece is unset", Found(Verdict.UNINITIALIZED_READ, "multiply"), _FILL.replace(
           "a[i] = __float2half(i % 7 - 3)", "i == 9 ? 0 : (a[i] = __float2half(i % 7 - 3), 0)") + _ONCE + _DONE),
    _story("a left factor in registers", _ALL, _IN_REGISTERS + "\n  with_registers(d, f, b);" + _DONE),
    _story("a left factor in registers, subtracted", [-each for each in _ALL],
           _IN_REGISTERS + "\n  with_registers(d, f, b);".replace("with", "minus") + _DONE),
    # -- results and registers before the wait
    _story("a result that is changed before the wait", Found(Verdict.UNINITIALIZED_READ, "multiply"),
           _FILL + _ONCE + """
  commit();
  float x[4];
  for (int i = 0; i < 4; ++i) x[i] = d[i] * 2;
  wait(0);
  for (int i = 0; i < 4; ++i) P[128 * i + t] = x[i];"""),
    _story("a left factor that is loaded again before the wait", Found(Verdict.DATA_RACE, "load"), _IN_REGISTERS + """
  #pragma unroll 1
  for (int k = 0; k < n / 256; ++k) {
    for (int i = 0; i < 4; ++i) """ + _LOAD + """  //@ load
    begin();
    with_registers(d, f, b);
    commit();
  }
  wait(0);""" + _STORE),
    _story("sums that are loaded before the wait", Found(Verdict.DATA_RACE, "load", says="still uses"), _FILL + """
  multiply(d, a, b, 1);
  commit();
  for (int i = 0; i < 4; ++i)
    asm volatile("ld.shared.f32 %0, [%1];" : "+f"(d[i]) : "r"((unsigned)__cvta_generic_to_shared(a)));  //@ load
  wait(0);""" + _STORE),
    _story("sums that are loaded after the wait", None, _FILL + """
  multiply(d, a, b, 1);
  commit();
  wait(0);
  for (int i = 0; i < 4; ++i)
    asm volatile("ld.shared.f32 %0, [%1];" : "+f"(d[i]) : "r"((unsigned)__cvta_generic_to_shared(a)));""" + _STORE),
    _story("a left factor that is loaded again after the wait", None, _IN_REGISTERS + """
  #pragma unroll 1
  for (int k = 0; k < n / 256; ++k) {
    for (int i = 0; i < 4; ++i) """ + _LOAD + """
    begin();
    with_registers(d, f, b);
    commit();
    wait(0);
  }""" + _STORE),
    _story("a product never waited for", Found(Verdict.DATA_RACE, "multiply"), _FILL + _ONCE + """
  commit();
  for (int i = 0; i < 4; ++i) P[128 * i + t] = 0;"""),
    # -- wgmma.fence
    _story("no fence at all", Found(Verdict.DATA_RACE, "multiply", says="wgmma.fence"),
           _FILL.replace("begin();", "") + _ONCE + _DONE),
    _story("no fence after the sums changed", Found(Verdict.DATA_RACE, "again", says="wgmma.fence"), _FILL + _ONCE + """
  commit();
  wait(0);
  for (int i = 0; i < 4; ++i) d[i] *= 2;
  multiply(d, a, b, 1);  //@ again""" + _DONE),
    _story("no fence after other sums changed", Found(Verdict.DATA_RACE, "late", says="wgmma.fence"),
           _FILL + _CHANGED.format("e") + _ONCE + "\n  multiply(e, a, b, 1);  //@ late" + _DONE),
    *(_story(f"no fence after the sums of warpgroup {group} changed",
             Found(Verdict.DATA_RACE, f"group {group}", says="wgmma.fence"), _HALF_FILL + f"""
  if (t / 128 == {group}) {{{_CHANGED.format("d")}
  }}
  if (t < 128) {{
    multiply(d, a, b, 1);  //@ group 0
  }} else {{
    multiply(d, a, b, 1);  //@ group 1
  }}
  commit();
  wait(0);
  P[t] = d[0];""", block=256, n=256) for group in (0, 1)),
    _story("a fence after the sums changed", [3 * each for each in _ALL], _FILL + _ONCE + """
  commit();
  wait(0);
  for (int i = 0; i < 4; ++i) d[i] *= 2;
  begin();""" + _ONCE + _DONE),
    _story("no fence after the sums began anew", Found(Verdict.DATA_RACE, "again"), _FILL + _ONCE + """
  commit();
  wait(0);""" + _STORE + """
  for (int i = 0; i < 4; ++i) d[i] = 0;
  multiply(d, a, b, 1);  //@ again""" + _DONE),
    _story("one fence, and sums that nothing else touches", [3 * each for each in _ALL], _FILL + """
  for (int k = 0; k < 3; ++k) {
    multiply(d, a, b, 1);
    commit();
    wait(0);
  }""" + _STORE),
    _story("one fence for two sums", [2 * each for each in _ALL], _FILL + _ONCE + """
  multiply(e, a, b, 1);
  commit();
  wait(0);
  for (int i = 0; i < 4; ++i) P[128 * i + t] = d[i] + e[i];"""),
    _story("sums that each step begins anew", [2 * each for each in _ALL], _FILL.replace("begin();", "") + """
  float s[4] = {};
  for (int k = 0; k < 2; ++k) {
    float c[4] = {};
    begin();
    multiply(c, a, b, 1);
    commit();
    wait(0);
    for (int i = 0; i < 4; ++i) s[i] += c[i];
  }
  for (int i = 0; i < 4; ++i) P[128 * i + t] = s[i];"""),
    _story("sums that each step overwrites", [2 * each for each in _ALL], _FILL.replace("begin();", "") + """
  float s[4] = {}, c[4];
  for (int k = 0; k < 2; ++k) {
    begin();
    multiply(c, a, b, 0);
    commit();
    wait(0);
    for (int i = 0; i < 4; ++i) s[i] += c[i];
  }
  for (int i = 0; i < 4; ++i) P[128 * i + t] = s[i];"""),
    _story("two groups under way", [4 * each for each in _ALL], _FILL.replace("begin();", "") + """
  for (int k = 0; k < 4; ++k) {
    begin();
    multiply(d, a, b, 1);
    commit();
    wait(1);
  }
  wait(0);""" + _STORE),
    _story("a left factor loaded after the fence", Found(Verdict.DATA_RACE, "multiply"), _FILL + _FACTOR
           + "\n  with_registers(d, f, b);  //@ multiply" + _DONE),
    _story("a left factor packed after the fence", _ALL, _FILL.replace("\n  begin();", _HALVES + "\n  begin();")
           + _PACK + _DONE),
    _story("halves of a left factor loaded after the fence", Found(Verdict.DATA_RACE, "multiply"), _FILL + _HALVES
           + _PACK + _DONE),
]  # fmt: skip


@pytest.fixture
def device() -> Device:
    """Only this architecture has the instructions."""
    return Device("sm_90")


@pytest.mark.one_in(4, "a quarter here, and tests/corpus has each mistake with wgmma")
@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


def test_counts_are_the_same_if_tensor_cores_multiply_nothing(device):
    story = next(each for each in STORIES if each.name == "two groups under way")

    runs = [device.run(story.text, **story.launch, count=True, multiplies=each) for each in (True, False)]

    assert [ran.values["P"].any() for ran in runs] == [True, False]
    whole, fast = ([each.values.tolist() for each in ran.counts.lines] for ran in runs)
    assert whole == fast
    # four warps, four products of 64 by 8 by 16, with both factors in shared memory
    assert sum(np.sum(each, axis=1)[5:] for each in fast).tolist() == [16, 4 * (64 + 8) * 32]
