"""An exercise that is set, and another that is installed by now: what the page of the assignment says."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from kernels.exercise import schema
from kernels.exercise.model import JUDGE_VERSION
from server.courses.models import Assignment, Role
from server.grading.dispatch import take
from server.grading.models import Step, StepState
from server.staff.updating import update_exercise
from tests.server.course import AFTER_ANY_PAUSE
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of
from worker.messages import CPU_QUEUE

PAGE = "/staff/gpu/assignments/tiled"
COMMAND = "tilelab admin assignment update gpu/tiled"


def test_a_page_says_that_nothing_can_be_graded_until_it_is_brought_up_to_date(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    assert COMMAND not in ina.page(PAGE)
    with monkeypatch.context() as another:
        another.setattr("server.staff.assignment_views._is_outdated", lambda _: True)
        assert "is judged as it was set until" in ina.page(PAGE)
    monkeypatch.setattr(schema, "JUDGE_VERSION", JUDGE_VERSION + 1)
    shown = ina.page(PAGE)
    assert "cannot be graded until" in shown
    assert COMMAND in shown
    for name in ("ada", "bob"):
        portal.course.hand_in(name, source=name.encode())
    with portal.course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=1, cap=1, now=AFTER_ANY_PAUSE)
    with portal.course.sessions.begin() as session:
        assert update_exercise(session, session.scalars(select(Assignment)).one(), None) == 2
    with portal.course.sessions.begin() as session:
        assert {step.state for step in session.scalars(select(Step))} == {StepState.QUEUED}
    assert COMMAND not in ina.page(PAGE)
