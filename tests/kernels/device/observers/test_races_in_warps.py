"""Races where `__syncwarp` orders some threads, and where copies go on by themselves."""

from __future__ import annotations

import pytest

from kernels.verdict import Severity, Verdict
from tests.kernels.device.kernels import HEAD, THREAD, example, line, only

KIND = Verdict.DATA_RACE


def test_syncwarp_orders_the_threads_of_a_warp(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t] = t;
  __syncwarp();
  P[t] = tile[t ^ 1];
  __syncwarp();
  tile[t ^ 3] = t;
}}"""

    assert device.output(text, block=64, n=64) == [t ^ 1 for t in range(64)]


def test_syncwarp_does_not_order_two_warps(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t] = t;  //@ write
  __syncwarp();
  P[t] = tile[t ^ 32];  //@ read
}}"""

    finding = only(device.run(text, block=64, n=64))

    assert (finding.line, finding.other_line, finding.count) == (line(text, "read"), line(text, "write"), 64)


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


COPY = f"""{HEAD} {{
  {THREAD}
  __shared__ __align__(16) float tile[64];
  unsigned where = static_cast<unsigned>(__cvta_generic_to_shared(tile + t));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(where), "l"(M + t) : "memory");  //@ copy
  asm volatile("cp.async.commit_group;" ::: "memory");
  if (n >= WAIT) asm volatile("cp.async.wait_group 0;" ::: "memory");
  if (n >= BARRIER) __syncthreads();
  P[t] = tile[63 - t];  //@ read
}}"""


def test_an_asynchronous_copy_that_is_waited_for_and_then_met(device):
    assert device.output(COPY, block=64, n=64, defines="WAIT=0 BARRIER=0") == [63 - t for t in range(64)]


@pytest.mark.parametrize("without", ["WAIT=99 BARRIER=0", "WAIT=0 BARRIER=99"])
def test_an_asynchronous_copy_read_too_early(device, without):
    execution = device.run(COPY, block=64, n=64, defines=without)

    found = [each for each in execution.findings if each.kind is KIND]
    assert [(each.line, each.other_line) for each in found] == [(line(COPY, "read"), line(COPY, "copy"))]
    assert "no wait for the copy and `__syncthreads()` between" in found[0].message
