"""Atomic updates: what stays in memory, and what each thread gets back."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Story, line, only

GLOBAL = """__device__ TYPE cell[2] = {START, START};
HEAD { THREAD TYPE old = CALL; P[t] = (float)old; M[t] = 0; }""".replace("HEAD", HEAD).replace("THREAD", THREAD)
SHARED = """HEAD {
  THREAD
  __shared__ TYPE cell[2];
  if (t < 2) cell[t] = START;
  __syncthreads();
  TYPE old = CALL;
  __syncthreads();
  P[t] = t < 30 ? (float)old : (float)cell[t - 30];
}""".replace("HEAD", HEAD).replace("THREAD", THREAD)

# Type, start, call on `&cell[t % 2]` and what it does, thread after thread.
UPDATES = [
    ("int", 5, "atomicAdd(&cell[t % 2], t)", lambda old, t: old + t),
    ("int", 5, "atomicSub(&cell[t % 2], t)", lambda old, t: old - t),
    ("unsigned", 5, "atomicAdd(&cell[t % 2], 3u)", lambda old, t: old + 3),
    ("float", 1.5, "atomicAdd(&cell[t % 2], 0.25f * t)", lambda old, t: old + 0.25 * t),
    ("double", 1.5, "atomicAdd(&cell[t % 2], 0.125 * t)", lambda old, t: old + 0.125 * t),
    ("unsigned long long", 7, "atomicAdd(&cell[t % 2], 2ULL)", lambda old, t: old + 2),
    ("int", 9, "atomicMin(&cell[t % 2], 12 - t)", lambda old, t: min(old, 12 - t)),
    ("int", -4, "atomicMax(&cell[t % 2], t - 10)", lambda old, t: max(old, t - 10)),
    ("unsigned", 9, "atomicMin(&cell[t % 2], 40u - t)", lambda old, t: min(old, 40 - t)),
    ("unsigned", 9, "atomicMax(&cell[t % 2], (unsigned)t)", max),
    ("int", 0x5F, "atomicAnd(&cell[t % 2], ~(1 << t % 8))", lambda old, t: old & ~(1 << t % 8)),
    ("int", 0, "atomicOr(&cell[t % 2], 1 << t % 20)", lambda old, t: old | 1 << t % 20),
    ("int", 3, "atomicXor(&cell[t % 2], t)", lambda old, t: old ^ t),
    ("int", 3, "atomicExch(&cell[t % 2], t)", lambda old, t: t),
    ("float", 3, "atomicExch(&cell[t % 2], t + 0.5f)", lambda old, t: t + 0.5),
    ("unsigned", 0, "atomicInc(&cell[t % 2], 4u)", lambda old, t: 0 if old >= 4 else old + 1),
    ("unsigned", 2, "atomicDec(&cell[t % 2], 4u)", lambda old, t: 4 if old == 0 or old > 4 else old - 1),
    ("int", 0, "atomicCAS(&cell[t % 2], t / 2, t / 2 + 1)", lambda old, t: t // 2 + 1 if old == t // 2 else old),
    ("unsigned long long", 0, "atomicCAS(&cell[t % 2], 0ULL, 7ULL + t)", lambda old, t: 7 + t if old == 0 else old),
]


def outcome(start, update):
    """What each thread gets back where threads come in the order of their numbers, and what is left."""
    cell, old = [start, start], []
    for t in range(32):
        old.append(cell[t % 2])
        cell[t % 2] = update(cell[t % 2], t)
    return old, cell


def filled(template: str, kind: str, start: float, call: str) -> str:
    return template.replace("TYPE", kind).replace("START", str(start)).replace("CALL", call)


@pytest.mark.one_in(3, "a third of the operations")
@pytest.mark.parametrize(("kind", "start", "call", "update"), UPDATES)
def test_in_shared_memory(device, kind, start, call, update):
    old, cell = outcome(start, update)

    assert device.output(filled(SHARED, kind, start, call)) == [*old[:30], *cell]


@pytest.mark.one_in(4, "a quarter of the operations")
@pytest.mark.parametrize(("kind", "start", "call", "update"), UPDATES)
def test_in_global_memory(device, kind, start, call, update):
    old, _ = outcome(start, update)

    assert device.output(filled(GLOBAL, kind, start, call)) == old


VECTORS = """__device__ TYPE cell[2] = {};
HEAD { THREAD TYPE old = atomicAdd(&cell[t % 2], make_TYPE(VALUES)); P[t] = old.x + 1000 * old.LAST; }""".replace(
    "HEAD", HEAD
).replace("THREAD", THREAD)


@pytest.mark.parametrize(("kind", "values", "last"), [("float2", "t, 1", "y"), ("float4", "t, 2, 3, 1", "w")])
def test_a_vector_of_floats(device, kind, values, last):
    text = VECTORS.replace("TYPE", kind).replace("VALUES", values).replace("LAST", last)

    assert device.output(text) == [sum(range(t % 2, t, 2)) + 1000 * (t // 2) for t in range(32)]


@pytest.mark.parametrize(
    ("header", "kind", "made", "low", "high"),
    [
        ("cuda_fp16.h", "__half2", "__floats2half2_rn(t, 1)", "__low2float(old)", "__high2float(old)"),
        ("cuda_bf16.h", "__nv_bfloat162", "__floats2bfloat162_rn(t, 1)", "__low2float(old)", "__high2float(old)"),
        ("cuda_fp16.h", "__half", "__float2half(t)", "__half2float(old)", "t / 2"),
        ("cuda_bf16.h", "__nv_bfloat16", "__float2bfloat16(t)", "__bfloat162float(old)", "t / 2"),
    ],
)
def test_halves_alone_and_in_pairs(device, header, kind, made, low, high):
    text = f"""#include <{header}>
