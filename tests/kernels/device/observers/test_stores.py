"""Stores of different threads to one place in global memory."""

from __future__ import annotations

import pytest

from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, example, line, only

KIND = Verdict.DATA_RACE


def test_two_threads_of_a_block(device):
    text = f"""{HEAD} {{
  {THREAD}
  P[t / 2] = t;  //@ store
}}"""

    finding = only(device.run(text, n=16))

    assert (finding.kind, finding.line, finding.other_line) == (KIND, line(text, "store"), line(text, "store"))
    assert finding.count == 16
    assert example(finding).element == "P[0]"
    assert set(example(finding).threads) == {(0, 0, 0), (1, 0, 0)}


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


def test_a_barrier_does_not_order_two_blocks(device):
    text = f"""{HEAD} {{
  {THREAD}
  if (blockIdx.x == 0) P[t] = 1;  //@ first
  __syncthreads();
  if (blockIdx.x == 1) P[t] = 2;  //@ second
}}"""

    finding = only(device.run(text, grid=2))

    assert {finding.line, finding.other_line} == {line(text, "first"), line(text, "second")}


def test_a_barrier_orders_the_threads_of_a_block(device):
    text = f"""{HEAD} {{
  {THREAD}
  P[t] = 1;
  __syncthreads();
  P[n - 1 - t] = t;
}}"""

    assert device.output(text, block=64, n=64) == [63 - t for t in range(64)]


def test_a_thread_may_write_twice(device):
    text = f"{HEAD} {{ {THREAD} for (int i = 0; i < n; ++i) {{ P[t] = i; __threadfence(); }} }}"

    assert device.output(text) == [31] * 32


@pytest.mark.parametrize("update", ["atomicAdd(M, 1.0f)", "atomicExch(M + t % 2, 1.0f)", "atomicMax((int*)M, t)"])
def test_atomic_updates_do_not_clash(device, update):
    text = f"{HEAD} {{ {THREAD} {update}; P[blockIdx.x * 32 + t] = 1; }}"

    assert device.output(text, grid=2, n=64) == [1] * 64


def test_an_atomic_update_and_a_plain_store_clash(device):
    text = f"""{HEAD} {{
  {THREAD}
  if (t == 0) M[0] = 7;  //@ store
  atomicAdd(M, 1.0f);  //@ add
  P[t] = 0;
}}"""

    finding = only(device.run(text))

    assert (finding.line, finding.other_line) == (line(text, "add"), line(text, "store"))


def test_different_bytes_do_not_clash(device):
    text = f"{HEAD} {{ {THREAD} reinterpret_cast<unsigned char*>(P)[t] = t; }}"

    assert device.output(text, "u1", n=8) == list(range(32))


def test_the_lines_that_wrote_each_buffer(device):
    text = f"""{HEAD} {{
  {THREAD}
  P[t] = M[t];  //@ output
  if (t > 3) M[t] = 0;  //@ input
}}"""

    stored = device.run(text).stored

    assert stored == {"M": (line(text, "input"),), "P": (line(text, "output"),)}
