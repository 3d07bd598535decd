"""Clusters: the races and lifetimes that the device finds, and those that the definition gives."""

from __future__ import annotations

import pytest

from tests.marks import linux, some_of
from tests.races.__main__ import described
from tests.races.cluster_comparison import compare_clusters


@linux
@pytest.mark.parametrize("first", some_of(range(0, 200, 10), 20, str, "the short suite has ten of two hundred"))
def test_the_device_finds_the_races_of_the_definition(first: int) -> None:
    assert [described(each) for each in compare_clusters(range(first, first + 10)) if each.differs] == []
