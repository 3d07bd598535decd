"""Copies by the async proxy: what ends them, and which writes they see."""

from __future__ import annotations

import pytest

from kernels.facts import Mistake, Operation
from kernels.verdict import Severity, Verdict
from tests.kernels.device.kernels import Found, Race, Story, line, only

_STANDARD = """#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
__device__ void show() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
#define init(b, n) (init(b, n), show())
"""
# The standard header takes seconds to compile, so most stories do without it.
_PLAIN = """typedef unsigned long long barrier;
#define end(b) asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(at(b)) : "memory")
#define begin(b, n) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at(b)), "r"(n) : "memory")
#define init(b, n) \\
  asm volatile("mbarrier.init.shared.b64 [%0], %1; fence.mbarrier_init.release.cluster;" \\
    :: "r"(at(b)), "r"(n) : "memory")
"""
_BEFORE = r"""__device__ unsigned at(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
#define WAITER(name, order) __device__ void name(barrier& b, int parity) { \
  unsigned done = 0; \
  while (!done) \
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity" order ".shared::cta.b64 p, [%1], %2;" \
        "selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(at(&b)), "r"(parity) : "memory"); }
WAITER(wait, "")
WAITER(relaxed, ".relaxed.cta")
#define fence() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define fence_of(space) asm volatile("fence.proxy.async" space ";" ::: "memory")
#define release() fence_of("::generic.release.sync_restrict::shared::cta.cluster")
#define acquire() fence_of("::generic.acquire.sync_restrict::shared::cluster.cluster")
#define load(to, from, bytes, b) asm volatile( \
  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
  :: "r"(at(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(at(&b)) : "memory")
#define store(to, from, bytes) asm volatile( \
  "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2; cp.async.bulk.commit_group;" \
  :: "l"(__cvta_generic_to_global(to)), "r"(at(from)), "r"(bytes) : "memory")
#define copy(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" \
  :: "r"(at(to)), "l"(__cvta_generic_to_global(from)) : "memory")
#define give(b) asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(at(&b)) : "memory")
#define copies_done() asm volatile("cp.async.wait_all;" ::: "memory")
#define uncommitted(to, from, bytes) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" \
  :: "l"(__cvta_generic_to_global(to)), "r"(at(from)), "r"(bytes) : "memory")
#define expect_only(b, bytes) asm volatile( \
  "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" :: "r"(at(&b)), "r"(bytes) : "memory")
#define come(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(&b)) : "memory")
#define expect(b, bytes) asm volatile( \
  "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(&b)), "r"(bytes) : "memory")
"""
_GIVEN = """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar;
  if (t == 0) init(&bar, blockDim.x);
  __syncthreads();
  copy(tile + t, M + t);  //@ copy
  give(bar);"""
_WRITTEN = """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar;
  if (t == 0) init(&bar, 1);
  M[t] = t + 1;  //@ write
  FENCE
  __syncthreads();
  if (t == 0) {
    load(tile, M, 256, bar);  //@ load
    expect(bar, 256);
  }"""
_FLAG = """
  __shared__ alignas(128) float tile[64];
  __shared__ unsigned ready;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t < 32) {
    for (int i = t; i < 64; i += 32) tile[i] = M[i] + 1;  //@ write
    FENCE
    asm volatile("{.reg .u32 r; atom.add.release.cta.shared.u32 r, [%0], 1;}" :: "r"(at(&ready)) : "memory");
  } else if (t == 32) {
    unsigned seen = 0;
    while (seen < 32) asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(at(&ready)) : "memory");
    store(P, tile, 256);  //@ store
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }"""
_WARPS = """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar[2];
  if (t < 2) init(bar + t, 32);
  __syncthreads();
  copy(tile + t, M + t);  //@ copy
  give(bar[t / 32]);"""
_PASSED_ON = """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar;
  if (t == 0) init(&bar, 64);
  __syncthreads();
  tile[t] = M[t] + 1;  //@ write
  FENCES
  asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" :: "r"(at(&bar)) : "memory");
  if (t == 0) {
    wait(bar, 0);
    store(P, tile, 256);  //@ store
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }"""
_READ_DONE = 'asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");'
_ALL_DONE = 'asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");'
_LOAD = """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) {
    load(tile, M, 256, bar);  //@ load
    expect(bar, 256);
  }"""
_TWO_COUNTS = """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar;
  if (t == 0) init(&bar, 2);
  __syncthreads();"""
