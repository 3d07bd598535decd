"""What orders accesses in global memory and between blocks: barriers, fences with atomics, and nothing else."""

from __future__ import annotations

import re

import pytest

from kernels.device import Unsupported
from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Found, Race, Story, line, lines, racing

KIND = Verdict.DATA_RACE


STORIES = [
    Story("a write after a read in global memory", Found(KIND, "write", "read", element="row[0]"), """
  row[t] = M[t];
  __syncthreads();
  float next = row[(t + 1) % 64];  //@ read
  row[t] = next;  //@ write
  P[t] = next;""", block=64, n=64, before="__device__ float row[64];"),
    Story("an input that is read long before it is written", Race("read", "write"), """
  float sum = M[63 - t];  //@ read
  if (n > 0) M[t] = sum;  //@ write
  P[t] = sum;""", block=64, n=64),
    Story("bytes stored and read as a word", Race("byte", "word"), """
  reinterpret_cast<unsigned char*>(flags)[t] = t;  //@ byte
  P[t] = flags[t / 4];  //@ word""", before="__device__ unsigned int flags[8];"),
    Story("a load for its own block beside a store for the device", Race("store", "load"), """
  unsigned seen;
  if (blockIdx.x == 0 && t == 0) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" :: "l"(&flag) : "memory");  //@ store
  }
  asm volatile("ld.relaxed.cta.global.u32 %0, [%1];" : "=r"(seen) : "l"(&flag) : "memory");  //@ load
  P[blockIdx.x * 32 + t] = seen;""", grid=2, n=64, before="__device__ unsigned int flag;"),
]  # fmt: skip


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


LAST_BLOCK = f"""__device__ float part[4];
__device__ unsigned int ticket;
{HEAD} {{
  {THREAD}
  __shared__ bool last;
  if (t == 5) part[blockIdx.x] = M[blockIdx.x];  //@ write
  BEFORE;
  BARRIER;
  if (t == 0) last = DRAW(&ticket, 1u) == gridDim.x - 1;
  __syncthreads();
  if (last) {{
    AFTER;
    if (t == 0) {{
      float sum = 0;
      for (int i = 0; i < gridDim.x; ++i) sum += part[i];  //@ read
      P[0] = sum;
      ticket = 0;  //@ reset
    }}
  }}
}}"""
FENCES = {"BEFORE": "__threadfence()", "BARRIER": "__syncthreads()", "DRAW": "atomicAdd", "AFTER": "__threadfence()"}


def last_block(**changes: str) -> str:
    text = LAST_BLOCK
    for name, code in (FENCES | changes).items():
        text = text.replace(name, code)
    return text


def test_the_last_block_adds_up_what_fences_and_a_ticket_order(device):
    assert device.output(last_block(), grid=4, n=1) == [6]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("BEFORE", ""),
        ("BEFORE", "__threadfence_block()"),
        ("BARRIER", "__syncwarp(1u << t)"),
        ("AFTER", ""),
        ("AFTER", "__threadfence_block()"),
    ],
)
def test_each_part_of_the_order_is_needed(device, name, code):
    text = last_block(**{name: code})

    assert racing(device.run(text, grid=4, n=1)) == {frozenset({line(text, "write"), line(text, "read")})}


def test_a_ticket_of_one_block_orders_no_others(device):
    text = last_block(DRAW="atomicAdd_block")

    found = racing(device.run(text, grid=4, n=1))

    assert frozenset({line(text, "write"), line(text, "read")}) in found
    assert any(len(pair) == 1 for pair in found)


def test_volatile_reads_need_no_fence_of_their_own(device):
    text = last_block(AFTER="").replace("+= part[i]", "+= *(volatile float*)&part[i]")

    assert device.output(text, grid=4, n=1) == [6]


def test_a_fence_in_code_that_never_runs_orders_nothing(device):
    text = f"""{HEAD} {{
  {THREAD}
  if (n < 0) __threadfence();
  if (blockIdx.x == 0) P[t] = 1;  //@ write
  else if (P[t] > 0) M[t] = 0;  //@ read
}}"""

    pair = frozenset({line(text, "write"), line(text, "read")})
    assert pair in {frozenset(each[1:]) for each in lines(device.run(text, grid=2))}


