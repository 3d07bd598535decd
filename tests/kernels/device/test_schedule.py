"""Threads that go different ways, loops that never end, and the two schedules."""

from __future__ import annotations

import pytest

from kernels.device import Schedule, Unsupported
from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Story, example, line, only

RANGE = range(32)


def test_nested_branches(device):
    text = f"""{HEAD} {{
  {THREAD}
  float v = M[t];
  if (t % 2) {{
    if (t % 3 == 0) v = v * 2;
    else if (t % 5 == 0) v = -v;
  }} else if (t > 16) {{
    v += 100;
    if (t == 20) v = 0;
  }}
  P[t] = v;
}}"""

    def wanted(t: int) -> int:
        if t % 2:
            return 2 * t if t % 3 == 0 else -t if t % 5 == 0 else t
        return 0 if t == 20 else t + 100 if t > 16 else t

    assert device.output(text) == [wanted(t) for t in RANGE]


SWITCH = f"""{HEAD} {{
  {THREAD}
  float v = 0;
  switch ((int)M[t] % 11) {{
    case 0: v = M[1]; break;
    case 1: v = M[t] * 3; break;
    case 2: v = M[t] - 7;  // and on into the next
    case 3: v += M[2]; P[t] = 5; break;
    case 4: v = 1 / (M[t] + 1); break;
    case 5: for (int i = 0; i < t; ++i) v += M[i]; break;
    case 6: v = sqrtf(M[t]); break;
    case 7: return;
    case 8: v = M[63 - t]; break;
    default: v = -1;
  }}
  P[t] = v;
}}"""


def test_a_switch(device):
    def wanted(t: int) -> float:
        ways = [1, 3 * t, t - 7 + 2, 2, 1 / (t + 1), t * (t - 1) / 2, t**0.5, None, 63 - t, -1, -1]
        way = ways[t % 11]
        return 0 if way is None else way

    text = SWITCH.replace("  float v = 0;", "  float v = 0;\n  P[t] = 0;")
    assert device.output(text) == pytest.approx([wanted(t) for t in RANGE], rel=1e-7)


