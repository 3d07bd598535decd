"""Races in shared memory, as exact pairs of lines, whatever order the threads happened to run in."""

from __future__ import annotations

import pytest

from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Found, Story, example, line, lines, only, schedules

KIND = Verdict.DATA_RACE


def test_a_read_without_a_barrier_after_the_write(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t] = t;  //@ write
  P[t] = tile[63 - t];  //@ read
}}"""

    finding = only(device.run(text, block=64, n=64))

    assert (finding.kind, finding.line, finding.other_line) == (KIND, line(text, "read"), line(text, "write"))
    assert finding.count == 64
    assert example(finding).block == (0, 0, 0)
    assert example(finding).threads == ((0, 0, 0), (63, 0, 0))
    assert example(finding).element == "tile[63]"
    assert finding.message == (
        f"Thread (63,0) of block (0,0) writes `tile[63]` at line {line(text, 'write')}. Thread (0,0) reads it at line"
        f" {line(text, 'read')}, with no `__syncthreads()` between them."
    )


STORIES = [
    Story("the barrier between settles it", [63 - t for t in range(64)], """
  __shared__ float tile[64];
  tile[t] = t;
  __syncthreads();
  P[t] = tile[63 - t];""", block=64, n=64),
    Story("a write that follows a read without a barrier", Found(line="write", other="read", count=3 * 64), """
  __shared__ float tile[64];
  float sum = 0;
  for (int i = 0; i < n / 16; ++i) {
    tile[t] = i + t;  //@ write
    __syncthreads();
    sum += tile[63 - t];  //@ read
  }
  P[t] = sum;""", block=64, n=64),
    Story(
        "two threads write one element",
        Found(KIND, "write", "write", element="tile[0]", threads={(0, 0, 0), (1, 0, 0)}), """
  __shared__ float tile[64];
  tile[t / 2] = t;  //@ write
  __syncthreads();
  P[t] = tile[t / 2];""", block=64, n=64),
    Story("writes at two lines", Found(line="second", other="first"), """
  __shared__ float tile[64];
  tile[t] = t;  //@ first
  tile[63 - t] = 2 * t;  //@ second
  __syncthreads();
  P[t] = tile[t];""", block=64, n=64),
    Story("many reads of one element are fine", [2016] * 64, """
  __shared__ float tile[64];
  tile[t] = t;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 64; ++i) sum += tile[i];
  P[t] = sum + tile[0];""", block=64, n=64),
    Story("a thread may read back what it wrote", [t + 1 for t in range(64)], """
  __shared__ volatile float tile[64];
  tile[t] = t;
  tile[t] = tile[t] + 1;
  P[t] = tile[t];""", block=64, n=64),
    Story("double buffering with one barrier per phase is clean", [4 * (63 - t) + 6 for t in range(64)], """
  __shared__ float tile[2][64];
  float sum = 0;
  tile[0][t] = M[t];
  for (int i = 0; i < n / 16; ++i) {
    __syncthreads();
    tile[(i + 1) % 2][t] = M[t] + i + 1;
    sum += tile[i % 2][63 - t];
  }
  P[t] = sum;""", block=64, n=64),
    Story("atomic updates do not clash with each other", [2016 + 64] * 64, """
  __shared__ float sum;
  if (t == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, M[t]);
  atomicAdd(&sum, 1.0f);
  __syncthreads();
  P[t] = sum;""", block=64, n=64),
    Story(
        "an atomic update clashes with a plain read",
        Found(line="read", other="add", says="atomically updates"), """
  __shared__ float sum;
  if (t == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, M[t]);  //@ add
  P[t] = sum;  //@ read""", block=64, n=64),
    Story("an atomic update clashes with a plain write", Found(line="add", other="write", count=63), """
  __shared__ float sum;
  if (t == 0) sum = 0;  //@ write
  atomicAdd(&sum, M[t]);  //@ add
  __syncthreads();
  P[t] = sum;""", block=64, n=64),
    Story("different bytes of a word do not clash", [63 - t for t in range(64)], """
  __shared__ unsigned char tile[64];
  tile[t] = t;
  __syncthreads();
  P[t] = tile[63 - t];""", block=64, n=64),
    Story(
        "one byte written by two threads",
        Found(line="write", other="write", element="tile[0]", threads={(0, 0, 0), (63, 0, 0)}), """
  __shared__ unsigned char tile[64];
  tile[t % 63] = t;  //@ write
  __syncthreads();
  P[t] = t < 63 ? tile[t] : 0;""", block=64, n=64),
    Story("a word clashes with a byte inside it", Found(line="word", other="byte"), """
  __shared__ unsigned int tile[64];
  tile[t] = 0;
  __syncthreads();
  reinterpret_cast<unsigned char*>(tile)[4 * t + 3] = t;  //@ byte
  P[t] = tile[t ^ 32];  //@ word""", block=64, n=64),
    Story("all words of a wide access count", Found(line="read", other="write", count=64), """
  __shared__ float4 tile[64];
  tile[t] = make_float4(t, t, t, t);  //@ write
  P[t] = reinterpret_cast<float*>(tile)[(4 * t + 131) % 256];  //@ read""", block=64, n=64),
    Story("threads that are in different blocks share nothing", [block for block in range(3) for _ in range(32)], """
  __shared__ float tile[2];
  if (t == 0) tile[0] = blockIdx.x;
  __syncthreads();
  P[blockIdx.x * 32 + t] = tile[0];""", grid=3, n=96),
    Story(
        "blocks in different phases",
        [sum(63 - t + i for i in range(block + 1)) for block in range(4) for t in range(64)], """
  __shared__ float tile[64];
  float sum = 0;
  for (int i = 0; i <= blockIdx.x; ++i) {
    tile[t] = M[t] + i;
    __syncthreads();
    sum += tile[63 - t];
    if (i < blockIdx.x) __syncthreads();
  }
  P[blockIdx.x * 64 + t] = sum;""", grid=4, block=64, n=256),
    Story("only some blocks lack the barrier", Found(line="read", other="write", count=64, block=(2, 0, 0)), """
  __shared__ float tile[64];
  tile[t] = t;  //@ write
  if (blockIdx.x != 2) __syncthreads();
  P[blockIdx.x * 64 + t] = tile[63 - t];  //@ read""", grid=4, block=64, n=256),
    Story("without observers nothing is reported", None, """
  __shared__ float tile[64];
  tile[t] = t;
  P[t] = tile[63 - t];""", block=64, n=64, observe=False),
]  # fmt: skip


@pytest.mark.one_in(2, "every second here, and tests/races judges generated kernels")
@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


def test_double_buffering_with_the_buffers_confused(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[2][64];
  float sum = 0;
  tile[0][t] = M[t];
  for (int i = 0; i < n / 16; ++i) {{
    __syncthreads();
    tile[i % 2][t] = M[t] + i + 1;  //@ write
    sum += tile[i % 2][63 - t];  //@ read
  }}
  P[t] = sum;
}}"""

    execution = device.run(text, block=64, n=64)

    assert (KIND.value, line(text, "read"), line(text, "write")) in lines(execution)


@schedules
def test_the_schedule_does_not_matter(device, schedule):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t] = 0;
  __syncthreads();
  if (t >= 32) tile[t] = t;  //@ write
  P[t] = tile[63 - t];  //@ read
}}"""

    execution = device.run(text, block=64, n=64, schedule=schedule)

    assert {(each.kind, frozenset({each.line, each.other_line}), each.count) for each in execution.findings} == {
        (KIND, frozenset({line(text, "write"), line(text, "read")}), 32)
    }
