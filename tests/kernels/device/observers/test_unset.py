"""Reads of what nothing has set: found where the value does harm, and only there."""

from __future__ import annotations

import pytest

from kernels.device import Schedule
from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Found, Story, example, line, lines, only

KIND = Verdict.UNINITIALIZED_READ


STORIES = [
    Story(
        "an accumulator that was never set",
        Found(KIND, "sum", count=32, threads=((0, 0, 0),), says="never given a value"), """
  float sum;
  for (int k = 0; k < n; ++k)
    sum += M[k];  //@ sum
  P[t] = sum;"""),
    Story("a variable set in some threads only", Found(KIND, "store", count=8, threads=((0, 0, 0),)), """
  float value;
  for (int k = 0; k < t - 7; ++k) value = M[k];
  P[t] = value;  //@ store"""),
    Story("shared memory is empty again in the next block", Found(KIND, "read", count=64, block=(1, 0, 0)), """
  __shared__ float tile[32];
  if (blockIdx.x == 0) tile[t] = t;
  __syncthreads();
  P[blockIdx.x * 32 + t] = tile[31 - t];  //@ read""", grid=3, n=96),
    Story("a local array that is half set", Found(KIND, "read", count=16, threads=((4, 0, 0),)), """
  float own[8];
  for (int i = 0; i < n / 8; ++i) own[i] = M[i];
  P[t] = own[t % 8];  //@ read"""),
    Story("an output that is read before it is written", Found(KIND, "add", count=32, element="P[0]"), """
  P[t] += M[t];  //@ add"""),
    Story("an output may be read after it was written", [1 + t for t in range(32)], "P[t] = 1; P[t] += M[t];"),
    Story("a value that is read and thrown away is no finding", [t if t < 16 else 0 for t in range(32)], """
  __shared__ float tile[32];
  if (t < 16) tile[t] = t;
  __syncthreads();
  float value = tile[t];
  P[t] = t < 16 ? value : 0;"""),
    Story(
        "a value that is computed with and thrown away is no finding",
        [2 * t + 1 if t < 16 else 0 for t in range(32)], """
  __shared__ float tile[32];
  if (t < 16) tile[t] = t;
  __syncthreads();
  float value = tile[t] * 2 + 1;
  if (t < 16) P[t] = value;
  else P[t] = 0;"""),
    Story("it is followed through a shuffle", Found(KIND, "read", count=1, element="tile[5]"), """
  __shared__ float tile[32];
  if (t != 5) tile[t] = t;
  __syncthreads();
  float value = tile[t];  //@ read
  P[t] = __shfl_xor_sync(0xffffffffu, value, 1);"""),
    Story(
        "a shuffle from a lane that takes no part names the lane",
        Found(KIND, "shuffle", count=1, says="reads lane 8"), """
  float value = M[t];
  if (t < 8) value = __shfl_down_sync(0xffu, value, 1);  //@ shuffle
  P[t] = value;"""),
    Story("it may rest in local memory", [(t + 32) % 3 for t in range(32)], """
  float own[4];
  float other[4];
  for (int i = 0; i < 3; ++i) own[i] = M[i];
  for (int i = 0; i < 4; ++i) other[i] = own[(i + n) % 4];
  P[t] = other[(t + n) % 3];"""),
    Story("an old value that no thread uses is no read", [1 + t + t + 1 for t in range(32)], """
  __shared__ float last[32];
  float result = 1;
  for (int k = 0; k < 3; ++k) {
    float old = atomicExch(&last[t], M[t] + k);
    if (k > 0) result += old;
  }
  P[t] = result;"""),
    Story("module variables start as zero", [1] * 32, """
  P[t] = table[t] + 1;""", before="__device__ float table[32];"),
    Story("padding that is copied with a struct is no finding", [32 - t for t in range(32)], """
  __shared__ Pair pairs[32];
  Pair own;
  own.flag = 1;
  own.value = t;
  pairs[t] = own;
  __syncthreads();
  P[t] = pairs[31 - t].value + pairs[t].flag;""", before="struct Pair { char flag; float value; };"),
]  # fmt: skip


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


def test_shared_memory_that_nobody_wrote(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[32];
  if (t < 30) tile[t] = t;
  __syncthreads();
  P[t] = tile[31 - t];  //@ read
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line, finding.count) == (KIND, line(text, "read"), 2)
    assert example(finding).element == "tile[31]"
    assert example(finding).threads == ((0, 0, 0),)
    assert finding.message.startswith(
        "Thread (0,0) of block (0,0) reads `tile[31]`, which no thread has written. The value "
    )


