"""The oracle on tiny traces: what a race is, and how barriers and copies order accesses."""

from __future__ import annotations

import pytest

from tests.races.oracle import judge
from tests.races.tiny_traces import FULL, A, B, C, D, X, Y, pairs, read, write
from tests.races.trace import Arrival, BlockBarrier, Copy, CopyWait, NamedBarrier, PhaseSeen, Trace, WarpBarrier

# What a race is.


def test_a_write_and_a_read_of_two_threads_race():
    assert pairs({A: [write(1)], B: [read(2)]}) == {(1, 2)}


def test_a_read_before_a_write_races_too():
    assert pairs({A: [read(1)], B: [write(2)]}) == {(1, 2)}


def test_two_writes_race_even_on_one_line():
    assert pairs({A: [write(1)], B: [write(1)]}) == {(1, 1)}


def test_two_reads_do_not_race():
    assert pairs({A: [read(1)], B: [read(2)]}) == set()


def test_a_thread_does_not_race_with_itself():
    assert pairs({A: [write(1), read(2), write(3)]}) == set()


def test_each_pair_of_lines_is_listed():
    assert pairs({A: [write(1), write(2)], B: [read(3)], C: [read(4)]}) == {(1, 3), (1, 4), (2, 3), (2, 4)}


@pytest.mark.parametrize(
    ("first", "second", "races"),
    [
        (("M", 0, 1), ("M", 0, 4), True),
        (("M", 3, 1), ("M", 0, 16), True),
        (("M", 0, 8), ("M", 4, 4), True),
        (("M", 0, 1), ("M", 1, 1), False),
        (("M", 0, 4), ("M", 4, 4), False),
        (("M", 0, 4), ("P", 0, 4), False),
        (("shared 0", 0, 4), ("shared 1", 0, 4), False),
    ],
)
def test_accesses_of_one_byte_meet_at_any_width(first, second, races):
    assert bool(pairs({A: [write(1, first)], B: [read(2, second)]})) == races


def test_volatile_makes_no_access_atomic():
    assert pairs({A: [write(1, volatile=True)], B: [read(2, volatile=True)]}) == {(1, 2)}


# Barriers.


def test_a_block_barrier_orders_the_block():
    assert pairs({A: [write(1), BlockBarrier(0)], B: [BlockBarrier(0), read(2)]}) == set()


def test_a_block_barrier_orders_nothing_on_its_wrong_side():
    assert pairs({A: [BlockBarrier(0), write(1)], B: [BlockBarrier(0), read(2)]}) == {(1, 2)}
    assert pairs({A: [write(1), BlockBarrier(0)], B: [read(2), BlockBarrier(0)]}) == {(1, 2)}


def test_a_block_barrier_does_not_order_blocks():
    assert pairs({A: [write(1), BlockBarrier(0)], D: [BlockBarrier(0), read(2)]}) == {(1, 2)}


def test_barriers_chain():
    first, second = WarpBarrier(3, 0), WarpBarrier(6, 0)
    assert pairs({A: [write(1), first], B: [first, second], C: [second, read(2)]}) == set()
    assert pairs({A: [write(1), first], B: [second, first], C: [second, read(2)]}) == {(1, 2)}


def test_a_thread_that_returned_waits_at_every_later_block_barrier():
    assert pairs({A: [write(1)], B: [BlockBarrier(0), read(2)]}) == set()
    assert pairs({A: [BlockBarrier(0), write(1)], B: [BlockBarrier(0), read(2), BlockBarrier(1)]}) == {(1, 2)}
    assert pairs({A: [BlockBarrier(0), write(1)], B: [BlockBarrier(0), BlockBarrier(1), read(2)]}) == set()


def test_a_thread_that_returned_waits_at_no_named_barrier():
    assert pairs({A: [write(1)], B: [NamedBarrier(1, 0), read(2)], C: [NamedBarrier(1, 0)]}) == {(1, 2)}


def test_a_named_barrier_orders_those_who_took_part():
    bar = NamedBarrier(1, 0)
    assert pairs({A: [write(1), bar], B: [bar, read(2)], C: [read(3)]}) == {(1, 3)}


def test_uses_and_numbers_of_named_barriers_are_apart():
    assert pairs({A: [write(1), NamedBarrier(1, 0)], B: [NamedBarrier(2, 0), read(2)]}) == {(1, 2)}
    assert pairs({A: [write(1), NamedBarrier(1, 0)], B: [NamedBarrier(1, 1), read(2)]}) == {(1, 2)}


