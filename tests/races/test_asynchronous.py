"""Asynchronous operations: the races that the device finds, and those that plain rules give."""

from __future__ import annotations

from functools import cache

import pytest

from tests.marks import linux, some_of
from tests.races.__main__ import described
from tests.races.asynchronous_comparison import compare_asynchronous
from tests.races.comparison import Comparison
from tests.races.faults import FRESH

pytestmark = linux
HALF = 20


@cache
def compared(first: int) -> list[Comparison]:
    return compare_asynchronous(FRESH[first : first + HALF])


@pytest.mark.parametrize("first", some_of(range(0, len(FRESH), HALF), 12, str, "the short suite has half a batch"))
def test_the_device_finds_the_races_of_the_rules(first: int) -> None:
    assert [described(each) for each in compared(first) if each.differs] == []


@pytest.mark.long("the short suite has half a batch")
def test_the_kernels_are_of_both_kinds() -> None:
    known = [each for first in range(0, 4 * HALF, HALF) for each in compared(first)]

    racy = sum(bool(each.expected) for each in known)
    assert not any(each.unsupported for each in known)
    assert len(known) // 8 < len(known) - racy
    assert len(known) // 2 < racy