def test_a_race_before_an_endless_loop_is_found(device):
    text = f"{HEAD} {{ while (n) {{ P[0] = M[threadIdx.x]; __threadfence(); }} }}"

    kinds = {each.kind for each in device.run(text, n=1, budget=2_000).findings}

    assert kinds == {KIND, Verdict.TIME_LIMIT}


FLAG = f"""__device__ volatile int ready;
__device__ float data;
{HEAD} {{
  {THREAD}
  if (t == 0 && blockIdx.x == 0) {{
    data = 7;  //@ write
    BEFORE;
    ready = 1;  //@ set
  }}
  if (t == 0 && blockIdx.x == 1) {{
    WAIT (ready == 0) ;  //@ wait
    AFTER;
    P[0] = data;  //@ read
  }}
}}"""


def flagged(before: str = "__threadfence()", wait: str = "while", after: str = "__threadfence()") -> str:
    return FLAG.replace("BEFORE", before).replace("WAIT", wait).replace("AFTER", after)


def test_a_volatile_flag_that_a_thread_waits_for_orders_like_an_atomic(device):
    assert device.output(flagged(), grid=2, n=1) == [7]


@pytest.mark.parametrize("missing", ["before", "after"])
def test_a_flag_orders_nothing_without_its_fences(device, missing):
    text = flagged(**{missing: ""})

    assert racing(device.run(text, grid=2, n=1)) == {frozenset({line(text, "write"), line(text, "read")})}


def test_a_flag_that_is_read_only_once_races(device):
    text = flagged(wait="if")

    assert frozenset({line(text, "set"), line(text, "wait")}) in racing(device.run(text, grid=2, n=1))


@pytest.mark.parametrize("use", ["atomicAdd(&f, 0)", "if (atomicAdd(&f, 0) > 9) P[1] = 1", "P[1] = atomicAdd(&f, 0)"])
@pytest.mark.parametrize("reader", [1, 32, 64])
def test_an_atomic_that_happens_to_come_later_orders_nothing(device, use, reader):
    text = f"""__device__ unsigned int f;
__device__ float d;
{HEAD} {{
  {THREAD}
  int at = blockIdx.x * 64 + t;
  if (at == 0) d = 7;  //@ write
  if (at == 0) {{ __threadfence(); atomicAdd(&f, 1u); }}
  if (at == {reader}) {{
    {use};
    __threadfence();
    P[0] = d;  //@ read
  }}
}}"""

    pair = frozenset({line(text, "write"), line(text, "read")})
    found = device.run(text, grid=2, block=64, n=2).findings
    assert pair in {frozenset({each.line, each.other_line}) for each in found}


def test_who_draws_the_last_ticket_is_luck(device):
    text = f"""__device__ unsigned int f;
{HEAD} {{
  {THREAD}
  __shared__ float s[64];
  s[t] = t;  //@ write
  if (atomicAdd(&f, 1u) == 63) P[0] = s[63];  //@ read
}}"""
    found = device.run(text, block=64, n=1).findings
    assert [(each.other_line, each.line) for each in found] == [(line(text, "write"), line(text, "read"))]


def test_what_one_order_of_tickets_overruns_is_found(device):
    text = f"""__device__ unsigned int f;
__device__ float part[4];
{HEAD} {{
  {THREAD}
  if (atomicAdd(&f, 1u) == 0 && t != 0) part[100000] = 1;  //@ write
  P[t] = 1;
}}"""
    found = device.run(text, block=32).findings
    assert [(each.kind, each.line) for each in found] == [(Verdict.OUT_OF_BOUNDS, line(text, "write"))]


def test_what_a_block_released_in_shared_memory_ends_with_it(device, monkeypatch):
    monkeypatch.setattr("kernels.device.memory.placement.CHUNK_LANES", 32)
    text = f"""__device__ float d[4];
{HEAD} {{
  {THREAD}
  __shared__ unsigned int f;
  if (t == 0) f = 0;
  __syncthreads();
  if (t == 0) {{
    d[blockIdx.x] = 7;  //@ write
    __threadfence();
    atomicAdd(&f, 1u);
    __threadfence();
    P[blockIdx.x] = blockIdx.x ? d[blockIdx.x - 1] : 0;  //@ read
  }}
}}"""

    assert racing(device.run(text, grid=3, n=3)) == {frozenset({line(text, "write"), line(text, "read")})}


