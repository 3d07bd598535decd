"""The oracle on tiny traces: how fences and atomics order accesses, and what atomics race with."""

from __future__ import annotations

import pytest

from tests.races.tiny_traces import COUNTER, FENCE, SECOND, A, B, C, D, E, Y, atomic, pairs, read, write
from tests.races.trace import BLOCK, DEVICE, BlockBarrier, Fence, Operation, Thread


def handed_over(*between: Operation, reader: Thread = D, **parts: Operation | None) -> set[tuple[int, int]]:
    """The usual way: A writes, fences and draws; the reader draws, fences and reads."""
    usual = {"fence": FENCE, "drawn": atomic(2), "seen": atomic(3), "other": FENCE, "last": read(4)}
    fence, drawn, seen, other, last = (usual | parts).values()
    first = [each for each in (write(1), fence, drawn) if each]
    then = [each for each in (seen, *between, other, last) if each]
    return pairs({A: first, reader: then}, {COUNTER: [(A, len(first) - 1), (reader, 0)]})


def test_write_fence_atomic_then_atomic_fence_read():
    assert handed_over() == set()


def test_a_fence_alone_orders_nothing():
    assert pairs({A: [write(1), FENCE], D: [FENCE, read(2)]}) == {(1, 2)}


def test_an_atomic_alone_orders_nothing():
    assert handed_over(fence=None, other=None) == {(1, 4)}


def test_both_fences_are_needed():
    assert handed_over(fence=None) == {(1, 4)}
    assert handed_over(other=None) == {(1, 4)}


def test_a_fence_on_the_wrong_side_of_its_atomic_does_not_help():
    threads = {A: [write(1), atomic(2), FENCE], D: [atomic(3), FENCE, read(4)]}
    assert pairs(threads, {COUNTER: [(A, 1), (D, 0)]}) == {(1, 4)}
    threads = {A: [write(1), FENCE, atomic(2)], D: [FENCE, atomic(3), read(4)]}
    assert pairs(threads, {COUNTER: [(A, 2), (D, 1)]}) == {(1, 4)}


def test_a_write_after_the_fence_is_not_released():
    threads = {A: [FENCE, write(1), atomic(2)], D: [atomic(3), FENCE, read(4)]}
    assert pairs(threads, {COUNTER: [(A, 2), (D, 0)]}) == {(1, 4)}


def test_a_location_is_an_address():
    wide = ("M", 128, 8)
    threads = {A: [write(1), FENCE, atomic(2, wide)], D: [atomic(3), FENCE, read(4)]}
    assert pairs(threads, {COUNTER: [(A, 2), (D, 0)], wide: [(A, 2), (D, 0)]}) == {(2, 3)}


def test_only_a_later_atomic_sees():
    threads = {A: [write(1), FENCE, atomic(2)], D: [atomic(3), FENCE, read(4)]}
    assert pairs(threads, {COUNTER: [(D, 0), (A, 2)]}) == {(1, 4)}


def test_the_two_atomics_are_on_one_location():
    threads = {A: [write(1), FENCE, atomic(2)], D: [atomic(3, SECOND), FENCE, read(4)]}
    assert pairs(threads, {COUNTER: [(A, 2)], SECOND: [(D, 0)]}) == {(1, 4)}


def test_an_atomic_between_does_not_hide_the_first():
    threads = {A: [write(1), FENCE, atomic(2)], D: [atomic(3)], E: [atomic(5), FENCE, read(4)]}
    assert pairs(threads, {COUNTER: [(A, 2), (D, 0), (E, 0)]}) == set()


def test_a_plain_store_between_hides_the_first():
    threads = {A: [write(1), FENCE, atomic(2), write(9, COUNTER)], D: [atomic(3), FENCE, read(4)]}
    assert pairs(threads, {COUNTER: [(A, 2), (A, 3), (D, 0)]}) == {(1, 4), (3, 9)}


def test_an_atomic_store_between_hides_the_first_and_hands_over_itself():
    threads = {
        A: [write(1), FENCE, atomic(2)],
        B: [write(5, Y), FENCE, atomic(6, reads=False)],
        D: [atomic(3), FENCE, read(4), read(7, Y)],
    }
    assert pairs(threads, {COUNTER: [(A, 2), (B, 2), (D, 0)]}) == {(1, 4)}


def test_an_atomic_load_leaves_nothing_to_see():
    assert handed_over(drawn=atomic(2, writes=False)) == {(1, 4)}
    assert handed_over(seen=atomic(3, reads=False)) == {(1, 4)}


def test_what_comes_before_a_fence_by_a_barrier_is_released():
    threads = {A: [write(1), BlockBarrier(0)], B: [BlockBarrier(0), FENCE, atomic(2)], D: [atomic(3), FENCE, read(4)]}
    assert pairs(threads, {COUNTER: [(B, 2), (D, 0)]}) == set()


def test_a_barrier_may_lie_between_fence_and_atomic_on_both_sides():
    threads = {
        A: [write(1), FENCE, BlockBarrier(0)],
        B: [BlockBarrier(0), atomic(2)],
        D: [atomic(3), BlockBarrier(0)],
        (1, 1): [BlockBarrier(0), FENCE, read(4)],
    }
    assert pairs(threads, {COUNTER: [(B, 1), (D, 0)]}) == set()


