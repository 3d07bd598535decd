"""Races with copies by `cp.async`, which go on by themselves until their thread waits for them."""

from __future__ import annotations

import pytest

from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Race, Story, line

COPY_AND_READ = f"""{HEAD} {{
  {THREAD}
  __shared__ __align__(16) float tile[64];
  unsigned where = static_cast<unsigned>(__cvta_generic_to_shared(tile + t));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(where), "l"(M + t) : "memory");  //@ copy
  asm volatile("cp.async.commit_group;" ::: "memory");
  if (n >= WAIT) asm volatile("cp.async.wait_group 0;" ::: "memory");  //@ wait
  if (n >= BARRIER) __syncthreads();
  P[t] = tile[63 - t];  //@ read
}}"""


def test_an_asynchronous_copy_that_is_waited_for_and_then_met(device):
    assert device.output(COPY_AND_READ, block=64, n=64, defines="WAIT=0 BARRIER=0") == [63 - t for t in range(64)]


@pytest.mark.parametrize(("without", "waited"), [("WAIT=99 BARRIER=0", False), ("WAIT=0 BARRIER=99", True)])
def test_an_asynchronous_copy_read_too_early(device, without, waited):
    execution = device.run(COPY_AND_READ, block=64, n=64, defines=without)

    found = [each for each in execution.findings if each.kind is Verdict.DATA_RACE]
    assert [(each.line, each.other_line) for each in found] == [
        (line(COPY_AND_READ, "read"), line(COPY_AND_READ, "copy"))
    ]
    assert found[0].facts.waited is waited
    assert found[0].facts.copy_waits == (line(COPY_AND_READ, "wait"),)


def test_a_copy_that_begins_before_a_read_has_ended_needs_only_a_barrier(device):
    kernel = f"""{HEAD} {{
  {THREAD}
  __shared__ __align__(16) float tile[64];
  unsigned where = static_cast<unsigned>(__cvta_generic_to_shared(tile + t));
  tile[t] = 0.0f;
  __syncthreads();
  float before = tile[63 - t];  //@ read
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(where), "l"(M + t) : "memory");  //@ copy
  asm volatile("cp.async.wait_all;" ::: "memory");
  P[t] = before + tile[t];
}}"""
    execution = device.run(kernel, block=64, n=64)

    (found,) = (each for each in execution.findings if each.kind is Verdict.DATA_RACE)
    assert (found.line, found.other_line) == (line(kernel, "copy"), line(kernel, "read"))
    assert "wait" not in found.message


COPY = """asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(where + 4 * t), "l"(M + t) : "memory");"""
COMMIT = """asm volatile("cp.async.commit_group;" ::: "memory");"""
WAIT = """asm volatile("cp.async.wait_group {left};" ::: "memory");"""
TILE = """__shared__ float tile[64];
  unsigned where = (unsigned)__cvta_generic_to_shared(tile);"""


STORIES = [
    Story("a copy begins where it is issued not where it is waited for", Race("read", "copy"), f"""
  {TILE}
  tile[t] = 0.0f;
  __syncthreads();
  float before = tile[63 - t];  //@ read
  {COPY}  //@ copy
  {COMMIT}
  __syncthreads();
  {WAIT.format(left=0)}
  P[t] = before + tile[t];""", block=64, n=64),
    Story("a thread has two copies to one place under way", Race("copy", "copy"), f"""
  {TILE}
#pragma unroll 1
  for (int k = 0; k < 2; ++k) {{
    {COPY}  //@ copy
    {COMMIT}
    __syncthreads();
  }}
  {WAIT.format(left=0)}
  __syncthreads();
  P[t] = tile[t];""", block=64, n=64),
    Story("a thread waits for its own copy", Race("copy", "read"), """
  __shared__ float tile[32];
  tile[t] = 0;
  unsigned where = static_cast<unsigned>(__cvta_generic_to_shared(tile + t));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(where), "l"(M + t) : "memory");  //@ copy
  P[t] = tile[t];  //@ read
  asm volatile("cp.async.wait_all;" ::: "memory");"""),
]  # fmt: skip


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)
