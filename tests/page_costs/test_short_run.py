"""A little of `make page-costs`."""

from __future__ import annotations

from tests.page_costs.__main__ import MOST_SECONDS, stage


def test_no_page_of_a_hostile_text_takes_long():
    with stage(seed=1) as on:
        costs = [cost for _ in range(4) for cost in on.costs()]

    assert [(cost.page, cost.status) for cost in costs if cost.status >= 500] == []
    # Twice as long, because other tests share the caches of the processor.
    assert [(cost.page, cost.seconds) for cost in costs if cost.seconds > 2 * MOST_SECONDS] == []
