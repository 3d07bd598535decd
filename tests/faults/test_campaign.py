"""A short campaign: some dozen submissions while every part dies; `make faults` runs a long one."""

from __future__ import annotations

import pytest

from tests.faults.campaign import Plan, run
from tests.faults.house import House
from tests.faults.parts import parts
from tests.faults.text import text_of

SHORT = Plan(submissions=24, faults=16, seed=7, seconds=45.0, drain_seconds=200.0, students=4)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("database", ["postgresql"])
def test_every_accepted_submission_gets_its_one_verdict_whatever_dies(database, tmp_path):
    with House(tmp_path, students=SHORT.students, database=database) as house:
        house.start(parts(house))
        outcome = run(house, SHORT, print)

    assert outcome.good, text_of(outcome)
    assert outcome.faults.total() == SHORT.faults
