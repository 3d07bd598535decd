"""Whose points a regrade may lower is told before it starts."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from kernels.verdict import Verdict
from server.courses.models import Counts
from server.grading.models import MAX_ATTEMPTS
from server.regrades.service import plan, regrade_risks
from server.submissions.criteria import SubmissionCriteria
from tests.server.course import NOW
from tests.server.staff.graded import handed_in, judged, newest_job
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient

REGRADE = "/staff/gpu/regrade"


def test_a_regrade_at_once_names_whose_points_may_fall(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    course.change(points=10.0)
    handed_in(course, "ada", source=b"// 1")
    handed_in(course, "bob", Verdict.DATA_RACE, source=b"// 2")
    page = tom.page(f"{REGRADE}?assignment=tiled")
    assert 'id="risks"' in page
    assert "bob@example.edu" not in page
    assert 'id="risks"' not in tom.page(f"{REGRADE}?verdict=data_race")
    asked = tom.post_form(REGRADE, assignment="tiled", newest="999")
    assert (asked.status_code, "ada@example.edu" in asked.text) == (409, True)
    digest = re.search(r'name="lowers" value="([0-9a-f]{64})"', page)
    assert digest is not None
    assert tom.post_form(REGRADE, assignment="tiled", newest="999", lowers="0" * 64).status_code == 409
    done = tom.post_form(REGRADE, assignment="tiled", newest="999", lowers=digest[1])
    assert done.status_code == 303


def test_points_that_a_regrade_cannot_change_are_not_at_risk(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    handed_in(course, "ada", source=b"// 1")
    course.change(points=10.0, counts=Counts.LAST)
    failed = course.hand_in("ada", source=b"// 2", now=NOW + timedelta(minutes=30)).submission.id
    for _ in range(MAX_ATTEMPTS):
        judged(course, newest_job(course, failed), Verdict.SYSTEM_ERROR)
    chosen = {"verdict": "system_error"}

    def risks(**asked: Any) -> list[str]:
        with course.sessions.begin() as session:
            planned = plan(session, course.course, SubmissionCriteria(**asked))
            return [one.loss.name for one in regrade_risks(session, planned.submissions)]

    assert risks(**chosen) == ["ada"]
    course.change(counts=Counts.BEST)
    assert (risks(**chosen), risks()) == ([], ["ada"])
    course.correct("ada", score=8.0)
    assert risks() == []
