"""Counts of whole kernels: what a GPU's own counters showed, and small ones whose numbers can be thought out."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from kernels.analysis.hardware import as_executed
from kernels.analysis.scaling import plan_blocks, scaled
from kernels.device.counting.counts import ACCESS_FIELDS, AccessCount, Counts, Verb
from tests.kernels.device.counted import FOLDER, Product, as_merged, conflicts, total
from tests.kernels.device.kernels import HEAD, THREAD, Device, line

ROWS: list[dict[str, Any]] = tomllib.loads((FOLDER / "table.toml").read_text())["row"]


@pytest.mark.one_in(4, "a quarter of the recorded counts")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['kernel']}-{row['tile']}-{row['width']}")
def test_counts_are_those_of_the_hardware(row):
    product = Product(row["kernel"], row["tile"], row["width"], row.get("columns", 1))
    blocks = plan_blocks(product.launch, 64)
    result = scaled(product.counts(blocks), product.launch)
    counts = result.counts

    assert result.exact, result.note
    assert blocks is None or len(blocks) < product.launch.blocks / 3
    for verb, wanted in ((Verb.LOAD, row["loads"]), (Verb.STORE, row["stores"])):
        for field, number in wanted.items():
            assert total(counts.accesses, field, "global", verb) == number, (verb, field)
    if "conflicts" in row:
        merged = as_merged(counts, 16)
        assert conflicts(merged, Verb.LOAD) == row["conflicts"]["loads"]
        assert conflicts(merged, Verb.STORE) == row["conflicts"]["stores"]
        unmerged = row.get("ptx_conflicts", row["conflicts"]["loads"])
        assert conflicts(counts.accesses, Verb.LOAD) == unmerged


@pytest.mark.parametrize("kernel", ["naive", "tiled", "coarsened"])
def test_floating_point_operations_are_two_for_each_product(kernel):
    product = Product(kernel, 16, 64, 4 if kernel == "coarsened" else 1)

    assert sum(each.total.flops for each in product.counts().lines) == 2 * 64**3


def test_accesses_are_named_as_in_the_source():
    counts = Product("tiled", 16, 32).counts()

    assert {(each.space, each.verb.value, each.name) for each in counts.accesses} == {
        ("global", "load", "M"),
        ("global", "load", "N"),
        ("global", "store", "P"),
        ("shared", "store", "Mds"),
        ("shared", "store", "Nds"),
        ("shared", "load", "Mds"),
        ("shared", "load", "Nds"),
    }


def counts_of(device: Device, text: str, **options: Any) -> Counts:
    counts = device.run(text, count=True, **options).counts
    assert counts is not None
    return counts


def at(accesses: tuple[AccessCount, ...], text: str, mark: str) -> list[tuple[str, str, str, int]]:
    """Space, verb, variable and width of the accesses of the marked line."""
    number = line(text, mark)
    return [(each.space, each.verb.value, each.name, each.width) for each in accesses if each.line == number]


def field(access: AccessCount, name: str) -> list[int]:
    listed: list[int] = access.values[ACCESS_FIELDS.index(name)].tolist()
    return listed


DIVERGES = f"""{HEAD} {{
  {THREAD}
  float v = 0;
  if (threadIdx.x % 3 == 0) //@ branch
    for (int i = 0; i < n; ++i) v += M[(int)v + i];
  P[t] = v;
}}"""


def test_a_branch_by_the_remainder_of_three_divides_every_warp(device):
    counts = counts_of(device, DIVERGES, block=96, n=96, grid=2, values=96)
    branch = next(each for each in counts.branches if each.line == line(DIVERGES, "branch"))

    assert branch.values.tolist() == [[3, 3], [3, 3]]
    assert branch.intervals == ((6, 6),)


def test_a_branch_by_the_warp_divides_none(device):
    counts = counts_of(device, DIVERGES.replace("x % 3 ==", "x / 32 =="), block=96, n=96, values=96)
    branch = next(each for each in counts.branches if each.line == line(DIVERGES, "branch"))

    assert branch.values.tolist() == [[3], [0]]


INTERVALS = f"""{HEAD} {{
  {THREAD}
  __shared__ volatile float tile[64];
  #pragma unroll 1
  for (int s = 1; s < 64; s *= 2) {{
    tile[t] = M[t];
    __syncthreads();
    if (t < s) //@ branch
      for (int i = 0; i < 5 + M[1]; ++i) tile[t] = tile[t] + i;
    __syncthreads();
  }}
  P[t] = tile[t];
}}"""


def test_branches_are_told_by_intervals_between_barriers(device):
    counts = counts_of(device, INTERVALS, block=64, n=64)
    branch = next(each for each in counts.branches if each.line == line(INTERVALS, "branch"))

    # 1, 2, 4, 8, 16 threads of the first warp, then all 32.
    assert branch.values.tolist() == [[12], [5]]
    assert [each for each in branch.intervals if each[0]] == [(2, 1)] * 5 + [(2, 0)]
    assert branch.intervals[0] == (0, 0)


def test_instructions_are_those_of_threads_that_have_not_ended(device):
    text = f"""{HEAD} {{
  {THREAD}
  if (t >= 20) return;
  for (int i = 0; i < M[t]; ++i) P[t] = i * M[i]; //@ loop
}}"""
    counts = counts_of(device, text, block=40)
    work = next(each.total for each in counts.lines if each.line == line(text, "loop"))
    store = next(each for each in counts.accesses if each.verb is Verb.STORE)

    assert work.threads < 20 * work.warps
    assert field(store, "threads") == [sum(range(20))]
    assert field(store, "requests") == [19]
    assert work.flops >= sum(range(20))


ATOMIC = f"""{HEAD} {{
  {THREAD}
  __shared__ float sum[2];
  if (t < 2) sum[t] = 0;
  __syncthreads();
  atomicAdd(&sum[t & 1], M[t]); //@ shared
  __syncthreads();
  if (t < 2) atomicAdd(&P[t], sum[t]); //@ global
}}"""


def test_atomic_updates_are_a_verb_of_their_own(device):
    counts = counts_of(device, ATOMIC, observe=False)

    assert at(counts.accesses, ATOMIC, "shared")[-1] == ("shared", "atomic", "sum", 4)
    assert at(counts.accesses, ATOMIC, "global")[-1] == ("global", "atomic", "P", 4)
    assert sum(each.total.flops for each in counts.lines) == 34


COPY = f"""{HEAD} {{
  {THREAD}
  __shared__ float4 tile[32];
  unsigned to = __cvta_generic_to_shared(&tile[t]);
  int given = t < 8 ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(M + 4 * t), "r"(given)); //@ copy
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  P[t] = tile[31 - t].y; //@ use
}}"""


def test_an_asynchronous_copy_is_a_load_and_a_store(device):
    counts = counts_of(device, COPY, values=128)
    copies = [each for each in counts.accesses if each.line == line(COPY, "copy")]

    assert at(counts.accesses, COPY, "copy") == [("global", "load", "M", 16), ("shared", "store", "tile", 16)]
    totals = as_executed(counts, None).totals
    assert totals.async_load_requests == totals.global_load_requests > 0
    assert [field(each, "threads") for each in copies] == [[8], [32]]
    assert field(copies[0], "sectors") == [4]
    assert field(copies[1], "wavefronts") == [4]


MATRICES = f"""#include <mma.h>
using namespace nvcuda::wmma;
{HEAD} {{
  {THREAD}
  __shared__ alignas(32) half tile[256];
  for (int i = t; i < 256; i += 32) tile[i] = __float2half(1);
  __syncthreads();
  fragment<matrix_a, 16, 16, 16, half, row_major> a;
  fragment<matrix_b, 16, 16, 16, half, row_major> b;
  fragment<accumulator, 16, 16, 16, float> sums;
  fill_fragment(sums, 0.0f);
  load_matrix_sync(a, (half*)M, 16); //@ global
  load_matrix_sync(b, tile, 16); //@ shared
  mma_sync(sums, a, b, sums);
  store_matrix_sync(P, sums, 16, mem_row_major); //@ sums
}}"""


def test_a_matrix_is_counted_by_the_requests_of_the_machine_code(device):
    counts = counts_of(device, MATRICES, values=256)
    found = {mark: next(a for a in counts.accesses if a.line == line(MATRICES, mark))
             for mark in ("global", "shared", "sums")}  # fmt: skip
    rows = {mark: (each.width, *(field(each, name)[0] for name in ("requests", "sectors", "segments", "wavefronts")))
            for mark, each in found.items()}  # fmt: skip
    # Each request for halves has 8 rows of 16 bytes; each for sums has 8 rows of 32 bytes.
    assert rows == {"global": (4, 4, 32, 8, 0), "shared": (16, 1, 0, 0, 8), "sums": (8, 4, 32, 16, 0)}


GENERIC = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[32];
  tile[t] = t;
  __syncthreads();
  float* way = t & 1 ? tile : M;
  P[t] = *(volatile float*)(way + t); //@ mixed
}}"""


