"""A little of `make races`, and every seed that ever found something."""

from __future__ import annotations

from functools import cache

import pytest

from tests.marks import linux, some_of
from tests.races.__main__ import described
from tests.races.comparison import compare_seeds
from tests.races.families import FAMILIES
from tests.races.faults import BATCH, FRESH, faults
from tests.races.generator import generate, generate_open, generate_right
from tests.races.kept import kept

pytestmark = linux


PART = BATCH // 4


@cache
def compared(first, make=generate):
    return compare_seeds(FRESH[first : first + PART], make)


@pytest.mark.parametrize("make", [generate, generate_open], ids=["races", "open orders"])
@pytest.mark.parametrize("first", some_of(range(0, len(FRESH), PART), 24, str, "the short suite has a quarter batch"))
def test_device_and_oracle_agree(first, make):
    comparisons = compared(first, make)

    assert [described(each) for each in comparisons if each.differs] == []


@pytest.mark.one_in(2, "every second")
@pytest.mark.parametrize("family", FAMILIES)
def test_what_once_differed_does_so_no_more(family):
    assert [described(each) for each in FAMILIES[family](kept(family)) if each.differs] == []


@pytest.mark.parametrize("first", some_of(range(0, 40, 10), 4, str, "the short suite has the first ten"))
def test_right_patterns_show_no_finding(first):
    comparisons = compare_seeds(range(first, first + 10), generate_right)

    assert [each for each in comparisons if each.expected or each.found or each.other] == []


@pytest.mark.long("the short suite has a quarter batch")
def test_the_kernels_are_of_both_kinds():
    known = [each for first in range(0, 2 * BATCH, PART) for each in compared(first) if not each.unsupported]

    racy = sum(bool(each.expected) for each in known)
    assert len(known) // 4 < racy < len(known) * 3 // 4


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.name)
def test_the_faults_still_fit_the_device(fault):
    fault.check()
