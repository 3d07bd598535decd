"""The model of a large site: waits where they are known without it."""

from __future__ import annotations

import random
from functools import partial

import pytest

from bench.site.__main__ import COSTS, SMALLEST, burst_waits, purchases
from bench.site.model import Clock, Night, Run, Station


@pytest.mark.parametrize(("passing", "steps", "work"), [(0.0, 1, COSTS.check), (1.0, 2, COSTS.check + COSTS.count)])
def test_alone_a_student_waits_for_their_own_steps_only(passing, steps, work):
    run = Run(SMALLEST, COSTS, passing=passing, pages=0, dice=random.Random(1))
    run.submit(0)
    (attempt,) = run.outcome().attempts
    way = COSTS.dispatch + COSTS.path + COSTS.record
    assert attempt.waited == pytest.approx(COSTS.submission + steps * way + work + passing * COSTS.measure)


def test_a_burst_waits_behind_itself():
    clock, served = Clock(), list[tuple[int, float]]()
    station = Station(clock, servers=1)

    def serve(person: int) -> None:
        served.append((person, clock.now))

    for person in (0, 0, 0, 0, 1, 2):
        station.ask(person, 1.0, partial(serve, person))
    clock.run()
    assert served == [(0, 1.0), (0, 2.0), (1, 3.0), (2, 4.0), (0, 5.0), (0, 6.0)]
    assert dict(station.busy) == {0: 6.0}


def test_a_burst_costs_others_little():
    alone, behind = burst_waits(COSTS, 50, 0), burst_waits(COSTS, 50, 500)
    assert max(behind) < 1.5 * max(alone)


def test_what_binds_is_doubled_until_waits_are_short():
    night = Night(1200, hours=0.5, attempts=1)
    *tried, enough = purchases(night)
    assert tried[0].site == SMALLEST
    assert all(each.binds[1] > 0.9 for each in tried)
    waits = enough.waits(enough.last)
    assert len(waits) >= night.students
    assert sorted(waits)[int(0.95 * len(waits))] < 30
