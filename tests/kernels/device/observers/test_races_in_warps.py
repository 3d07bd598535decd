"""Races where `__syncwarp` orders some threads."""

from __future__ import annotations

import pytest

from kernels.verdict import Severity, Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Found, Story, example, line, only, racing

KIND = Verdict.DATA_RACE


STORIES = [
    Story("syncwarp orders the threads of a warp", [t ^ 1 for t in range(64)], """
  __shared__ float tile[64];
  tile[t] = t;
  __syncwarp();
  P[t] = tile[t ^ 1];
  __syncwarp();
  tile[t ^ 3] = t;""", block=64, n=64),
    Story("syncwarp does not order two warps", Found(line="read", other="write", count=64), """
  __shared__ float tile[64];
  tile[t] = t;  //@ write
  __syncwarp();
  P[t] = tile[t ^ 32];  //@ read""", block=64, n=64),
    Story("order goes on through a third lane", [7], """
  __shared__ float cell;
  if (t == 0) cell = 7;
  if (t < 2) __syncwarp(0x3);
  if (t == 1 || t == 2) __syncwarp(0x6);
  if (t == 2) P[0] = cell;""", n=1),
]  # fmt: skip


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


def test_syncwarp_of_half_a_warp_orders_that_half(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[32];
  tile[t] = t;  //@ write
  if (t < 16) __syncwarp(0xffff);
  P[t] = tile[t ^ SWAP];  //@ read
}}"""

    assert device.run(text, defines="SWAP=0").findings == ()
    finding = only(device.run(text, defines="SWAP=1"))
    assert (finding.line, finding.other_line, finding.count) == (line(text, "read"), line(text, "write"), 16)
    assert example(finding).threads[0] >= (16, 0, 0)


INSIDE_A_WARP = f"""{HEAD} {{
  {THREAD}
  __shared__ volatile float tile[32];
  tile[t] = t;  //@ write
  P[t] = tile[t ^ 1];  //@ read
}}"""


@pytest.mark.parametrize("severity", list(Severity))
def test_a_race_inside_a_warp_weighs_what_the_exercise_says(device, severity):
    finding = only(device.run(INSIDE_A_WARP, warp_races=severity))

    assert (finding.kind, finding.severity) == (KIND, severity)
    assert (finding.line, finding.other_line) == (line(INSIDE_A_WARP, "read"), line(INSIDE_A_WARP, "write"))


def test_a_race_between_warps_is_an_error_however_warps_are_judged(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t] = t;  //@ write
  P[t] = tile[t ^ 33];  //@ read
}}"""

    assert only(device.run(text, block=64, n=64, warp_races=Severity.WARNING)).severity is Severity.ERROR


def test_lanes_that_never_met_are_not_ordered_by_meeting_others(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[32];
  tile[t] = t;  //@ write
  __syncwarp(t < 16 ? 0xffffu : 0xffff0000u);
  P[t] = tile[(t + BY) % 32];  //@ read
}}"""

    assert device.run(text, defines="BY=0").findings == ()
    assert racing(device.run(text, defines="BY=16")) == {frozenset({line(text, "write"), line(text, "read")})}


@pytest.mark.parametrize("rounds", [1, 70])
def test_a_write_is_not_forgotten_behind_reads_of_other_sorts(device, rounds):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ unsigned int x, filler[32];
  unsigned int seen = 0;
  if (t == 0) x = 5;  //@ write
  if (t < 32) {{
    __syncwarp();
    if (t == 1) seen = x;
    __syncwarp();
    unsigned at = (unsigned)__cvta_generic_to_shared(&x);
    if (t == 2) asm volatile("ld.relaxed.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(at) : "memory");
    for (int i = 0; i < {rounds}; ++i) {{
      __syncwarp();
      filler[(t + i) % 32] = i;
      __syncwarp();
    }}
  }}
  if (t == 40) seen = x;  //@ read
  P[t] = seen + filler[t % 32] * 0;
}}"""

    pair = frozenset({line(text, "write"), line(text, "read")})
    found = device.run(text, block=64, n=64).findings
    assert pair in {frozenset({each.line, each.other_line}) for each in found}


def test_a_load_that_the_compiler_makes_for_all_is_that_of_the_threads_that_want_it(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float s[32];
  if (t < 32) s[t] = M[t];
  __syncwarp();
  float total = t == 0 ? s[3] : 0.0f;
  P[t] = __shfl_sync(0xffffffff, total, 0);
}}"""

    execution = device.run(text, block=64, n=64)

    assert execution.findings == ()
    assert execution.values["P"].tolist() == [3] * 32 + [0] * 32
