"""Shuffles, votes, matches and reductions: what each thread of a warp learns of the others."""

from __future__ import annotations

import pytest

from kernels.verdict import Severity, Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Found, Story, example, line, only

ALL = "0xffffffffu"
RANGE = range(32)


def shuffled(expression: str) -> str:
    return f"{HEAD} {{ {THREAD} float v = M[t]; P[t] = {expression}; }}"


@pytest.mark.parametrize(
    ("expression", "source"),
    [
        (f"__shfl_sync({ALL}, v, 5)", lambda t: 5),
        (f"__shfl_sync({ALL}, v, t * 3)", lambda t: t * 3 % 32),
        (f"__shfl_sync({ALL}, v, 2, 8)", lambda t: t // 8 * 8 + 2),
        (f"__shfl_sync({ALL}, v, 11, 8)", lambda t: t // 8 * 8 + 3),
        (f"__shfl_up_sync({ALL}, v, 3)", lambda t: t - 3 if t >= 3 else t),
        (f"__shfl_up_sync({ALL}, v, 3, 16)", lambda t: t - 3 if t % 16 >= 3 else t),
        (f"__shfl_down_sync({ALL}, v, 4)", lambda t: t + 4 if t < 28 else t),
        (f"__shfl_down_sync({ALL}, v, 1, 4)", lambda t: t + 1 if t % 4 < 3 else t),
        (f"__shfl_down_sync({ALL}, v, t)", lambda t: 2 * t if t < 16 else t),
        (f"__shfl_xor_sync({ALL}, v, 7)", lambda t: t ^ 7),
        (f"__shfl_xor_sync({ALL}, v, 1, 2)", lambda t: t ^ 1),
        (f"__shfl_xor_sync({ALL}, v, 16, 8)", lambda t: t ^ 16 if t >= 16 else t),
    ],
)
def test_shuffles(device, expression, source):
    assert device.output(shuffled(expression)) == [source(t) for t in RANGE]


STORIES = [
    Story("a shuffle in each of three warps", [1] * 32 + [33] * 32 + [101] * 32, f"""
  P[t] = __shfl_sync({ALL}, M[t % 64] + t / 64 * 100, 1);""", block=96, n=96),
    Story("a shuffle of wide values", [(t ^ 1) + 0.5 + min(t + 1, 31) for t in RANGE], f"""
  double d = t + 0.5;
  long long i = (1LL << 40) + t;
  P[t] = __shfl_xor_sync({ALL}, d, 1) + (float)(__shfl_down_sync({ALL}, i, 1) - (1LL << 40));"""),
    Story("a butterfly sum", [496] * 32, f"""
  float v = M[t];
  for (int step = 16; step; step /= 2) v += __shfl_xor_sync({ALL}, v, step);
  P[t] = v;"""),
    Story("a shuffle in the half warp that its mask names", [t ^ 3 if t >= 16 else t ^ 5 for t in RANGE], """
  float v = M[t];
  if (v >= 16) v = __shfl_xor_sync(0xffff0000u, v, 3);
  else v = __shfl_xor_sync(0x0000ffffu, v, 5);
  P[t] = v;"""),
    Story(
        "a shuffle from a thread that takes no part gives nothing",
        Found(Verdict.UNINITIALIZED_READ, "shuffle", count=1), """
  float v = M[t];
  if (v < 16)
    v = __shfl_down_sync(0x0000ffffu, v, 1);  //@ shuffle
  P[t] = v;"""),
    Story("the last warp may be part of one", [32 + 3200] * 32 + [8 + 800] * 8, f"""
  unsigned mask = __ballot_sync({ALL}, t < n);
  P[t] = __reduce_add_sync(mask, 1) + 100 * __popc(mask);""", block=40, n=40),
    Story("votes", [1 + 4 + 16] * 32, f"""
  int v = (int)M[t];
  P[t] = 1 * (__all_sync({ALL}, v < 32) != 0) + 2 * (__all_sync({ALL}, v < 31) != 0)
       + 4 * (__any_sync({ALL}, v == 7) != 0) + 8 * (__any_sync({ALL}, v == 70) != 0)
       + 16 * (__uni_sync({ALL}, v > 50) != 0) + 32 * (__uni_sync({ALL}, v > 5) != 0);"""),
    Story("match all", [0xFFFFFFFF] * 32, f"""
  int same, different;
  unsigned one = __match_all_sync({ALL}, (int)M[t] / 32, &same);
  unsigned two = __match_all_sync({ALL}, (int)M[t] / 31, &different);
  reinterpret_cast<unsigned*>(P)[t] = (same ? one : 0) - (different ? 1 : two);""", dtype="u4"),
    Story("active threads inside a branch", [15] * 4 + [0] * 28, """
  unsigned v = 0;
  if (M[t] < 4) v = __activemask();
  reinterpret_cast<unsigned*>(P)[t] = v;""", dtype="u4"),
    Story("votes count only the threads that are there", [5] * 8 + [-1] * 24, """
  int v = -1;
  if (M[t] < 8) v = __popc(__ballot_sync(0xff, t % 2)) + (__all_sync(0xff, t < 8) != 0);
  P[t] = v;"""),
    Story("lane masks and numbers", [t % 32 + t % 32 * 1000 + (32 - t % 32) * 100000 for t in range(64)], """
  unsigned lane, lt, ge;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
  P[t] = lane + 1000 * __popc(lt) + 100000 * __popc(ge);""", block=64, n=64),
]  # fmt: skip


@pytest.mark.one_in(2, "every second; each instruction has a test of its own")
@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


def test_a_shuffle_names_a_thread_that_takes_part(device):
    text = f"""{HEAD} {{
  {THREAD}
  float v = M[t];
  if (v >= 16)
    v = __shfl_up_sync(0xffff0000u, v, 1);
  P[t] = v;
}}"""

    assert example(only(device.run(text))).threads == ((16, 0, 0),)


@pytest.mark.one_in(3, "a third")
@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        (f"__ballot_sync({ALL}, t % 3 == 0)", lambda t: sum(1 << i for i in range(0, 32, 3))),
        (f"__match_any_sync({ALL}, t % 5)", lambda t: sum(1 << i for i in range(t % 5, 32, 5))),
        (f"__match_any_sync({ALL}, (long long)(t / 8) << 33)", lambda t: 0xFF << t // 8 * 8),
        ("__activemask()", lambda t: 0xFFFFFFFF),
        (f"__reduce_add_sync({ALL}, (unsigned)t)", lambda t: 496),
        (f"__reduce_min_sync({ALL}, (unsigned)(t ^ 9))", lambda t: 0),
        (f"__reduce_max_sync({ALL}, t - 40)", lambda t: 2**32 - 9),
        (f"__reduce_min_sync({ALL}, t - 40)", lambda t: 2**32 - 40),
        (f"__reduce_and_sync({ALL}, (unsigned)(t | 0x70))", lambda t: 0x70),
        (f"__reduce_or_sync({ALL}, (unsigned)(t << 2))", lambda t: 0x7C),
        (f"__reduce_xor_sync({ALL}, (unsigned)(t & 6))", lambda t: 0),
    ],
)
def test_what_a_warp_finds_together(device, expression, wanted):
    text = f"{HEAD} {{ {THREAD} reinterpret_cast<unsigned*>(P)[t] = {expression}; }}"

    assert device.output(text, "u4") == [wanted(t) for t in RANGE]


def test_the_slot_of_a_warp_is_not_its_number(device):
    text = f"""{HEAD} {{
  {THREAD}
  unsigned warp;
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));  //@ slot
  P[t] = warp == threadIdx.x / 32;
}}"""

    found = device.run(text, block=64, n=64)
    assert found.values["P"][:64].tolist() == [0] * 64
    assert [(each.kind, each.severity, each.line) for each in found.findings] == [
        (Verdict.ORDER_DEPENDENT, Severity.WARNING, line(text, "slot"))
    ]


def test_the_multiprocessor_of_a_block_is_not_its_number_and_not_its_own(device):
    text = f"""{HEAD} {{
  {THREAD}
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  P[blockIdx.x * 32 + t] = multiprocessor;
}}"""

    found = device.run(text, grid=4, n=128).values["P"][:128:32].tolist()
    assert not {0, 1, 2, 3} & set(found)
    assert len(set(found)) < len(found)