__device__ unsigned cell[2];
{HEAD} {{ {THREAD} {kind} old = atomicAdd(({kind}*)&cell[t % 2], {made}); P[t] = {low} + 1000 * ({high}); }}"""

    assert device.output(text) == [sum(range(t % 2, t, 2)) + 1000 * (t // 2) for t in range(32)]


def test_a_sum_of_halves_is_rounded_once_each_time(device):
    text = f"""#include <cuda_fp16.h>
__device__ unsigned cell;
{HEAD} {{
  {THREAD}
  __half2 old = atomicAdd((__half2*)&cell, __floats2half2_rn(1024.0f + t % 3, 1));
  P[t] = __low2float(old);
}}"""
    expected, total = [], np.float16(0)
    for t in range(32):
        expected.append(float(total))
        total = np.float16(total + np.float16(1024 + t % 3))

    assert device.output(text) == expected


def test_a_vector_must_be_aligned_as_a_whole(device):
    text = f"""{HEAD} {{
  if (n == 32) atomicAdd((float2*)(P + 1), make_float2(1, 2));  //@ update
}}"""
    finding = only(device.run(text))

    assert (finding.kind, finding.line) == (Verdict.RUNTIME_ERROR, line(text, "update"))


STORIES = [
    Story("elements of a vector and single floats are atomic together", [0] * 32, """
  if (t % 2) atomicAdd((float4*)cell, make_float4(1, 1, 1, 1)); else atomicAdd(&cell[t / 2 % 4], 1.0f);
  P[t] = 0;""", before="__device__ float cell[4];"),
    Story("a result that nobody wants", [28] * 96, """
  __shared__ int sum;
  if (t == 0) sum = 0;
  __syncthreads();
  if (M[t] > 3) atomicAdd(&sum, 1);
  __syncthreads();
  P[blockIdx.x * 32 + t] = sum;""", grid=3, n=96),
    Story("a lock built of an exchange", [496] * 32, """
  __shared__ int lock, sum;
  if (t == 0) lock = sum = 0;
  __syncthreads();
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      atomicAdd(&sum, t);
      atomicExch(&lock, 0);
      done = true;
    }
  }
  __syncthreads();
  P[t] = sum;""", budget=5_000),
    Story("a float maximum built of compare and swap", [15.5] * 32, """
  __shared__ int most;
  if (t == 0) most = __float_as_int(-1.0f);
  __syncthreads();
  int old = atomicAdd(&most, 0), seen;
  do {
    seen = old;
    if (__int_as_float(seen) >= M[t * 7 % 32] * 0.5f) break;
    old = atomicCAS(&most, seen, __float_as_int(M[t * 7 % 32] * 0.5f));
  } while (old != seen);
  __syncthreads();
  P[t] = __int_as_float(most);"""),
]  # fmt: skip


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


def test_all_blocks_meet_in_global_memory(device, monkeypatch):
    text = f"""__device__ int count;
{HEAD} {{ {THREAD} P[blockIdx.x * 32 + t] = atomicAdd(&count, 1); }}"""
    monkeypatch.setattr("kernels.device.memory.placement.CHUNK_LANES", 64)

    assert sorted(device.output(text, grid=5, n=160)) == list(range(160))
