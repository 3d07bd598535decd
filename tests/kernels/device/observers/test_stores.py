"""Stores of different threads to one place in global memory."""

from __future__ import annotations

import pytest

from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Found, Story, line, only

KIND = Verdict.DATA_RACE


STORIES = [
    Story(
        "two threads of a block",
        Found(KIND, "store", "store", 16, element="P[0]", threads={(0, 0, 0), (1, 0, 0)}), """
  P[t / 2] = t;  //@ store""", n=16),
    Story("a barrier does not order two blocks", Found(pair=("first", "second")), """
  if (blockIdx.x == 0) P[t] = 1;  //@ first
  __syncthreads();
  if (blockIdx.x == 1) P[t] = 2;  //@ second""", grid=2),
    Story("a barrier orders the threads of a block", [63 - t for t in range(64)], """
  P[t] = 1;
  __syncthreads();
  P[n - 1 - t] = t;""", block=64, n=64),
    Story("a thread may write twice", [31] * 32, "for (int i = 0; i < n; ++i) { P[t] = i; __threadfence(); }"),
    Story("an atomic update and a plain store clash", Found(line="add", other="store"), """
  if (t == 0) M[0] = 7;  //@ store
  atomicAdd(M, 1.0f);  //@ add
  P[t] = 0;"""),
    Story("different bytes do not clash", list(range(32)), """
  reinterpret_cast<unsigned char*>(P)[t] = t;""", dtype="u1", n=8),
]  # fmt: skip


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


def test_two_blocks(device):
    text = f"""{HEAD} {{
  {THREAD}
  P[t] = blockIdx.x;  //@ store
}}"""

    finding = only(device.run(text, grid=2))

    assert (finding.kind, finding.line, finding.count) == (KIND, line(text, "store"), 32)
    assert "block (0,0)" in finding.message
    assert "block (1,0)" in finding.message


def test_two_blocks_that_do_not_run_side_by_side(device, monkeypatch):
    text = f"{HEAD} {{ P[threadIdx.x] = blockIdx.x; }}"
    monkeypatch.setattr("kernels.device.memory.placement.CHUNK_LANES", 32)

    finding = only(device.run(text, grid=2))

    assert (finding.kind, finding.count) == (KIND, 32)


@pytest.mark.parametrize("update", ["atomicAdd(M, 1.0f)", "atomicExch(M + t % 2, 1.0f)", "atomicMax((int*)M, t)"])
def test_atomic_updates_do_not_clash(device, update):
    text = f"{HEAD} {{ {THREAD} {update}; P[blockIdx.x * 32 + t] = 1; }}"

    assert device.output(text, grid=2, n=64) == [1] * 64


def test_the_lines_that_wrote_each_buffer(device):
    text = f"""{HEAD} {{
  {THREAD}
  P[t] = M[t];  //@ output
  if (t > 3) M[t] = 0;  //@ input
}}"""

    stored = device.run(text).stored

    assert stored == {"M": (line(text, "input"),), "P": (line(text, "output"),)}