STORIES = [
    Story("a switch by a jump table of labels", [(10, 20, 30, 20)[t % 4] for t in RANGE], """
  int v = 0;
  asm volatile("{\\n"
      ".reg .u32 way; and.b32 way, %1, 3;\\n"
      "table: .branchtargets one, two, three, two;\\n"
      "brx.idx way, table;\\n"
      "one: mov.u32 %0, 10; bra.uni out;\\n"
      "two: mov.u32 %0, 20; bra.uni out;\\n"
      "three: mov.u32 %0, 30;\\n"
      "out: }" : "=r"(v) : "r"(t));
  P[t] = v;"""),
    Story("do while runs once at least", [max(1, -(-t // 5)) for t in RANGE], """
  int left = t, rounds = 0;
  do { left -= 5; ++rounds; } while (left > 0);
  P[t] = rounds;"""),
    Story("early return", [1 if t > 20 else 2 + t * (t - 1) // 2 for t in RANGE], """
  P[t] = 1;
  if (t > 20) return;
  P[t] = 2;
  for (int i = 0; ; ++i) {
    if (i == t) return;
    P[t] += M[i];
  }"""),
    Story("short circuits read nothing they need not", [float(50 < t + 40 < 64 or t == 31) for t in RANGE], """
  P[t] = t + 40 < 64 && M[t + 40] > 50 || t == 31;"""),
]  # fmt: skip


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


def test_loops_of_different_lengths(device):
    text = f"""{HEAD} {{
  {THREAD}
  float v = 0;
  for (int i = 0; i < t; ++i) {{
    if (i % 4 == 3) continue;
    if (i == 20) break;
    for (int k = i; k < t; k += 7) v += M[k];
  }}
  P[t] = v;
}}"""

    def wanted(t: int) -> int:
        return sum(k for i in range(min(t, 20)) if i % 4 != 3 for k in range(i, t, 7))

    assert device.output(text) == [wanted(t) for t in RANGE]


def test_collatz_where_no_two_threads_agree(device):
    text = f"""{HEAD} {{
  {THREAD}
  unsigned x = t + 1;
  int steps = 0;
  while (x != 1) {{
    x = x % 2 ? 3 * x + 1 : x / 2;
    ++steps;
  }}
  P[t] = steps;
}}"""

    def wanted(x: int) -> int:
        return 0 if x == 1 else 1 + wanted(3 * x + 1 if x % 2 else x // 2)

    assert device.output(text) == [wanted(t + 1) for t in RANGE]


def test_goto(device):
    text = f"""{HEAD} {{
  {THREAD}
  float v = 0;
  int i = 0;
again:
  v += M[i];
  if (++i < t) goto again;
  if (t % 2) goto odd;
  v = -v;
  goto out;
odd:
  v += 0.5f;
out:
  P[t] = v;
}}"""

    sums = [sum(range(max(t, 1))) for t in RANGE]
    assert device.output(text) == [total + 0.5 if t % 2 else -total for t, total in enumerate(sums)]


def test_different_blocks_go_different_ways(device):
    text = f"""{HEAD} {{
  {THREAD}
  float v = 0;
  for (int i = 0; i < blockIdx.x * 3; ++i) v += M[i];
  if (blockIdx.x == 2) return;
  P[blockIdx.x * 32 + t] = v + t;
}}"""

    out = device.run(text, grid=4, n=128).values["P"].reshape(4, 32)

    assert [row[0] for row in out[[0, 1, 3]]] == [0, 3, 36]
    assert (out[2] != out[2]).all()


# -- without end ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "loop",
    [
        "while (n) P[t] = v = v * 0.5f + M[t];",
        "for (unsigned i = n; i >= 0; --i) P[t] += M[i % 32];",
        "for (int i = 0; i < n; i += n - 32) P[t] += M[i];",
        "do { v += 1; P[t] = v; } while (v > 0);",
    ],
)
def test_a_loop_without_end(device, loop):
    text = f"""{HEAD} {{
  {THREAD}
  float v = 0;
  P[t] = 0;
  {loop}  //@ loop
  P[t] = v;
}}"""

    finding = only(device.run(text, budget=5_000))

    assert (finding.kind, finding.line) == (Verdict.TIME_LIMIT, line(text, "loop"))
    assert "still running after 5,000 instructions" in finding.message


def test_one_thread_in_a_loop_without_end(device):
    text = f"""{HEAD} {{
  {THREAD}
  float v = t;
  while (v == 9)  //@ loop
    v = M[9];
  P[t] = v;
}}"""

    finding = only(device.run(text.replace("float* M", "volatile float* M"), budget=5_000))

    assert (finding.kind, finding.line) == (Verdict.TIME_LIMIT, line(text, "loop"))
    assert example(finding).threads == ((9, 0, 0),)


def test_waiting_for_a_thread_of_the_same_warp_ends(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ volatile int flag;
  if (t == 0) flag = 0;
  __syncthreads();
  if (t == 0) flag = 1;
  while (!flag) {{ }}
  P[t] = flag;
}}"""

    execution = device.run(text, budget=5_000)

    assert Verdict.TIME_LIMIT not in {finding.kind for finding in execution.findings}
    assert execution.values["P"].tolist() == [1] * 32


def test_the_budget_is_for_each_thread_and_leaves_long_kernels_alone(device):
    text = f"{HEAD} {{ {THREAD} float v = 0; for (int i = 0; i < 900; ++i) v += M[i % 64]; P[t] = v; }}"

    execution = device.run(text, block=256, n=256, budget=20_000)

    assert execution.findings == ()
    assert execution.instructions > 20_000


# -- schedules --------------------------------------------------------------------------------------------------------


def test_a_missing_barrier_gives_wrong_values_where_warps_run_one_by_one(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t] = 0;
  __syncthreads();
  tile[t] = t + 1;
  P[t] = tile[63 - t];
}}"""

    lockstep, serial = (
        device.run(text, block=64, n=64, schedule=each).values["P"].tolist()
        for each in (Schedule.LOCKSTEP, Schedule.WARP_SERIAL)
    )

    assert lockstep == [64 - t for t in range(64)]
    assert serial == [0] * 32 + [64 - t for t in range(32, 64)]


@pytest.mark.long("the short suite has both schedules in test_unset.py")
def test_a_right_kernel_gives_the_same_in_both_schedules(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[96];
  float v = 0;
  for (int i = 0; i < 5; ++i) {{
    tile[t] = M[t % 64] + i;
    __syncthreads();
    if (t % 3) v += tile[95 - t];
    __syncthreads();
  }}
  P[blockIdx.x * 96 + t] = v + __shfl_xor_sync(0xffffffffu, v, 3);
}}"""

    executions = [device.run(text, grid=3, block=96, n=288, schedule=each) for each in Schedule]

    assert executions[0].findings == executions[1].findings == ()
    assert executions[0].values["P"].tolist() == executions[1].values["P"].tolist()


# -- what cannot be run -----------------------------------------------------------------------------------------------


def test_a_function_that_calls_itself(device):
    text = f"""__device__ __noinline__ float down(float* M, int k) {{
  if (k < 1) return 0;
  return down(M, k / 2) * M[k] + down(M, k - 2);  //@ call
}}
{HEAD} {{
  P[threadIdx.x] = down(M, threadIdx.x);
}}"""

    with pytest.raises(Unsupported, match="recursion") as caught:
        device.run(text)
    assert caught.value.line == line(text, "call")