def test_who_only_arrives_is_not_ordered_after():
    arrive, wait = NamedBarrier(1, 0, waits=False), NamedBarrier(1, 0)
    assert pairs({A: [write(1), arrive], B: [wait, read(2)]}) == set()
    assert pairs({A: [arrive, read(1)], B: [write(2), wait]}) == {(1, 2)}
    assert pairs({A: [arrive, write(1)], B: [wait, read(2)]}) == {(1, 2)}


def test_a_warp_barrier_orders_the_lanes_of_its_mask():
    assert pairs({A: [write(1), WarpBarrier(3, 0)], B: [WarpBarrier(3, 0), read(2)], C: [read(3)]}) == {(1, 3)}


def test_lanes_that_name_different_masks_have_not_met():
    assert pairs({A: [write(1), WarpBarrier(3, 0)], B: [WarpBarrier(FULL, 0), read(2)]}) == {(1, 2)}


def test_a_warp_barrier_does_not_reach_another_warp():
    assert pairs({A: [write(1), WarpBarrier(FULL, 0)], (0, 32): [WarpBarrier(FULL, 0), read(2)]}) == {(1, 2)}


def test_arrival_comes_before_what_follows_the_phase():
    assert pairs({A: [write(1), Arrival("b", 0)], B: [PhaseSeen("b", 0), read(2)]}) == set()
    assert pairs({A: [Arrival("b", 0), write(1)], B: [PhaseSeen("b", 0), read(2)]}) == {(1, 2)}


def test_an_arrival_counts_for_its_own_phase_and_orders_nothing_after_it():
    assert pairs({A: [write(1), Arrival("b", 1)], B: [PhaseSeen("b", 0), read(2)]}) == {(1, 2)}
    assert pairs({A: [Arrival("b", 0), read(1)], B: [write(2), Arrival("b", 0)]}) == {(1, 2)}
    assert pairs({A: [PhaseSeen("b", 0), read(1)], B: [PhaseSeen("b", 0), write(2)]}) == {(1, 2)}


# Asynchronous copies.


def test_a_copy_waited_for_before_a_barrier_is_ordered():
    copy = Copy(1, X, Y, 0)
    assert pairs({A: [copy, CopyWait(frozenset([0])), BlockBarrier(0)], B: [BlockBarrier(0), read(2)]}) == set()


def test_a_barrier_does_not_wait_for_a_copy():
    copy = Copy(1, X, Y, 0)
    assert pairs({A: [copy, BlockBarrier(0), CopyWait(frozenset([0]))], B: [BlockBarrier(0), read(2)]}) == {(1, 2)}


def test_the_thread_itself_must_wait():
    assert pairs({A: [Copy(1, X, Y, 0), read(2), CopyWait(frozenset([0])), read(3)]}) == {(1, 2)}


def test_two_copies_under_way_race_also_within_a_thread():
    copies = [Copy(1, X, Y, 0), Copy(2, X, Y, 1), CopyWait(frozenset([0, 1]))]
    assert pairs({A: copies}) == {(1, 2)}
    assert pairs({A: [copies[0], CopyWait(frozenset([0])), copies[1]]}) == set()


def test_a_copy_does_not_wait_for_the_barrier_after_it():
    copy = [Copy(2, X, Y, 0), BlockBarrier(0), CopyWait(frozenset([0])), BlockBarrier(1)]
    assert pairs({A: [write(1), BlockBarrier(0), BlockBarrier(1)], B: copy}) == {(1, 2)}


def test_a_copy_comes_after_what_came_before_it():
    threads = {A: [read(1), BlockBarrier(0)], B: [write(2, Y), BlockBarrier(0), Copy(3, X, Y, 0)]}
    assert pairs(threads) == set()


def test_a_wait_for_another_copy_does_not_help():
    copies = [Copy(1, X, ("M", 8, 4), 0), Copy(2, Y, ("M", 8, 4), 1), CopyWait(frozenset([0]))]
    assert pairs({A: [*copies, BlockBarrier(0)], B: [BlockBarrier(0), read(3), read(4, Y)]}) == {(2, 4)}


def test_an_end_without_a_wait_waits_for_no_copy():
    assert pairs({A: [Copy(1, X, Y, 0)], B: [BlockBarrier(0), read(2)]}) == {(1, 2)}


# The trace.


def test_an_impossible_trace_is_refused():
    threads = {A: [BlockBarrier(0), BlockBarrier(1)], B: [BlockBarrier(1), BlockBarrier(0)]}
    with pytest.raises(ValueError, match="before itself"):
        judge(Trace(threads))


def test_a_race_names_its_threads_and_bytes():
    (race,) = judge(Trace({A: [write(1, ("M", 0, 8))], D: [read(2, ("M", 4, 4))]})).values()
    assert (race.threads, race.bytes) == ((A, D), (("M", 0, 8), ("M", 4, 4)))