def test_an_index_that_was_never_set(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ int where[32];
  if (t < 16) where[t] = t;
  __syncthreads();
  P[where[t]] = 1;  //@ store
}}"""

    finding = next(each for each in device.run(text).findings if each.kind is KIND)

    assert (finding.line, finding.count) == (line(text, "store"), 16)
    assert "is used as an address" in finding.message


def test_a_branch_on_what_nobody_wrote(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[32];
  if (t > 3) tile[t] = t;
  __syncthreads();
  P[t] = 0;
  if (tile[t] > 3)  //@ branch
    for (int i = 0; i < n; ++i) P[t] += M[i];
}}"""

    finding = device.run(text).findings[0]

    assert (finding.kind, finding.line) == (KIND, line(text, "branch"))
    assert "decides a branch" in finding.message


def test_it_is_followed_through_shared_memory(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[32];
  float value;
  for (int k = 0; k < t; ++k) value = M[k];
  tile[t] = value;  //@ store
  __syncthreads();
  P[t] = tile[t];
}}"""

    assert (KIND.value, line(text, "store"), None) in lines(device.run(text))


def test_atomics_on_shared_memory_that_nobody_set(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float sum;
  atomicAdd(&sum, M[t]);  //@ add
  __syncthreads();
  P[t] = sum;
}}"""

    finding = device.run(text).findings[0]

    assert (finding.kind, finding.line) == (KIND, line(text, "add"))
    assert example(finding).element == "sum"


def test_a_guard_of_a_store_that_nobody_set(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ int flag;
  if (n > 100) flag = t;
  __syncthreads();
  int seen = flag;  //@ read
  P[t] = t;
  asm volatile("{{ .reg .pred p; setp.eq.s32 p, %1, 77; @p st.global.f32 [%0], 0f00000000; }}" :: "l"(P), "r"(seen));
}}"""

    assert [(each.kind, each.line) for each in device.run(text).findings] == [(KIND, line(text, "read"))]


@pytest.mark.parametrize(
    ("condition", "harms"),
    [
        ("odd && seen == 3", False),
        ("!odd || seen == 3", False),
        ("odd || seen == 3", True),
        ("!odd && seen == 3", True),
        ("odd && seen == 3 && cells[t] == 3", False),
        ("t % 2 & seen", False),
        ("(t % 2 - 1 | seen) != 3", False),
        ("t % 2 | seen", True),
        ("-2 & seen", True),
    ],
)
def test_what_is_already_decided_needs_no_value(device, condition, harms):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ int cells[32];
  bool odd = t % 2 == 1;
  if (odd) cells[t] = 3;
  int seen = cells[t];  //@ read
  P[t] = ({condition}) ? 1 : 2;
}}"""

    found = device.run(text).findings

    assert [(each.kind, each.line) for each in found] == [(KIND, line(text, "read"))] * harms


@pytest.mark.parametrize(("first", "harms"), [("ne", False), ("eq", True)])
def test_a_comparison_that_changes_its_own_guard(device, first, harms):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ int cells[32];
  if (t & 1) cells[t] = 3;
  int seen = cells[t], both;  //@ read
  asm("{{ .reg .pred p; setp.{first}.s32 p, %1, 0; @p setp.eq.s32 p, %2, 3; selp.s32 %0, 1, 0, p; }}"
      : "=r"(both) : "r"(t & 1), "r"(seen));
  P[t] = both;
}}"""

    found = device.run(text).findings

    assert [(each.kind, each.line) for each in found] == [(KIND, line(text, "read"))] * harms


def test_only_the_first_exchange_of_a_cell_finds_it_unset(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float last;
  float old = atomicExch(&last, M[t]);  //@ exchange
  P[t] = old;
}}"""

    finding = device.run(text).findings[0]

    assert (finding.kind, finding.line, finding.count) == (KIND, line(text, "exchange"), 1)
    assert example(finding).element == "last"


def test_both_schedules_find_the_same(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  if (t < 60) tile[t] = t;
  __syncthreads();
  P[t] = tile[63 - t];  //@ read
}}"""

    found = [only(device.run(text, block=64, n=64, schedule=schedule)) for schedule in Schedule]

    assert [(each.kind, each.line, each.count) for each in found] == [(KIND, line(text, "read"), 4)] * len(Schedule)
