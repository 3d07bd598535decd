"""The first kernel that solves an assignment is celebrated, once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from kernels.evidence import Evidence, GoalResult
from server.courses.models import Role
from server.recording.record import Recorded, record
from tests.server.databases import ON_SQLITE
from tests.server.standings.results import measure, public_id, ranked
from tests.server.web.signed_in import client_of


@ON_SQLITE
def test_the_first_accepted_kernel_is_celebrated_once(portal, ada, monkeypatch):
    first, second = (
        f"/submissions/{public_id(portal.course, ranked(portal.course, 'ada', speed))}" for speed in (2000, 3000)
    )
    with monkeypatch.context() as patched:
        patched.setattr("server.submissions.result.page.FRESH", timedelta())
        assert "data-celebrates" not in ada.page(first), "too long ago"
    assert "data-celebrates" not in client_of(portal, "ina", Role.INSTRUCTOR).page(first)
    assert "data-celebrates" not in ada.page(second)
    assert "data-celebrates" in ada.page(first)
    assert "data-celebrates" not in ada.page(first)


@ON_SQLITE
def test_the_first_kernel_that_misses_no_goal_is_celebrated(portal, ada):
    missed = GoalResult("No conflicts", "shared_load_conflicts", 4, 0, met=False)
    for goals, celebrated in (((missed,), False), ((), True), ((), False)):
        job = portal.course.job("ada")
        result = measure(portal.course, job, 2000)
        assert result.report is not None
        found = replace(result.report, evidence=Evidence(goals=goals))
        assert record(portal.course.sessions, replace(result, report=found)) is Recorded.FINAL
        page = ada.page(f"/submissions/{public_id(portal.course, job)}")
        assert ("data-celebrates" in page) is celebrated