_RELAXED = f"""{_LOAD}
  relaxed(bar, 0);
  FENCE
  P[t] = tile[t];  //@ read"""
_RELAXED_OF_ONE = f"""
  __shared__ barrier next;
  if (t == 0) init(&next, 1);{_LOAD}
  if (t == 0) relaxed(bar, 0);
  NEXT
  P[t] = tile[t];  //@ read"""
_STORE = """
  __shared__ alignas(128) float tile[64];
  tile[t] = M[t] + 1;  //@ write
  fence();
  __syncthreads();
  if (t == 0) {
    store(P, tile, 256);  //@ store
"""
_TWO = {"block": 64, "n": 64}


def _story(name, wanted, body, **launch):
    before = _STANDARD if "cuda::" in body or "bar." in body else _PLAIN
    return Story(name, wanted, body, before=before + _BEFORE, **(_TWO | launch))


_READ_TOO_EARLY = _story(
    "a read before the wait",
    Race("load", "read"),
    _LOAD
    + """
  P[t] = tile[t];  //@ read""",
)
_FILLED_TOO_EARLY = _story(
    "the next copy into a tile that others still read",
    Race("read", "again"),
    _LOAD
    + """
  wait(bar, 0);
  float v = tile[t];  //@ read
  if (t == 0) {
    load(tile, M, 256, bar);  //@ again
    expect(bar, 256);
  }
  wait(bar, 1);
  P[t] = v;""",
)
_NO_FENCE = _story("no fence", Race("write", "store"), _STORE.replace("fence();", "") + _ALL_DONE + "}")

