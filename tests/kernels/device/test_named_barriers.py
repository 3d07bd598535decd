"""Barriers for a part of the block: `bar.sync n, count`, `bar.arrive n, count`."""

from __future__ import annotations

import pytest

from kernels.device import Unsupported
from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Story, line, lines, only, schedules

KIND = Verdict.BARRIER_DIVERGENCE
SYNC = '#define SYNC(n, count) asm volatile("bar.sync %0, %1;" :: "r"(n), "r"(count) : "memory")\n'
ARRIVE = '#define ARRIVE(n, count) asm volatile("bar.arrive %0, %1;" :: "r"(n), "r"(count) : "memory")\n'


@schedules
def test_halves_of_a_block_that_sync_by_themselves(device, schedule):
    text = f"""{SYNC}{HEAD} {{
  {THREAD}
  __shared__ float tile[128];
  int half = t / 64;
  for (int i = 0; i <= half; ++i) {{
    tile[t] = M[t % 64] + i;
    SYNC(1 + half, 64);
    P[t] = tile[half * 64 + 63 - t % 64];
    SYNC(1 + half, 64);
  }}
}}"""

    wanted = [63 - t % 64 + t // 64 for t in range(128)]
    assert device.output(text, grid=1, block=128, n=128, schedule=schedule) == wanted


@schedules
def test_a_producer_and_a_consumer(device, schedule):
    text = f"""{SYNC}{ARRIVE}{HEAD} {{
  {THREAD}
  __shared__ float tile[32];
  float sum = 0;
  if (t < 32) {{
    for (int i = 0; i < 4; ++i) {{
      if (i) SYNC(2, 64);
      tile[t] = M[t] * (i + 1);
      ARRIVE(1, 64);
    }}
  }} else {{
    for (int i = 0; i < 4; ++i) {{
      SYNC(1, 64);
      sum += tile[63 - t];
      if (i < 3) ARRIVE(2, 64);
    }}
    P[t - 32] = sum;
  }}
}}"""

    assert device.output(text, block=64, schedule=schedule) == [10 * (31 - t) for t in range(32)]


@pytest.mark.parametrize("sync", ["barrier.sync 3;", "bar.cta.sync 3;", "barrier.cta.sync.aligned 3, 64;"])
def test_all_threads_at_two_places_of_one_barrier(device, sync):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t] = t;
  if (M[t] < 32) {{
    asm volatile("{sync}" ::: "memory");
    P[t] = tile[63 - t];
  }} else {{
    asm volatile("{sync}" ::: "memory");
    P[t] = -tile[63 - t];
  }}
}}"""

    assert device.output(text, block=64, n=64) == [63 - t if t < 32 else t - 63 for t in range(64)]


STORIES = [
    Story("a block that does not fill its last warp", [47 - t for t in range(48)], """
  __shared__ float tile[48];
  tile[t] = t;
  SYNC(1, 64);
  P[t] = tile[47 - t];""", block=48, n=48, before=SYNC),
    Story("a barrier of all threads is not held up by those that have exited", [39 - t for t in range(40)], """
  __shared__ float tile[64];
  tile[t] = t;
  if (t >= 40) return;
  asm volatile("bar.sync 4;" ::: "memory");
  P[t] = tile[39 - t];""", block=64, n=40),
    Story(
        "blocks that use a barrier in different ways",
        [*range(32), *(63 - t for t in range(32, 64)), *(63 - t for t in range(64))], """
  __shared__ float tile[64];
  tile[t] = t;
  if (blockIdx.x == 0 && t < 32) ARRIVE(1, 64);
  else SYNC(1, 64);
  P[blockIdx.x * 64 + t] = t < 32 && blockIdx.x == 0 ? tile[t] : tile[63 - t];""", grid=2, block=64, n=128,
          before=SYNC + ARRIVE),
]  # fmt: skip


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


@schedules
def test_barrier_0_of_a_part_of_the_block_frees_another_one(device, schedule):
    text = f"""{SYNC}{ARRIVE}{HEAD} {{
  {THREAD}
  if (t < 64)
    for (int i = 0; i < 2; ++i) {{
      if (t < 32) ARRIVE(1, 64);
      else SYNC(1, 64);
      SYNC(0, 64);
    }}
  P[t] = t;
}}"""

    assert device.output(text, block=96, n=96, schedule=schedule) == [*range(96)]


# -- what goes wrong --------------------------------------------------------------------------------------------------


@schedules
def test_too_few_threads_come(device, schedule):
    text = f"""{SYNC}{HEAD} {{
  {THREAD}
  P[t] = 0;
  if (t < 32) SYNC(1, 64);  //@ few
}}"""

    finding = only(device.run(text, block=64, n=64, schedule=schedule))

    assert (finding.kind, finding.line, finding.count) == (KIND, line(text, "few"), 32)


def test_threads_that_exited_are_not_part_of_a_count(device):
    text = f"""{SYNC}{HEAD} {{
  {THREAD}
  P[t] = 0;
  if (t >= 32) return;
  SYNC(1, 64);  //@ few
}}"""

    assert lines(device.run(text, block=64, n=64)) == [(KIND, line(text, "few"), None)]


@schedules
@pytest.mark.parametrize(
    "way",
    [
        "SYNC(1, 64);  //@ bad",  # two halves of 64 threads with one number
        "if (t < 64) SYNC(1, 64);  else SYNC(1, 128);  //@ bad",
        "if (t < 64) ARRIVE(1, 128); else SYNC(1, 128);\n  if (t < 64) ARRIVE(1, 128);  else SYNC(1, 128);  //@ bad",
        "if (t < 64) { ARRIVE(1, 128); SYNC(1, 128); }  //@ bad",
    ],
)
def test_a_use_that_is_left_to_chance(device, schedule, way):
    text = f"{SYNC}{ARRIVE}{HEAD} {{ {THREAD} P[t] = 0;\n  {way}\n}}"

    finding = only(device.run(text, block=128, n=128, schedule=schedule))

    assert (finding.kind, finding.line) == (KIND, line(text, "bad"))


@schedules
def test_barrier_0_for_a_part_of_the_block_and_for_all_of_it(device, schedule):
    text = f"""{SYNC}{HEAD} {{
  {THREAD}
  P[t] = 0;
  if (t < 32) SYNC(0, 32);  //@ part
  __syncthreads();  //@ all
}}"""

    finding = only(device.run(text, block=64, n=64, schedule=schedule))

    assert finding.kind == KIND
    assert finding.line in {line(text, "part"), line(text, "all")}


@pytest.mark.parametrize("operands", ["16, 32", "-1, 32", "1, 20", "1, 0", "1, -32"])
def test_numbers_and_counts_that_do_not_exist(device, operands):
    text = f"""{SYNC}{HEAD} {{
  {THREAD}
  P[t] = 0;
  SYNC({operands});  //@ bad
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line) == (Verdict.RUNTIME_ERROR, line(text, "bad"))


def test_a_reducing_barrier_of_a_part_of_the_block(device):
    text = f"""{HEAD} {{
  {THREAD}
  int count;
  asm volatile("{{ .reg .pred p; setp.ne.s32 p, %1, 0; barrier.cta.red.popc.aligned.u32 %0, 1, 32, p; }}"
               : "=r"(count) : "r"(t));  //@ bad
  P[t] = count;
}}"""

    with pytest.raises(Unsupported, match="all threads") as caught:
        device.run(text)
    assert caught.value.line is not None