def test_a_barrier_is_no_fence():
    threads = {
        A: [write(1), BlockBarrier(0)],
        B: [BlockBarrier(0), atomic(2)],
        D: [atomic(3), BlockBarrier(0)],
        (1, 1): [BlockBarrier(0), read(4)],
    }
    assert pairs(threads, {COUNTER: [(B, 1), (D, 0)]}) == {(1, 4)}


def test_without_the_barrier_the_other_threads_write_is_not_released():
    threads = {A: [write(1), FENCE], B: [FENCE, atomic(2)], D: [atomic(3), FENCE, read(4)]}
    assert pairs(threads, {COUNTER: [(B, 1), (D, 0)]}) == {(1, 4)}


def test_handing_over_goes_on_through_a_third_block():
    threads = {
        A: [write(1), FENCE, atomic(2)],
        D: [atomic(3), FENCE, atomic(5, SECOND)],
        E: [atomic(6, SECOND), FENCE, read(4)],
    }
    assert pairs(threads, {COUNTER: [(A, 2), (D, 0)], SECOND: [(D, 2), (E, 0)]}) == set()


@pytest.mark.parametrize("part", ["fence", "drawn", "seen", "other"])
def test_block_scope_is_enough_within_a_block_and_not_between_blocks(part):
    narrow: dict[str, Operation] = {
        "fence": Fence(BLOCK),
        "other": Fence(BLOCK),
        "drawn": atomic(2, scope=BLOCK),
        "seen": atomic(3, scope=BLOCK),
    }
    assert handed_over(reader=B, **{part: narrow[part]}) == set()
    assert (1, 4) in handed_over(reader=D, **{part: narrow[part]})


@pytest.mark.parametrize("scope", [BLOCK, DEVICE])
def test_a_release_and_an_acquire_carry_their_fences(scope):
    drawn, seen = atomic(2, scope=scope, releases=True), atomic(3, scope=scope, acquires=True)
    assert handed_over(fence=None, other=None, drawn=drawn, seen=seen, reader=B) == set()
    assert ((1, 4) in handed_over(fence=None, other=None, drawn=drawn, seen=seen)) == (scope == BLOCK)


def test_an_order_is_carried_for_that_one_operation():
    threads = {A: [write(1), atomic(5, SECOND, releases=True), atomic(2)], D: [atomic(3, acquires=True), read(4)]}
    assert pairs(threads, {COUNTER: [(A, 2), (D, 0)], SECOND: [(A, 1)]}) == {(1, 4)}
    threads = {A: [write(1), atomic(2, releases=True)], D: [atomic(3), atomic(5, SECOND, acquires=True), read(4)]}
    assert pairs(threads, {COUNTER: [(A, 1), (D, 0)], SECOND: [(D, 1)]}) == {(1, 4)}


def test_an_atomic_store_and_an_atomic_load_hand_over():
    store, load = atomic(2, reads=False, releases=True), atomic(3, writes=False, acquires=True)
    assert handed_over(fence=None, other=None, drawn=store, seen=load) == set()


def test_a_volatile_access_needs_no_fence_after_the_atomic():
    assert handed_over(other=None, last=read(4, volatile=True)) == set()
    assert handed_over(fence=None, other=None, last=read(4, volatile=True)) == {(1, 4)}


def test_a_volatile_access_orders_only_itself():
    assert handed_over(read(5, Y, volatile=True), other=None) == {(1, 4)}


def test_a_plain_store_after_the_second_atomic_may_reset_the_location():
    assert handed_over(last=write(4, COUNTER), fence=None, other=None) == set()


def test_the_own_location_asks_for_no_scope():
    """The atomics race in their own right there."""
    drawn, seen = atomic(2, scope=BLOCK), atomic(3, scope=BLOCK)
    assert handed_over(last=write(4, COUNTER), fence=None, other=None, drawn=drawn, seen=seen) == {(2, 3)}


def test_the_own_location_carries_no_other_order():
    assert handed_over(write(5, COUNTER), fence=None, other=None) == {(1, 4)}


def test_the_own_location_is_not_ordered_without_a_second_atomic():
    assert pairs({A: [atomic(1)], D: [read(2, COUNTER)]}, {COUNTER: [(A, 0)]}) == {(1, 2)}


# Atomics as accesses.


def test_atomics_of_the_same_bytes_do_not_race():
    assert pairs({A: [atomic(1)], D: [atomic(2)]}) == set()


def test_an_atomic_races_with_a_plain_access():
    assert pairs({A: [atomic(1)], B: [read(2, COUNTER)], C: [write(3, COUNTER)]}) == {(1, 2), (1, 3), (2, 3)}


def test_atomics_of_different_width_or_place_race():
    assert pairs({A: [atomic(1)], B: [atomic(2, ("M", 128, 8))]}) == {(1, 2)}
    assert pairs({A: [atomic(1, ("M", 128, 8))], B: [atomic(2, ("M", 132, 8))]}) == {(1, 2)}


def test_atomics_of_block_scope_race_between_blocks_only():
    assert pairs({A: [atomic(1, scope=BLOCK)], B: [atomic(2, scope=BLOCK)]}) == set()
    assert pairs({A: [atomic(1, scope=BLOCK)], D: [atomic(2)]}) == {(1, 2)}


def test_an_atomic_load_races_with_a_plain_store_and_with_no_atomic():
    load = atomic(1, writes=False)
    assert pairs({A: [load], B: [write(2, COUNTER)]}) == {(1, 2)}
    assert pairs({A: [load], B: [atomic(2)]}) == set()