def test_a_generic_address_is_counted_where_it_leads(device):
    counts = counts_of(device, GENERIC)
    loads = {each.space: each for each in counts.accesses if each.verb is Verb.LOAD}

    assert sorted(loads) == ["global", "shared"]
    assert (loads["global"].name, loads["shared"].name) == ("M", "tile")
    assert [field(loads[space], "threads") for space in ("global", "shared")] == [[16], [16]]
    assert field(loads["global"], "sectors") == [4]


def test_threads_that_a_guard_keeps_out_do_not_count(device):
    text = f"{HEAD} {{ {THREAD} if (t < 8) P[t] = 1; }}"
    store = next(each for each in counts_of(device, text).accesses if each.verb is Verb.STORE)

    assert [field(store, name) for name in ("requests", "threads", "sectors", "unique_bytes")] == [
        [1], [8], [1], [32]
    ]  # fmt: skip


def test_columns_are_blocks_in_the_order_asked_for(device):
    text = f"{HEAD} {{ {THREAD} if (t <= blockIdx.x) P[t + 32 * blockIdx.x] = 1; }}"
    counts = counts_of(device, text, grid=6, n=192, blocks=(5, 1, 2))
    store = next(each for each in counts.accesses if each.verb is Verb.STORE)

    assert counts.blocks == (5, 1, 2)
    assert field(store, "threads") == [6, 2, 3]


