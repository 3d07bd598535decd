"""Barriers: who must come, who need not, and what reducing barriers give."""

from __future__ import annotations

import pytest

from kernels.device.ptx.constructs import waiting_place
from kernels.device.ptx.module import Instruction
from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Found, Story, example, line, only, schedules

KIND = Verdict.BARRIER_DIVERGENCE


def test_a_barrier_in_a_branch(device):
    text = f"""{HEAD} {{
  {THREAD}
  P[t] = 0;
  if (M[t] < 10) __syncthreads();  //@ inner
  P[t] = 1;
  __syncthreads();  //@ outer
  P[t] = 2;
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line, finding.other_line) == (KIND, line(text, "inner"), line(text, "outer"))
    assert finding.count == 10
    assert example(finding).block == (0, 0, 0)
    assert example(finding).threads == ((0, 0, 0), (10, 0, 0))
    assert finding.message == (
        f"Thread (0,0) of block (0,0) waits in `__syncthreads()` at line {line(text, 'inner')}. Thread (10,0) of"
        f" the same block waits in `__syncthreads()` at line {line(text, 'outer')}. All threads of a block must"
        " reach the same barrier."
    )


STORIES = [
    Story("a barrier in both branches is two barriers", Found(KIND, pair=("one", "two")), """
  if (M[t] < 10) {
    P[t] = 0;
    __syncthreads();  //@ one
    P[t] += 3;
  } else {
    P[t] = 1;
    __syncthreads();  //@ two
    P[t] *= 5;
  }"""),
    Story("a barrier in a loop of different length", Found(KIND, pair=("loop", "after")), """
  __shared__ float tile[64];
  tile[t] = 0;
  for (int i = 0; i < t / 32 + 1; ++i) {
    tile[t] += i;
    __syncthreads();  //@ loop
  }
  tile[t] += 1;
  __syncthreads();  //@ after
  P[t] = tile[63 - t];""", block=64, n=64),
    Story("threads that have exited are not waited for", [39 - t for t in range(40)], """
  __shared__ float tile[64];
  if (t >= 40) return;
  tile[t] = t;
  __syncthreads();
  P[t] = tile[39 - t];""", block=64, n=40),
    Story("a whole block that returns first", [31 - t for t in range(32)] * 2, """
  __shared__ float tile[32];
  if (blockIdx.x == 1) return;
  tile[t] = t;
  __syncthreads();
  P[blockIdx.x / 2 * 32 + t] = tile[31 - t];""", grid=3, n=64),
    Story("a barrier that a whole block skips is fine", [31 - t for t in range(32)] + list(range(32)), """
  __shared__ float tile[32];
  tile[t] = t;
  if (blockIdx.x == 0) __syncthreads();
  P[blockIdx.x * 32 + t] = blockIdx.x == 0 ? tile[31 - t] : tile[t];""", grid=2, n=64),
    Story("syncwarp with a missing lane", Found(KIND, pair=("half", "all")), """
  if (t < 16) __syncwarp();  //@ half
  P[t] = 1;
  __syncthreads();  //@ all"""),
    Story("lanes that have exited are not missed", [190 + 20] * 20, """
  if (t >= 20) return;
  __syncwarp();
  P[t] = __reduce_add_sync(0xffffffffu, t) + __popc(__ballot_sync(0xffffffffu, 1));""", n=20),
    Story("two syncwarps of two branches make up one", [2 * (31 - t) if t < 16 else -(31 - t) for t in range(32)], """
  __shared__ float tile[32];
  if (M[t] < 16) {
    tile[t] = t;
    __syncwarp();
    P[t] = tile[31 - t];
  } else {
    tile[t] = 2 * t;
    __syncwarp();
    P[t] = -tile[31 - t];
  }"""),
    Story("a barrier that counts", [33 + 100] * 64, """
  int odd = __syncthreads_count(t % 2 || t > 60);
  int all = __syncthreads_and(t < 64);
  int none = __syncthreads_or(t > 64);
  P[t] = odd + 100 * (all != 0) + 1000 * (none != 0);""", block=64, n=64),
    Story("a barrier that counts by block and without those that left", [1] * 50 + [11] * 50 + [21] * 50, """
  if (t >= 50) return;
  int count = __syncthreads_count(t < 10 * blockIdx.x);
  P[blockIdx.x * 50 + t] = count + (__syncthreads_and(t < 50) != 0);""", grid=3, block=64, n=150),
    Story("a barrier orders like any other where it counts", [63 - t + 64 for t in range(64)], """
  __shared__ float tile[64];
  tile[t] = t;
  int count = __syncthreads_count(1);
  P[t] = tile[63 - t] + count;""", block=64, n=64),
]  # fmt: skip


@pytest.mark.one_in(2, "every second, and tests/corpus has such kernels")
@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


def test_blocks_that_pass_the_barrier_go_on_though_another_is_stuck(device):
    text = f"""{HEAD} {{
  {THREAD}
  if (blockIdx.x != 1 || t < 5) __syncthreads();  //@ inner
  P[blockIdx.x * 32 + t] = 1;
  if (blockIdx.x == 1) __syncthreads();
  P[blockIdx.x * 32 + t] = 2;
}}"""

    execution = device.run(text, grid=3, n=96)

    finding = only(execution)
    assert (finding.kind, finding.count, example(finding).block) == (KIND, 5, (1, 0, 0))
    out = execution.values["P"].reshape(3, 32)
    assert out[0].tolist() == out[2].tolist() == [2] * 32


@schedules
def test_both_schedules_see_it(device, schedule):
    text = f"""{HEAD} {{
  {THREAD}
  P[t] = 0;
  if (t < 32) __syncthreads();  //@ inner
  P[t] = 1;
  __syncthreads();  //@ outer
}}"""

    finding = only(device.run(text, block=64, n=64, schedule=schedule))

    assert (finding.kind, {finding.line, finding.other_line}) == (KIND, {line(text, "inner"), line(text, "outer")})


def test_a_shuffle_with_a_missing_lane(device):
    text = f"""{HEAD} {{
  {THREAD}
  float v = t;
  if (M[t] < 16) {{
    v += __shfl_xor_sync(0xffffffffu, v, 1);  //@ shuffle
    P[t] = 0;
  }}
  __syncthreads();  //@ barrier
  P[t] = v;
}}"""

    finding = only(device.run(text))

    assert (finding.kind, {finding.line, finding.other_line}) == (KIND, {line(text, "shuffle"), line(text, "barrier")})
    assert "All threads of the warp that the mask names must reach `__shfl_xor_sync()`." in finding.message


@pytest.mark.parametrize(
    ("opcode", "place"),
    [
        ("bar.warp.sync", "__syncwarp()"),
        ("shfl.sync.down.b32", "__shfl_down_sync()"),
        ("vote.sync.ballot.b32", "__ballot_sync()"),
        ("match.any.sync.b32", "__match_any_sync()"),
        ("redux.sync.add.s32", "__reduce_add_sync()"),
    ],
)
def test_a_place_to_wait_has_its_name_in_cuda(opcode, place):
    assert waiting_place(Instruction(opcode, (), None, None)) == f"`{place}`"