STORIES = [
    _story("a copy, its bytes and the wait", [63 - t for t in range(64)], _LOAD + """
  wait(bar, 0);
  P[t] = tile[63 - t];"""),
    _READ_TOO_EARLY,
    _story("__syncthreads ends no copy", Race("load", "read"), _LOAD + """
  __syncthreads();
  P[t] = tile[t];  //@ read"""),
    _story("only one thread waits, then the block meets", list(range(64)), _LOAD + """
  if (t == 0) wait(bar, 0);
  __syncthreads();
  P[t] = tile[t];"""),
    _FILLED_TOO_EARLY,
    _story("the next copy after the block met", [2 * t for t in range(64)], _LOAD + """
  wait(bar, 0);
  float v = tile[t];
  __syncthreads();
  if (t == 0) {
    load(tile, M, 256, bar);
    expect(bar, 256);
  }
  wait(bar, 1);
  P[t] = v + tile[t];"""),
    *(
        _story(name, wanted, _TWO_COUNTS + body + """
  wait(bar, 0);
  P[t] = tile[t];""")
        for name, wanted, body in (
            ("bytes expected after the own arrival", Found(Verdict.BARRIER_DIVERGENCE, "late", count=1,
             mistake=Mistake.LATE_EXPECTATION), """
  if (t == 0) { come(bar); expect_only(bar, 256); load(tile, M, 256, bar); }  //@ late
  if (t == 32) come(bar);"""),
            ("bytes expected by a thread that never arrives", Found(Verdict.BARRIER_DIVERGENCE, "late"), """
  if (t == 0) { expect_only(bar, 256); load(tile, M, 256, bar); }  //@ late
  if (t == 32) { come(bar); come(bar); }"""),
            ("bytes expected by two warps, and only the first arrives", Found(Verdict.BARRIER_DIVERGENCE, "late",
             mistake=Mistake.LATE_EXPECTATION), """
  if (t % 32 == 0) { expect_only(bar, 128); load(tile + t, M + t, 128, bar); }  //@ late
  if (t < 2) come(bar);"""),
            ("bytes expected while another warp's copy may end the phase", Found(Verdict.BARRIER_DIVERGENCE, "late",
             mistake=Mistake.LATE_EXPECTATION), """
  if (t == 0) { come(bar); expect(bar, 128); }
  __syncwarp();
  if (t == 32) expect_only(bar, 128);  //@ late
  __syncwarp();
  if (t == 0) load(tile, M, 128, bar);
  if (t == 32) load(tile + 32, M + 32, 128, bar);"""),
            ("two expectations while another warp's copy may end the phase", Found(Verdict.BARRIER_DIVERGENCE, "late",
             mistake=Mistake.LATE_EXPECTATION), """
  if (t == 0) { come(bar); expect(bar, 128); }
  __syncwarp();
  if (t == 32) {
    expect_only(bar, 64);  //@ late
    expect_only(bar, 64);
  }
  __syncwarp();
  if (t == 0) load(tile, M, 128, bar);
  if (t == 32) load(tile + 32, M + 32, 128, bar);"""),
            ("bytes expected before another warp copies", list(range(64)), """
  if (t == 0) { come(bar); expect(bar, 128); }
  if (t == 32) expect_only(bar, 128);
  __syncthreads();
  if (t == 0) load(tile, M, 128, bar);
  if (t == 32) load(tile + 32, M + 32, 128, bar);"""),
            ("bytes expected before the own arrival", list(range(64)), """
  if (t == 0) { expect_only(bar, 256); load(tile, M, 256, bar); come(bar); }
  if (t == 32) come(bar);"""),
            ("bytes expected by a loop before the own arrival", list(range(64)), """
  if (t == 0) {
    #pragma unroll 1
    for (int i = 0; i < 64; i += 32) { expect_only(bar, 128); load(tile + i, M + i, 128, bar); }
    come(bar);
  }
  if (t == 32) come(bar);"""),
            ("bytes expected before another thread may arrive", list(range(64)), """
  if (t == 0) { come(bar); expect_only(bar, 256); load(tile, M, 256, bar); }
  __syncthreads();
  if (t == 32) come(bar);"""),
            ("bytes expected while others are missing", list(range(64)), """
  if (t == 0) {
    expect(bar, 128);
    expect_only(bar, 128);
    load(tile, M, 128, bar);
    load(tile + 32, M + 32, 128, bar);
  }
  if (t == 32) come(bar);"""),
            ("bytes expected before another lane may arrive", list(range(64)), """
  if (t == 0) { come(bar); expect_only(bar, 256); load(tile, M, 256, bar); }
  __syncwarp();
  if (t == 1) come(bar);"""),
        )
    ),
    _story("two copies for one phase", list(range(64)), """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) {
    expect(bar, 256);
    load(tile, M, 128, bar);
    load(tile + 32, M + 32, 128, bar);
  }
  wait(bar, 0);
  P[t] = tile[t];"""),
    _story("stages whose phases end apart", Race("late", "read"), """
  __shared__ alignas(128) float tile[2][64];
  __shared__ barrier bar[2];
  if (t == 0) { init(&bar[0], 1); init(&bar[1], 1); }
  __syncthreads();
  if (t == 0) {
    load(tile[0], M, 256, bar[0]); expect(bar[0], 256);
    load(tile[1], M, 256, bar[1]);  //@ late
    expect(bar[1], 256);
  }
  wait(bar[0], 0);
  P[t] = tile[0][t] + tile[1][t];  //@ read"""),
    _story("a store that sees what all threads wrote", [t + 1 for t in range(64)],
           _STORE + _READ_DONE + "}"),
    _story("one thread's fence after the barrier is enough", [t + 1 for t in range(64)],
           _STORE.replace("fence();\n  __syncthreads();", "__syncthreads();").replace("store(", "fence(); store(")
           + _ALL_DONE + "}"),
    _story("stores of several blocks, after blocks that did the same", [t % 64 + 1 for t in range(256)],
           _STORE.replace("store(P,", "store(P + 64 * blockIdx.x,") + _READ_DONE + "}", grid=4, n=256),
    _NO_FENCE,
    _story("a tile that changes before the store has read it", Race("store", "change"), _STORE + """
    tile[0] = 0;  //@ change
  }"""),
    _story("a tile that changes after the store has read it", [t + 1 for t in range(64)],
           _STORE + _READ_DONE + "\n    tile[0] = 0; }"),
    _story("fewer bytes than expected", Found(Verdict.TIME_LIMIT, "wait", lacks=(512, 256)), """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) { load(tile, M, 256, bar); expect(bar, 512); }
  bar.wait_parity(false);  //@ wait
  P[t] = tile[t];""", budget=5_000),
    _story("a size that isn't a multiple of 16", Found(Verdict.RUNTIME_ERROR, "load", says="multiples of 16"), """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0)
    load(tile, M, 20, bar);  //@ load
  P[t] = 0;"""),
    _story("a size that no block has", Found(Verdict.RUNTIME_ERROR, "load", says="shared memory"), """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0)
    load(tile, M, 1 << 30, bar);  //@ load
  P[t] = 0;"""),
    _story("part of a tile that no thread wrote", Found(Verdict.UNINITIALIZED_READ, "use"), """
  __shared__ alignas(128) float tile[64], other[64];
  tile[t] = t;
  if (t < 60) other[t] = t;
  fence();
  __syncthreads();
  if (t == 0) { store(P, other, 256); }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  __syncthreads();
  M[t] = P[t];  //@ use"""),
    _story("a phase that was over long ago", Found(Verdict.TIME_LIMIT, "wait", lacks=(1, 0)), """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) { load(tile, M, 256, bar); expect(bar, 256); }
  bar.wait_parity(true);  //@ wait
  P[t] = tile[t];"""),
    _story("a source that isn't aligned", Found(Verdict.RUNTIME_ERROR, "load", says="multiple of 16"), _LOAD.replace(
           "load(tile, M,", "load(tile, M + 1,") + """
  wait(bar, 0);
  P[t] = tile[t];""", values=68),
    _story("a barrier that others may use before it begins", Race("begin", "use"), """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar;
  if (t == 0) {
    init(&bar, 1);  //@ begin
    load(tile, M, 256, bar);
    expect(bar, 256);
  }
  bar.wait_parity(false);  //@ use
  P[t] = tile[t];"""),
    _story("memcpy_async with a barrier", [63 - t for t in range(64)], """
  __shared__ alignas(16) float tile[256];
  __shared__ barrier bar;
  if (t == 0) init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(tile + 4 * t, M + 4 * t, cuda::aligned_size_t<16>(16), bar);
  bar.arrive_and_wait();
  P[t] = tile[63 - t];""", values=256),
    _story("memcpy_async of single elements with a barrier", [63 - t for t in range(64)], """
  __shared__ float tile[64];
  __shared__ barrier bar;
  if (t == 0) init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(tile + t, M + t, 4, bar);
  bar.arrive_and_wait();
  P[t] = tile[63 - t];"""),
    _story("memcpy_async without the wait", Found(Verdict.DATA_RACE, "read"), """
  __shared__ float tile[64];
  __shared__ barrier bar;
  if (t == 0) init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(tile + t, M + t, 4, bar);
  (void)bar.arrive();
  __syncthreads();
  P[t] = tile[63 - t];  //@ read"""),
    _story("a barrier made anew doesn't end copies of its former life", Race("load", "read"), """
  __shared__ alignas(128) float tile[64], more[64];
  __shared__ barrier bar;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) { load(tile, M, 256, bar); expect(bar, 512); }  //@ load
  __syncthreads();
  if (t == 0) { end(&bar); init(&bar, 1); }
  __syncthreads();
  if (t == 0) { load(more, M, 256, bar); expect(bar, 256); }
  wait(bar, 0);
  P[t] = tile[t] + more[t];  //@ read"""),
    _story("a barrier made anew in each step", [3 * t for t in range(64)], """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar;
  float sum = 0;
  for (int i = 0; i < 3; ++i) {
    if (t == 0) init(&bar, 1);
    __syncthreads();
    if (t == 0) { load(tile, M, 256, bar); expect(bar, 256); }
    wait(bar, 0);
    sum += tile[t];
    __syncthreads();
    if (t == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(at(&bar)) : "memory");
  }
  P[t] = sum;"""),
    _story("a fence for global memory before a store from shared memory", Race("write", "store"),
           _STORE.replace("fence();", 'fence_of(".global");') + _ALL_DONE + "}"),
    _story("a fence for all memory", [t + 1 for t in range(64)], _STORE.replace("fence();", 'fence_of("");') + _ALL_DONE
           + "}"),
    _story("a fence for the cluster's memory", [t + 1 for t in range(64)],
           _STORE.replace("fence();", 'fence_of(".shared::cluster");') + _ALL_DONE + "}"),
    _story("the first half of a fence", Race("write", "store"), _STORE.replace("fence();", "release();")
           + _ALL_DONE + "}"),
    _story("the second half of a fence", Race("write", "store"),
           _STORE.replace("fence();", "acquire();") + _ALL_DONE + "}"),
    _story("both halves of a fence, one before and one after the barrier", [t + 1 for t in range(64)],
           _STORE.replace("fence();", "release();").replace("if (t == 0) {", "if (t == 0) { acquire();")
           + _ALL_DONE + "}"),
    _story("a load from global memory that threads wrote", [t + 1 for t in range(64)], _WRITTEN.replace(
           "FENCE", 'fence_of(".global");') + """
  wait(bar, 0);
  P[t] = tile[t];"""),
    _story("a fence for shared memory before a load of what threads wrote", Race("write", "load"), _WRITTEN.replace(
           "FENCE", "fence();") + """
  wait(bar, 0);
  P[t] = tile[t];"""),
    _story("a flag that carries the fence", [t + 1 for t in range(64)], _FLAG.replace("FENCE", "fence();")),
    _story("a flag that carries no fence", Race("write", "store"), _FLAG.replace("FENCE", "")),
    _story("a flag, and the fence of the thread that waits for it", [t + 1 for t in range(64)],
           _FLAG.replace("FENCE", "").replace("store(P", "fence(); store(P")),
    _story("a flag with fences of its own", [t + 1 for t in range(64)], _FLAG.replace("FENCE", "fence();").replace(
           "atom.add.release.cta", "fence.acq_rel.cta; atom.add.relaxed.cta").replace(
           "ld.acquire.cta.shared.u32 %0, [%1];", "ld.relaxed.cta.shared.u32 %0, [%1]; fence.acq_rel.cta;")),
    _story("a relaxed wait, and a fence after it", [*range(64)], _RELAXED.replace("FENCE", "__threadfence_block();")),
    _story("a relaxed wait for a copy", Race("load", "read"), _RELAXED.replace("FENCE", "")),
    _story("a relaxed wait of one thread, and fences of all after a barrier", [*range(64)],
           _RELAXED_OF_ONE.replace("NEXT", "__syncthreads(); __threadfence_block();")),
    _story("a relaxed wait of one thread, and its own fence after a barrier", Race("load", "read"),
           _RELAXED_OF_ONE.replace("NEXT", "__syncthreads(); if (t == 0) __threadfence_block();")),
    _story("relaxed waits for each other, and a fence after the last", Race("load", "read"),
           _RELAXED_OF_ONE.replace("NEXT", "if (t == 0) come(next); relaxed(next, 0); __threadfence_block();")),
    _story("a relaxed arrival after both fences", [t + 1 for t in range(64)],
           _PASSED_ON.replace("FENCES", "fence(); __threadfence_block();")),
    _story("a relaxed arrival after the fence for the async proxy", Race("write", "store"),
           _PASSED_ON.replace("FENCES", "fence();")),
    _story("a relaxed arrival after the fence for threads", Race("write", "store"),
           _PASSED_ON.replace("FENCES", "__threadfence_block();")),
    _story("a store with a hint for the cache", [t + 1 for t in range(64)], _STORE.replace("store(P, tile, 256);", """
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], 256, %2;"
      "cp.async.bulk.commit_group;"
      :: "l"(__cvta_generic_to_global(P)), "r"(at(tile)), "l"(0x12f0000000000000ull) : "memory");""")
           + _ALL_DONE + "}"),
    _story("a wait for all but very many groups", [t + 1 for t in range(64)], _STORE + """
    asm volatile("cp.async.bulk.wait_group 100000;" ::: "memory");""" + _ALL_DONE + "}"),
    _story("a copy past the end of its tile",
           Found(Verdict.OUT_OF_BOUNDS, "load", element="tile[64]"), _LOAD.replace("256", "512") + """
  wait(bar, 0);
  P[t] = tile[t];""", values=128),
    _story("the barrier that lacks bytes, not another one", Found(Verdict.TIME_LIMIT, element="bar[1]",
                                                                  lacks=(512, 256)), """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar[3];
  if (t < 3) init(bar + t, 1);
  __syncthreads();
  if (t == 0) { expect(bar[0], 512); expect(bar[1], 512); load(tile, M, 256, bar[1]); }
  wait(bar[1], 0);
  P[t] = tile[t];""", shapes={"bar": (3,)}),
    _story("one of several blocks reads too early", Found(Verdict.DATA_RACE, "read", "load", block=(2, 0, 0)),
           _LOAD + """
  __shared__ float own[64];
  own[t] = t;
  if (blockIdx.x != 2) wait(bar, 0);
  P[64 * blockIdx.x + t] = tile[63 - t];  //@ read
  wait(bar, 0);
  __syncthreads();
  own[63 - t] = 0;""", grid=4, n=256),
    _story("one of several blocks changes a tile that a store reads",
           Found(Verdict.DATA_RACE, "change", "store", block=(1, 0, 0)),
           _STORE.replace("store(P,", "store(P + 64 * blockIdx.x,") + """
    if (blockIdx.x == 1) tile[5] = 0;  //@ change
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }""", grid=4, n=256),
    _story("several blocks that do the same in a pipeline",
           [float(64 * b + 6 * t) for b in range(4) for t in range(64)], """
  __shared__ alignas(128) float tile[2][64];
  __shared__ barrier full[2], empty[2];
  if (t < 2) { init(full + t, 1); init(empty + t, 64); }
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 6; ++i) {
    int s = i % 2;
    if (t == 0) {
      if (i >= 2) wait(empty[s], (i / 2 - 1) % 2);
      load(tile[s], M, 256, full[s]);
      expect(full[s], 256);
    }
    wait(full[s], i / 2 % 2);
    sum += tile[s][t ^ 1] + (t & 1 ? 1 : -1);
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at(empty + s)) : "memory");
  }
  P[64 * blockIdx.x + t] = sum + 64 * blockIdx.x;""", grid=4, n=256),
    _story("several blocks that fill a stage too early", Race("read", "fill"), """
  __shared__ alignas(128) float tile[2][64];
  __shared__ barrier full[2];
  if (t < 2) init(full + t, 1);
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 6; ++i) {
    int s = i % 2;
    if (t == 0) {
      load(tile[s], M, 256, full[s]);  //@ fill
      expect(full[s], 256);
    }
    wait(full[s], i / 2 % 2);
    sum += tile[s][t];  //@ read
  }
  P[64 * blockIdx.x + t] = sum;""", grid=4, n=256),
    _story("a store without its wait", Found(Verdict.DATA_RACE, "store"), _STORE + "}"),
    _story("a store that another thread waits for", Found(Verdict.DATA_RACE, "store"), _STORE + "}\n  if (t == 1) "
           + _ALL_DONE),
    _story("a store outside any group", Found(Verdict.DATA_RACE, "store"), _STORE.replace(
           "store(P", "uncommitted(P") + _ALL_DONE + "}"),
    _story("the last of two stores", Found(Verdict.DATA_RACE, "last"), _STORE.replace("256", "128") + """
    store(P + 32, tile + 32, 128);  //@ last
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory"); }"""),
    _story("a load without its wait", Found(Verdict.DATA_RACE, "load"), _LOAD + "\n  P[t] = t;"),
    _story("a load in a block that is stuck", Found(Verdict.BARRIER_DIVERGENCE, "stuck"), _LOAD + """
  if (t < 32) asm volatile("bar.sync 1, 64;" ::: "memory");  //@ stuck
  wait(bar, 0);"""),
    _story("copies without bytes, for which nothing waits", list(range(64)), """
  __shared__ alignas(128) float tile[64];
  __shared__ barrier bar;
  tile[t] = 0;
  if (t == 0) init(&bar, 1);
  fence();
  __syncthreads();
  if (t == 0) {
    load(tile, M, n > 64 ? 256 : 0, bar);
    store(P, tile, n > 64 ? 256 : 0);
  }
  P[t] = M[t];"""),
    _story("a load that one thread waits for at the end", list(range(64)), _LOAD + """
  P[t] = t;
  if (t == 40) wait(bar, 0);"""),
    _story("the load of a stage too many", Found(Verdict.DATA_RACE, "more"), """
  __shared__ alignas(128) float tile[2][64];
  __shared__ barrier bar[2];
  if (t == 0) { init(&bar[0], 1); init(&bar[1], 1); }
  __syncthreads();
  float sum = 0;
  if (t == 0) { load(tile[0], M, 256, bar[0]); expect(bar[0], 256); }
  for (int k = 0; k < 2; ++k) {
    if (t == 0) {
      load(tile[~k & 1], M, 256, bar[~k & 1]);  //@ more
      expect(bar[~k & 1], 256);
    }
    wait(bar[k], 0);
    sum += tile[k][t];
    __syncthreads();
  }
  P[t] = sum;"""),
    _story("one thread of a warp is elected of those that are left", [0] * 4 + [1] + [0] * 27, """
  P[t] = 0;
  if (t < 4) return;
  unsigned mine;
  asm volatile("{.reg .pred p; .reg .b32 r; elect.sync r|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(mine));
  P[t] = mine;""", block=32, n=32),
    _story("one thread of the upper half of a warp is elected", [0] * 16 + [1] + [0] * 15, """
  P[t] = 0;
  if (t < 16) return;
  unsigned mine;
  asm volatile("{.reg .pred p; .reg .b32 r; elect.sync r|p, 0xffff0000; selp.u32 %0, 1, 0, p;}" : "=r"(mine));
  P[t] = mine;""", block=32, n=32),
    _story("one thread of each warp is elected", [float(t % 32 == 0) for t in range(64)], """
  unsigned mine;
  asm volatile("{.reg .pred p; .reg .b32 r; elect.sync r|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(mine));
  P[t] = mine;"""),
    _story("single copies that a barrier waits for", [63 - t for t in range(64)], _GIVEN + """
  wait(bar, 0);
  P[t] = tile[63 - t];"""),
    _story("single copies without the wait", Race("copy", "read"), _GIVEN + """
  __syncthreads();
  P[t] = tile[63 - t];  //@ read"""),
    _story("a thread waits for its own copies alone", list(range(64)), _GIVEN + """
  copies_done();
  P[t] = tile[t];"""),
    _story("a thread doesn't wait for the copies of others", Race("copy", "read"), _GIVEN + """
  copies_done();
  P[t] = tile[63 - t];  //@ read"""),
    _story("each thread waits for its own copies, then the block meets", [63 - t for t in range(64)], _GIVEN + """
  copies_done();
  __syncthreads();
  P[t] = tile[63 - t];"""),
    _story("a store of what single copies brought", list(range(64)), _GIVEN + """
  wait(bar, 0);
  fence();
  __syncthreads();
  if (t == 0) { store(P, tile, 256); }""" + _ALL_DONE),
    _story("a store of what single copies brought, without a fence", Race("copy", "store"), _GIVEN + """
  wait(bar, 0);
  __syncthreads();
  if (t == 0) store(P, tile, 256);  //@ store""" + "\n  " + _ALL_DONE),
    _story("a fence before single copies are over", Race("copy", "store"), _GIVEN + """
  fence();
  wait(bar, 0);
  __syncthreads();
  if (t == 0) store(P, tile, 256);  //@ store""" + "\n  " + _ALL_DONE),
    _story("a barrier for each warp", [t // 32 * 32 + 31 - t % 32 for t in range(64)], _WARPS + """
  wait(bar[t / 32], 0);
  P[t] = tile[t ^ 31];"""),
    _story("a barrier for each warp, and a read across warps", Race("copy", "read"), _WARPS + """
  wait(bar[t / 32], 0);
  P[t] = tile[63 - t];  //@ read"""),
    _story("two barriers after the same copies", [63 - t for t in range(64)],
           _GIVEN.replace("bar;", "bar, more;").replace(
           "init(&bar, blockDim.x);", "{ init(&bar, blockDim.x); init(&more, blockDim.x); }") + """
  give(more);
  wait(more, 0);
  P[t] = tile[63 - t];"""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        ("one of several blocks reads too early", [Operation.BULK_LOAD, None]),
        ("a tile that changes before the store has read it", [Operation.BULK_STORE, None]),
    ],
)
def test_a_race_names_the_operation(device, name, operations):
    story = next(each for each in STORIES if each.name == name)

    found = only(device.run(story.text, **story.launch))

    assert [access.operation for access in found.facts.accesses] == operations


@pytest.mark.one_in(4, "a quarter here, and tests/corpus has each mistake with bulk copies")
@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


@pytest.mark.parametrize(
    ("story", "mistake"),
    [
        (_NO_FENCE, Mistake.PROXY_FENCE),
        (_READ_TOO_EARLY, Mistake.TRANSFER),
        (_FILLED_TOO_EARLY, Mistake.EARLY_TRANSFER),
    ],
    ids=str,
)
def test_a_race_knows_what_is_missing(device, story, mistake):
    assert only(device.run(story.text, **story.launch)).facts.mistake is mistake


@pytest.mark.parametrize("space", ["", ".shared::cta", ".global", None])
def test_a_barrier_without_a_fence_has_a_note(device, space):
    fence = "" if space is None else f'fence_of("{space}");'
    story = _story(
        "", None, _LOAD.replace("init(&bar, 1);", f"{{\n begin(&bar, 1);  //@ begin\n {fence} }}") + "\n  wait(bar, 0);"
    )

    execution = device.run(story.text, **story.launch)

    noted = [(each.line, each.severity) for each in execution.findings]
    missing = space in {".global", None}
    assert noted == ([(line(story.text, "begin"), Severity.WARNING)] if missing else [])