@pytest.mark.parametrize(("before", "after"), [("acquire", "acq_rel"), ("acq_rel", "release")])
def test_a_fence_with_one_side_is_half_a_fence(device, before, after):
    text = last_block(
        BEFORE=f'asm volatile("fence.{before}.gpu;" ::: "memory")',
        AFTER=f'asm volatile("fence.{after}.gpu;" ::: "memory")',
    )

    assert racing(device.run(text, grid=4, n=1)) == {frozenset({line(text, "write"), line(text, "read")})}


def test_a_compare_and_swap_that_fails_releases_nothing(device):
    text = f"""__device__ unsigned int f;
__device__ float d;
{HEAD} {{
  {THREAD}
  if (t == 0) {{
    d = 7;  //@ write
    __threadfence();
    atomicCAS(&f, 5u, 6u);
  }}
  if (t == 32) {{
    atomicAdd(&f, 0u);
    __threadfence();
    P[0] = d;  //@ read
  }}
}}"""

    pair = frozenset({line(text, "write"), line(text, "read")})
    assert racing(device.run(text, block=64, n=1)) == {pair}


def test_blocks_that_run_side_by_side_are_part_of_what_is_clean(device):
    text = f"""{HEAD} {{
  __shared__ float s[64], u[64];
  int t = threadIdx.x, i = gridDim.x == 1 ? t >> 1 : t;
  float* p = (i & 1) ? s + i : u + i;
  if (t < 64) *p = t;  //@ store
  P[t] = 0;
}}"""

    assert device.run(text, grid=2, block=64, n=64).findings != ()
    assert any(each.line == line(text, "store") for each in device.run(text, block=64, n=64).findings)


WARPS = f"""{HEAD} {{
  {THREAD}
  __shared__ float row[64];
  row[t] = M[t];  //@ write
  __syncwarp();
  P[t] = row[t ^ 1] + row[t ^ 2];
}}"""


BLOCKS = f"""__device__ float part[4];
__device__ unsigned int ticket;
{HEAD} {{
  {THREAD}
  if (t > 0) return;
  part[blockIdx.x] = M[blockIdx.x];  //@ write
  __threadfence();
  if (atomicAdd(&ticket, 1u) < gridDim.x - 1) return;
  __threadfence();
  P[0] = part[0] + part[1] + part[2] + part[3];
  ticket = 0;
}}"""


@pytest.mark.parametrize(
    ("limit", "text", "grid", "place", "name"),
    [
        ("races._MOST_ENTRIES", WARPS, 1, "//@ write", "`row`"),
        ("races._MOST_ENTRIES", BLOCKS, 4, "part|ticket", "`part`|`ticket`"),
        ("clocks._MOST_UPDATES", BLOCKS, 4, "atomicAdd", "atomics and fences"),
        ("knowledge._MOST_ENTRIES", BLOCKS, 4, "", "atomics and fences"),
    ],
)
def test_what_is_too_much_to_compare_is_unsupported(device, limit, text, grid, place, name, monkeypatch):
    monkeypatch.setattr(f"kernels.device.observers.{limit}", 0)

    with pytest.raises(Unsupported, match=name) as caught:
        device.run(text, block=32, grid=grid, n=64)

    if place:
        assert caught.value.line is not None
        assert re.search(place, text.splitlines()[caught.value.line - 1])


def test_a_value_read_ahead_of_the_flag_is_not_read_behind_it(device):
    text = f"""__device__ unsigned int f;
__device__ float d;
{HEAD} {{
  {THREAD}
  if (blockIdx.x == 0 && t == 0) {{
    d = 7;  //@ write
    __threadfence();
    atomicExch(&f, 1u);
  }}
  if (blockIdx.x == 1 && t == 0) {{
    float early = d;  //@ read
    unsigned int g;
    asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(g) : "l"(&f) : "memory");
    P[0] = g ? early : 0;
  }}
}}"""
    found = device.run(text, grid=2, n=1).findings
    assert {(each.other_line, each.line) for each in found} == {(line(text, "write"), line(text, "read"))}


def test_a_load_on_the_way_of_threads_that_do_not_choose_it_is_none(device):
    text = f"""__device__ float g;
{HEAD} {{
  {THREAD}
  bool first = blockIdx.x == 0 && t == 0;
  if (first) g = 4;
  float v = first ? g : 0.0f;
  P[blockIdx.x * 32 + t] = v;
}}"""
    execution = device.run(text, grid=2, n=64)
    assert execution.findings == ()
    assert execution.values["P"].tolist() == [4] + [0] * 63