def test_only_the_blocks_asked_for_write(device):
    text = f"{HEAD} {{ {THREAD} P[t + 32 * blockIdx.x] = blockIdx.x; }}"
    values = device.run(text, grid=4, n=128, blocks=(2, 0)).values["P"].reshape(4, 32)

    assert [row[0] if row[0] == row[0] else None for row in values.tolist()] == [0, None, 2, None]


def test_a_plain_run_counts_nothing(device):
    assert device.run(f"{HEAD} {{ {THREAD} P[t] = t; }}").counts is None


@pytest.mark.one_in(2, "one of two kernels")
@pytest.mark.parametrize("lanes", [1, 512])
def test_small_chunks_count_the_same_as_one_large_one(lanes, monkeypatch):
    product = Product("tiled_bounds", 16, 40)
    whole = product.counts(observe=True)
    monkeypatch.setattr("kernels.device.memory.placement.CHUNK_LANES", lanes)
    cut = product.counts()

    assert whole.blocks == cut.blocks
    assert _values(whole) == _values(cut)
    assert [each.intervals for each in whole.branches] == [each.intervals for each in cut.branches]


SCATTERED = f"""{HEAD} {{
    unsigned x = blockIdx.x * 77 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 40; k++) {{
        x = x * 1664525 + 1013904223;
        if (x >> 31) sum += M[x >> 8 & 63] + M[threadIdx.x & 7];
        if (k & 1) __syncthreads();
    }}
    P[threadIdx.x] = sum;
}}"""


@pytest.mark.one_in(3, "one of three kernels")
@pytest.mark.parametrize("most", [1, 2, 7])
def test_numbers_that_are_added_up_early_are_the_same(most, device, monkeypatch):
    whole = counts_of(device, SCATTERED, grid=3, block=50, n=50, observe=False)
    monkeypatch.setattr("kernels.device.counting.counting._MOST_TALLIES", most)
    early = counts_of(device, SCATTERED, grid=3, block=50, n=50, observe=False)

    assert _values(whole) == _values(early)
    assert [each.intervals for each in whole.branches] == [each.intervals for each in early.branches]


def _values(counts: Counts) -> list[object]:
    accesses = [each.values.tolist() for each in (*counts.accesses, *counts.merged)]
    return [
        accesses,
        [each.values.tolist() for each in counts.branches],
        [each.values.tolist() for each in counts.lines],
    ]
