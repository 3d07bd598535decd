"""Reads of what nothing has set: found where the value does harm, and only there."""

from __future__ import annotations

import pytest

from kernels.device import Schedule
from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, example, line, lines, only

KIND = Verdict.UNINITIALIZED_READ


def test_an_accumulator_that_was_never_set(device):
    text = f"""{HEAD} {{
  {THREAD}
  float sum;
  for (int k = 0; k < n; ++k)
    sum += M[k];  //@ sum
  P[t] = sum;
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line, finding.count) == (KIND, line(text, "sum"), 32)
    assert example(finding).threads == ((0, 0, 0),)
    assert "never given a value" in finding.message


def test_a_variable_set_in_some_threads_only(device):
    text = f"""{HEAD} {{
  {THREAD}
  float value;
  for (int k = 0; k < t - 7; ++k) value = M[k];
  P[t] = value;  //@ store
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line, finding.count) == (KIND, line(text, "store"), 8)
    assert example(finding).threads == ((0, 0, 0),)


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


def test_shared_memory_is_empty_again_in_the_next_block(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[32];
  if (blockIdx.x == 0) tile[t] = t;
  __syncthreads();
  P[blockIdx.x * 32 + t] = tile[31 - t];  //@ read
}}"""

    finding = only(device.run(text, grid=3, n=96))

    assert (finding.kind, finding.line, finding.count) == (KIND, line(text, "read"), 64)
    assert example(finding).block == (1, 0, 0)


def test_a_local_array_that_is_half_set(device):
    text = f"""{HEAD} {{
  {THREAD}
  float own[8];
  for (int i = 0; i < n / 8; ++i) own[i] = M[i];
  P[t] = own[t % 8];  //@ read
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line, finding.count) == (KIND, line(text, "read"), 16)
    assert example(finding).threads == ((4, 0, 0),)


def test_an_output_that_is_read_before_it_is_written(device):
    text = f"""{HEAD} {{
  {THREAD}
  P[t] += M[t];  //@ add
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line, finding.count) == (KIND, line(text, "add"), 32)
    assert example(finding).element == "P[0]"


def test_an_output_may_be_read_after_it_was_written(device):
    text = f"{HEAD} {{ {THREAD} P[t] = 1; P[t] += M[t]; }}"

    assert device.output(text) == [1 + t for t in range(32)]


def test_a_value_that_is_read_and_thrown_away_is_no_finding(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[32];
  if (t < 16) tile[t] = t;
  __syncthreads();
  float value = tile[t];
  P[t] = t < 16 ? value : 0;
}}"""

    assert device.output(text) == [t if t < 16 else 0 for t in range(32)]


def test_a_value_that_is_computed_with_and_thrown_away_is_no_finding(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[32];
  if (t < 16) tile[t] = t;
  __syncthreads();
  float value = tile[t] * 2 + 1;
  if (t < 16) P[t] = value;
  else P[t] = 0;
}}"""

    assert device.output(text) == [2 * t + 1 if t < 16 else 0 for t in range(32)]


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


def test_it_is_followed_through_a_shuffle(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[32];
  if (t != 5) tile[t] = t;
  __syncthreads();
  float value = tile[t];  //@ read
  P[t] = __shfl_xor_sync(0xffffffffu, value, 1);
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line, finding.count) == (KIND, line(text, "read"), 1)
    assert example(finding).element == "tile[5]"


def test_a_shuffle_from_a_lane_that_takes_no_part_names_the_lane(device):
    text = f"""{HEAD} {{
  {THREAD}
  float value = M[t];
  if (t < 8) value = __shfl_down_sync(0xffu, value, 1);  //@ shuffle
  P[t] = value;
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line, finding.count) == (KIND, line(text, "shuffle"), 1)
    assert "reads lane 8" in finding.message


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


def test_it_may_rest_in_local_memory(device):
    text = f"""{HEAD} {{
  {THREAD}
  float own[4];
  float other[4];
  for (int i = 0; i < 3; ++i) own[i] = M[i];
  for (int i = 0; i < 4; ++i) other[i] = own[(i + n) % 4];
  P[t] = other[(t + n) % 3];
}}"""

    assert device.output(text) == [(t + 32) % 3 for t in range(32)]


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


def test_an_old_value_that_no_thread_uses_is_no_read(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float last[32];
  float result = 1;
  for (int k = 0; k < 3; ++k) {{
    float old = atomicExch(&last[t], M[t] + k);
    if (k > 0) result += old;
  }}
  P[t] = result;
}}"""

    assert device.output(text) == [1 + t + t + 1 for t in range(32)]


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


def test_module_variables_start_as_zero(device):
    text = f"""__device__ float table[32];
{HEAD} {{ {THREAD} P[t] = table[t] + 1; }}"""

    assert device.output(text) == [1] * 32


def test_padding_that_is_copied_with_a_struct_is_no_finding(device):
    text = f"""struct Pair {{ char flag; float value; }};
{HEAD} {{
  {THREAD}
  __shared__ Pair pairs[32];
  Pair own;
  own.flag = 1;
  own.value = t;
  pairs[t] = own;
  __syncthreads();
  P[t] = pairs[31 - t].value + pairs[t].flag;
}}"""

    assert device.output(text) == [32 - t for t in range(32)]


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
