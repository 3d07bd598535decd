"""Pieces of global memory that warps touch: known patterns, and counts by hand of single warps and of whole kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.device import Budget, Buffer, Options, run
from kernels.device.counting.counts import ACCESS_FIELDS, Verb
from kernels.device.counting.patterns import Patterns, coalescing, interleaved
from kernels.launch import Launch
from tests.kernels.device.kernels import HEAD, Device, program
from tests.kernels.device.slow_counts import warps_of_sectors, warps_of_words

LANES = np.arange(32)
ALL = np.ones((1, 32), np.bool_)


def pieces(addresses, width, active=None):
    takes_part = ALL if active is None else np.array([active], np.bool_)
    return coalescing(np.array([addresses], np.int64), takes_part, width)[:, 0].tolist()


@pytest.mark.parametrize(
    ("addresses", "width", "sectors", "segments", "ideal"),
    [
        (LANES * 4, 4, 4, 1, 4),
        (LANES * 4 + 4, 4, 5, 2, 4),
        (LANES * 128, 4, 32, 32, 4),
        (LANES * 0, 4, 1, 1, 1),
        (LANES * 16, 16, 16, 4, 16),
        (LANES * 8, 4, 8, 2, 4),
        (LANES, 1, 1, 1, 1),
    ],
)
def test_known_patterns(addresses, width, sectors, segments, ideal):
    _, _, found, others, _, fewest = pieces(addresses, width)

    assert (found, others, fewest) == (sectors, segments, ideal)


def test_a_request_of_nobody_is_none():
    assert pieces(LANES * 4, 4, LANES < 0) == [0] * 6


def test_local_memory_lies_side_by_side():
    same, apart = np.array([LANES * 0 + 40]), np.array([LANES * 4])

    assert interleaved(same, ALL, 4)[:, 0].tolist() == [1, 32, 4, 1, 128, 4]
    assert interleaved(same, ALL, 16)[:, 0].tolist() == [1, 32, 16, 4, 512, 16]
    assert interleaved(apart, ALL, 4)[2, 0] == 32


ADDRESSES = st.lists(st.integers(0, 700), min_size=32, max_size=32)
ACTIVE = st.lists(st.booleans(), min_size=32, max_size=32)


@given(ADDRESSES, ACTIVE, st.sampled_from([1, 2, 4, 8, 16]), st.booleans())
def test_counting_by_hand_gives_the_same(cells, active, width, aligned):
    addresses = [cell * width if aligned else cell for cell in cells]

    assert pieces(addresses, width, active) == warps_of_sectors(addresses, active, width)


@pytest.mark.long("the short suite counts by hand in two other tests")
@given(st.data(), st.sampled_from([20, 32, 70]), st.sampled_from([4, 8]), st.sampled_from(["global", "shared"]))
@settings(max_examples=60)
def test_what_is_remembered_of_patterns_is_what_counting_by_hand_gives(data, threads, width, space):
    patterns = Patterns(threads)
    for _ in range(3):
        rows = threads if data.draw(st.booleans()) else 1
        columns = 3 if data.draw(st.booleans()) else 1
        numbers = data.draw(st.lists(st.integers(-40, 40), min_size=rows * columns, max_size=rows * columns))
        addresses = np.array(numbers, np.int64).reshape(rows, columns) * width
        bits = data.draw(st.none() | st.integers(0, 2 ** (3 * threads) - 1))
        active = None
        if bits is not None:
            active = np.array([bits >> at & 1 for at in range(3 * threads)], np.bool_).reshape(threads, 3)
        shift = width * data.draw(st.integers(0, 300))
        found = patterns.numbers(space, width, patterns.columns(addresses, active), shift)
        whole = np.broadcast_to(found, (len(ACCESS_FIELDS) + 1, 3))
        for block in range(3):
            assert whole[:-1, block].tolist() == by_hand(space, width, addresses + shift, active, threads, block)


def by_hand(space, width, addresses, active, threads, block):
    sums = np.zeros(len(ACCESS_FIELDS), np.int64)
    for first in range(0, threads, 32):
        lanes = range(first, first + 32)
        row = [addresses[lane % len(addresses), block % addresses.shape[1]] if lane < threads else 0 for lane in lanes]
        takes = [lane < threads and (active is None or bool(active[lane, block])) for lane in lanes]
        row = [int(address) + 128 * 40 for address in row]
        if space == "shared":
            sums[:2] += (any(takes), sum(takes))
            sums[6:8] += warps_of_words(row, takes, width)
        else:
            sums[:6] += warps_of_sectors(row, takes, width)
    return sums.tolist()


GATHER = f"""{HEAD} {{
  int t = threadIdx.x + threadIdx.y * 8, at = 48 * blockIdx.x + t;
  __shared__ float tile[64];
  if (t < 64) tile[t] = 0;
  if (t < 16) tile[48 + t] = 0;
  __syncthreads();
  int place = M[at];
  if (place >= 0) P[at] = M[288 + place] + tile[place % 64];
}}"""


@given(st.lists(st.integers(-20, 287), min_size=288, max_size=288))
@settings(max_examples=10, deadline=None)
def test_a_kernel_that_looks_up_places_counts_as_by_hand(places):
    table = np.concatenate((np.array(places, np.float32), np.zeros(288, np.float32)))
    buffers = (Buffer("M", table, initialised=True), Buffer("P", table[:288], initialised=True))
    launch = Launch((3, 2, 1), (8, 6, 1), 0)
    counts = run(
        program(GATHER.replace("blockIdx.x", "(blockIdx.x + 3 * blockIdx.y)")),
        launch, ("M", "P", 0), buffers, Options(budget=Budget(10_000), count=True,
    )).counts  # fmt: skip
    assert counts is not None
    loads = [each for each in counts.accesses if each.verb is Verb.LOAD]
    gather = [each for each in loads if each.space == "global"][-1]
    shared = next(each for each in loads if each.space == "shared")
    for block in range(6):
        own = places[48 * block : 48 * block + 48]
        takes = np.array([place >= 0 for place in own])[:, np.newaxis]
        addresses = np.array(own)[:, np.newaxis]
        expected = by_hand("global", 4, addresses * 4, takes, 48, 0)
        assert gather.values[:, block].tolist() == expected
        expected = by_hand("shared", 4, addresses % 64 * 4, takes, 48, 0)
        assert shared.values[:, block].tolist() == expected


def test_local_arrays_are_counted_as_local_memory(device: Device):
    text = f"""{HEAD} {{
  float own[8];
  #pragma unroll 1
  for (int i = 0; i < 8; ++i) own[i] = M[i];
  P[threadIdx.x] = own[(int)M[threadIdx.x] % 8];
}}"""
    counts = device.run(text, count=True).counts
    assert counts is not None
    local = [each for each in counts.accesses if each.space == "local"]
    sectors = ACCESS_FIELDS.index("sectors")

    assert [(each.verb, each.name) for each in local] == [(Verb.STORE, ""), (Verb.LOAD, "")]
    assert local[0].values[sectors].tolist() == [32]
    assert local[1].values[sectors].tolist() == [32]
