"""A short campaign: some dozen submissions while every part dies; `make faults` runs a long one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.faults.campaign import Plan, run
from tests.faults.embedded import Embedded
from tests.faults.house import House
from tests.faults.parts import parts
from tests.faults.text import text_of

pytestmark = pytest.mark.long(
    "takes minutes; the short suite ends each process once, in tests/server/grading/test_processes.py"
)

# what hangs is noticed after half a minute at the earliest: that is for the long campaign
SHORT = Plan(
    submissions=14, faults=10, seed=5, seconds=20.0, drain_seconds=300.0, students=4, without="hanging", in_time=False
)
SHORTER = replace(SHORT, submissions=6, faults=5, seconds=10.0)


@pytest.mark.timeout(600)
def test_every_submission_gets_its_one_verdict_whatever_dies(tmp_path):
    with House(tmp_path, students=SHORT.students) as house:
        house.start(parts(house))
        outcome = run(house, SHORT, print)

    assert outcome.good, text_of(outcome)
    assert outcome.faults.total() == SHORT.faults


@pytest.mark.timeout(600)
def test_the_same_holds_on_one_machine_with_sqlite(tmp_path):
    with Embedded(tmp_path, students=SHORT.students) as embedded:
        outcome = run(embedded, SHORTER, print)

    assert outcome.good, text_of(outcome)
    assert outcome.faults.total() == SHORTER.faults
