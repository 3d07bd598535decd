"""Asynchronous operations: the races that the device finds, and those that plain rules give."""

from __future__ import annotations

from functools import cache

import pytest

from tests.marks import linux, some_of
from tests.races.__main__ import described
from tests.races.asynchronous_comparison import compare_asynchronous
from tests.races.comparison import Comparison
from tests.races.faults import FRESH
from tests.races.proxy_rules import Access, Arrive, Event, Fence, Meeting, Seen, judge

pytestmark = linux
PART = 10


@cache
def compared(first: int) -> list[Comparison]:
    return compare_asynchronous(FRESH[first : first + PART])


@pytest.mark.parametrize("first", some_of(range(0, len(FRESH), PART), 24, str, "the short suite has a quarter batch"))
def test_the_device_finds_the_races_of_the_rules(first: int) -> None:
    assert [described(each) for each in compared(first) if each.differs] == []


@pytest.mark.long("the short suite has a quarter batch")
def test_the_kernels_are_of_both_kinds() -> None:
    known = [each for first in range(0, 8 * PART, PART) for each in compared(first)]

    racy = sum(bool(each.expected) for each in known)
    assert not any(each.unsupported for each in known)
    assert len(known) // 8 < len(known) - racy
    assert len(known) // 2 < racy


_WORD = "shared tile", 0, 1
_FIRST, _SECOND = ("first", 0), ("second", 0)


@pytest.mark.parametrize(
    ("leaves", "comes", "races"),
    [
        (Meeting("block"), Meeting("block"), False),
        (Arrive(_SECOND), Seen(_SECOND), False),
        (Arrive(_SECOND), Seen(_SECOND, acquires=False), True),
        (Arrive(_SECOND, releases=False), Seen(_SECOND), True),
    ],
)
def test_a_fence_acquires_what_a_relaxed_wait_saw_only_past_a_barrier(leaves: Event, comes: Event, races: bool) -> None:
    threads: dict[tuple[int, int], list[Event]] = {
        (0, 0): [Access(1, _WORD, writes=True), Arrive(_FIRST)],
        (0, 1): [Seen(_FIRST, acquires=False), leaves],
        (0, 2): [comes, Fence(), Access(2, _WORD, writes=False)],
    }

    assert ((1, 2) in judge(threads)) is races
