"""Atomics that no thread waits for: what depends on their order, and what doesn't."""

from __future__ import annotations

import pytest

from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, example, line, only

KIND = Verdict.ORDER_DEPENDENT
WORD = "__device__ unsigned int word;\n"
STORE = """__device__ unsigned int load(unsigned int* from) {
  unsigned int found;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(found) : "l"(from) : "memory");
  return found;
}
__device__ void store(unsigned int* to, unsigned int value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(to), "r"(value) : "memory");
}
"""
FENCES = """t += blockIdx.x * 64; kept[t] = t; __threadfence(); atomicAdd(&word, 1u);  //@ one
  atomicAdd(&word, 1u); __threadfence(); P[t] = kept[n - 1 - t];  //@ two"""


@pytest.mark.parametrize("store", ["atomicExch(&word, (unsigned int)t / 48)", "store(&word, t / 48)"])
def test_two_values_without_order(device, store):
    text = f"{WORD}{STORE}{HEAD} {{\n  {THREAD}\n  {store};  //@ exchange\n  P[t] = 1;\n}}"

    finding = only(device.run(text, block=64, n=64))

    at = line(text, "exchange")
    assert (finding.kind, finding.line, finding.other_line) == (KIND, at, at)
    assert example(finding).element == "word"
    assert len(example(finding).threads) == 2


def test_an_exchange_whose_old_value_is_dropped_hands_nothing_on(device):
    text = f"""{WORD}{STORE}{HEAD} {{
  {THREAD}
  if (t == 9) store(&word, 7u);  //@ store
  atomicExch(&word, 7u);  //@ all
  if (t == 2) atomicExch(&word, 8u);  //@ one
  P[t] = 1;
}}"""

    found = device.run(text, block=32, n=32).findings

    assert {(each.kind, each.line, each.other_line) for each in found} == {
        (KIND, line(text, "one"), line(text, first)) for first in ("store", "all")
    }


@pytest.mark.parametrize(
    ("body", "grid"),
    [
        ("atomicAdd(&word, 1u);  //@ one\n  if (t == 63) word = 9u;  //@ two\n  P[t] = 1;", 1),
        ("atomicAdd(&word, 1u);  //@ one\n  if (t == 63) P[0] = word;  //@ two", 1),
        (FENCES, 2),
        ("atomicInc(&word, 200u);  //@ one\n  if (t == 63) { atomicInc(&word, 200u); word = 9u; }  //@ two", 1),
        ("atomicCAS(&word, 0u, 5u);  //@ one\n  if (t == 63) { atomicCAS(&word, 0u, 5u); word = 9u; }  //@ two", 1),
    ],
    ids=["store", "load", "fences", "counted", "compare and swap"],
)
def test_an_update_whose_old_value_is_dropped_orders_nothing(device, body, grid):
    text = f"{WORD}__device__ int kept[128];\n{HEAD} {{\n  {THREAD}\n  {body}\n}}"

    found = device.run(text, grid=grid, block=64, n=128).findings

    assert (Verdict.DATA_RACE, {line(text, "one"), line(text, "two")}) in [
        (each.kind, {each.line, each.other_line}) for each in found
    ]


@pytest.mark.one_in(2, "every second")
@pytest.mark.parametrize(
    "body",
    [
        "atomicExch(&word, 7u);",
        "if (t == 0) atomicExch(&word, 1u); __syncthreads(); if (t == 40) store(&word, 2u);",
        "while (atomicAdd(&word, 0u) != t); store(&word, t + 1);",
        "while (load(&word) != t); store(&word, t + 1);",
        "unsigned int old = atomicExch(&word, t); if (old > n) return;",
        "atomicCAS(&word, 0u, 5u);",
    ],
    ids=["same value", "barrier", "handed on", "handed on by loads", "old value", "compare and swap"],
)
def test_what_is_not_accused(device, body):
    text = f"{WORD}{STORE}{HEAD} {{\n  {THREAD}\n  {body}\n  P[t] = 1;\n}}"

    ran = device.run(text, block=64, n=64)

    assert not ran.findings
    assert not ran.others


RESET = """if (t == 40) atomicAnd(&word, 0u);  //@ one
  atomicAdd(&word, 1u);  //@ two
  __syncthreads();
  P[t] = atomicAdd(&word, 0u);"""


@pytest.mark.parametrize(
    ("body", "pair"),
    [
        ("P[atomicAdd(&word, 1u) % n] = t;  //@ one", ("one", "one")),
        ("if (t == 40) atomicAnd(&word, 0u);  //@ one\n  P[0] = n;\n  atomicAdd(&word, 1u);  //@ two", None),
        (RESET, ("one", "two")),
    ],
    ids=["slot", "unused", "sum"],
)
def test_other_orders_change_the_operands(device, body, pair):
    text = f"{WORD}{HEAD} {{\n  {THREAD}\n  {body}\n}}"

    ran = device.run(text, block=64, n=64)

    assert not [finding for finding in ran.findings if finding.kind is not Verdict.DATA_RACE]
    if pair is not None:
        assert ran.others
        assert ran.unordered is not None
        assert {ran.unordered.line, ran.unordered.other_line} == {line(text, each) for each in pair}


def test_lanes_of_a_warp_take_turns_where_nothing_orders_them(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ unsigned int sum;
  atomicExch(&sum, 0u);
  __syncwarp();
  if (t == 9) atomicExch(&sum, 0u);
  atomicAdd(&sum, 1u);
  __syncwarp();
  P[t] = sum;
}}"""

    assert {ran.values["P"][0] for ran in device.run(text, block=32).others} != set()
