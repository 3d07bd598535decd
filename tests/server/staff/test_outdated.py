"""An exercise that is set, and another that is installed by now: what the page of the assignment says."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from kernels.exercise import schema
from kernels.exercise.model import JUDGE_VERSION
from server.assignments.exercise_update import Updated, is_judged, update_exercise
from server.audit.models import AuditEvent
from server.courses.models import Assignment, Role
from server.dispatching.dispatch import take
from server.grading.models import Step, StepState
from tests.server.course import AFTER_ANY_PAUSE
from tests.server.databases import ON_POSTGRESQL, ON_SQLITE
from tests.server.staff.graded import handed_in
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of
from worker.contract.messages import CPU_QUEUE

PAGE = "/staff/gpu/assignments/tiled"
UPDATE = f"{PAGE}/update"


def test_a_page_says_that_nothing_can_be_graded_until_it_is_brought_up_to_date(
    portal: Portal, ina: BrowserClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert UPDATE not in ina.page(PAGE)
    assert 'class="badge poor"' not in ina.page("/staff/gpu/assignments")
    assert 'data-needs="update"' not in ina.page("/staff/gpu/")
    with monkeypatch.context() as another:
        another.setattr("server.assignments.staff_views.is_outdated", lambda *_: True)
        assert "keeps the old version until" in ina.page(PAGE)
    monkeypatch.setattr(schema, "JUDGE_VERSION", JUDGE_VERSION + 1)
    shown = ina.page(PAGE)
    assert "can’t be graded until" in shown
    assert UPDATE in shown
    assert 'class="badge poor"' in ina.page("/staff/gpu/assignments")
    assert 'data-needs="update"' in ina.page("/staff/gpu/")
    assert "until an instructor" in client_of(portal, "tom", Role.ASSISTANT).page(PAGE)
    for name in ("ada", "bob"):
        portal.course.hand_in(name, source=name.encode())
    with portal.course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=1, cap=1, now=AFTER_ANY_PAUSE)
    with portal.course.sessions.begin() as session:
        assert update_exercise(session, session.scalars(select(Assignment)).one(), None) == Updated(
            judges=True, waiting=2
        )
    assert {step.state for step in portal.course.rows(select(Step))} == {StepState.QUEUED}
    assert UPDATE not in ina.page(PAGE)


@pytest.mark.long("the short suite does it at the command line, in test_admin_update.py")
@ON_POSTGRESQL
def test_an_instructor_brings_it_up_to_date_once_it_was_told_what_that_changes(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    course, ina = portal.course, client_of(portal, "ina", Role.INSTRUCTOR)
    with course.sessions.begin() as session:
        session.scalars(select(Assignment)).one().device_class = ""
    handed_in(course, "ada")
    course.hand_in("bob")
    assert 'name="now"' not in ina.page(UPDATE)
    assert "notice" not in ina.post_form(UPDATE).headers["Location"]
    monkeypatch.setattr(schema, "JUDGE_VERSION", JUDGE_VERSION + 1)
    page = ina.page(UPDATE)
    assert 'data-waiting="1"' in page
    assert "1 entry returns after regrading" in page
    shown = page.partition('name="now" value="')[2].partition('"')[0]
    for other in ({}, {"now": "f" * 64}):
        answer = ina.post_form(UPDATE, **other)
        assert answer.status_code == 409
        assert 'data-code="not_possible"' in answer.text
    assert ina.post_form(UPDATE, now=shown).headers["Location"].endswith("?notice=assignment-updated")
    with course.sessions.begin() as session:
        found = session.scalars(select(Assignment)).one()
        deed = session.scalars(select(AuditEvent)).one()
        assert (deed.action, deed.actor_id) == ("assignment.updated", course.people["ina"])
        assert deed.detail == {"exercise": [deed.detail["exercise"][0], found.exercise.version[:12]], "waiting": 1}
        assert deed.detail["exercise"][0] in page
        assert deed.detail["exercise"][1] in page
    assert "assignment updated" in ina.page("/staff/gpu/audit")


@pytest.mark.one_in(2, "one of two")
@ON_POSTGRESQL
@pytest.mark.parametrize("own", [False, True])
def test_what_cannot_be_brought_up_to_date_says_why(portal: Portal, ina: BrowserClient, own: bool) -> None:
    with portal.course.sessions.begin() as session:
        exercise = session.scalars(select(Assignment)).one().exercise
        exercise.name = "gone"
        if own:
            exercise.course_id, exercise.definition = portal.course.course, "of an older Tilelab"
    assert ("--exercises FOLDER" in ina.page(UPDATE)) is own
    answer = ina.post_form(UPDATE)
    assert answer.status_code == 409
    assert "gone" in answer.get_data(as_text=True)


@ON_SQLITE
def test_a_definition_is_read_once_however_often_it_is_asked_for(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "JUDGE_VERSION", JUDGE_VERSION + 2)
    with portal.course.sessions.begin() as session:
        exercise = session.scalars(select(Assignment)).one().exercise
        assert not is_judged(exercise)
        monkeypatch.setattr("server.assignments.exercise_update.read_exercise", lambda *_: 1 / 0)
        assert not is_judged(exercise)
