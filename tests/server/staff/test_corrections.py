"""Grades that course staff correct, hold back and release, and the question before points fall."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from sqlalchemy import select
from werkzeug.test import TestResponse

from kernels.verdict import Verdict
from server.acts.by_form import typed_values
from server.assignments.settings import setting_of
from server.courses.local_time import zone_named
from server.courses.models import Assignment, Correction, Role
from server.grades.grade import Grade
from server.grades.gradebook import gradebook, grades_csv
from server.grades.losses import students_grades
from server.grading.models import Result
from server.submissions.changes import regrade
from tests.server.course import NOW
from tests.server.databases import ON_SQLITE
from tests.server.staff.graded import handed_in, judged
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

DAY = timedelta(days=1)
SETTING = "/staff/gpu/assignments/tiled"


@pytest.fixture
def ina(portal: Portal, due_tomorrow: None) -> BrowserClient:
    return client_of(portal, "ina", Role.INSTRUCTOR)


def grade_page(portal: Portal, name: str) -> str:
    return f"/staff/gpu/grades/tiled/{portal.course.person(name)}"


def grade_of(portal: Portal, name: str) -> Grade:
    with portal.course.sessions.begin() as session:
        assignment = session.get_one(Assignment, portal.course.assignment)
        return students_grades(session, assignment).get(portal.course.person(name), Grade())


def row_of(portal: Portal, name: str) -> list[str]:
    with portal.course.sessions.begin() as session:
        lines = grades_csv(gradebook(session, portal.course.course)).splitlines()
    return next(line for line in lines if line.startswith(name)).split(",")[3:-1]


def saved(portal: Portal, ina: BrowserClient, **changed: str) -> TestResponse:
    """The answer to the assignment's settings with these fields changed."""
    with portal.course.sessions.begin() as session:
        setting = setting_of(session.get_one(Assignment, portal.course.assignment))
    return ina.post_form(SETTING, **(typed_values(setting, zone_named("UTC")) | changed))


def confirmed(ina: BrowserClient, asked: TestResponse) -> TestResponse:
    """The answer to the form on the page that asks."""
    assert asked.status_code == 409, asked.text
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', asked.text))
    fields.pop("csrf")
    address = re.search(r'class="actions" method="post" action="([^"]+)"', asked.text)
    assert address is not None
    return ina.post_form(address[1], **fields)


def test_a_score_by_hand_survives_a_regrade(portal: Portal, ina: BrowserClient) -> None:
    handed_in(portal.course, "ada", Verdict.DATA_RACE)
    page = grade_page(portal, "ada")
    assert ina.post_form(page, score="8.5", reason="shown in the lab").status_code == 303
    with portal.course.sessions.begin() as session:
        (job,) = regrade(session, session.get_one(Assignment, portal.course.assignment), None)
    judged(portal.course, job, Verdict.ACCEPTED)
    grade = grade_of(portal, "ada")
    why = f"tiled: {grade.why[0]}"
    assert (grade.computed, grade.points, row_of(portal, "ada")) == (10.0, 8.5, ["8.5", "8.5", why])
    assert "8.5 of 10 points" in client_of(portal, "ada").page("/courses/gpu/tiled/")
    assert "set the grade to 8.5 points" in client_of(portal, "ada").page("/courses/gpu/tiled/history")
    (deed,) = portal.course.deeds("grades.corrected")
    assert deed.detail["score"] == [None, 8.5]
    assert "lab" not in str(deed.detail)
    assert "shown in the lab" in ina.page(page)
    assert ina.post_form(page, score="", reason="").status_code == 303
    assert grade_of(portal, "ada").points == 10.0
    assert portal.course.rows(select(Correction)) == []
    assert ina.get(grade_page(portal, "ina")).status_code == 404


def test_points_above_the_maximum_are_asked_about(portal: Portal, ina: BrowserClient) -> None:
    handed_in(portal.course, "ada")
    asked = ina.post_form(grade_page(portal, "ada"), score="2000", reason="typo")
    assert asked.status_code == 409
    assert grade_of(portal, "ada").points == 10.0
    assert confirmed(ina, asked).status_code == 303
    assert grade_of(portal, "ada").points == 2000.0
    portal.course.person("bob")
    without_work = ina.post_form(grade_page(portal, "bob"), score="2000", reason="typo")
    assert without_work.status_code == 409
    assert ina.post_form(grade_page(portal, "ada"), score="2000", reason="again").status_code == 303, "no rise"


def test_a_form_sent_again_unchanged_changes_no_number(portal: Portal, ina: BrowserClient) -> None:
    handed_in(portal.course, "ada")
    assert saved(portal, ina, points="12345.67").status_code == 303
    assert 'value="12345.67"' in ina.page(SETTING)
    confirmed(ina, ina.post_form(grade_page(portal, "ada"), score="20234.56", reason="x"))
    assert 'value="20234.56"' in ina.page(grade_page(portal, "ada"))


def test_a_grade_corrected_meanwhile_is_shown_before_it_is_replaced(portal: Portal, ina: BrowserClient) -> None:
    handed_in(portal.course, "ada", Verdict.DATA_RACE)
    page, tim = grade_page(portal, "ada"), client_of(portal, "tim", Role.INSTRUCTOR)
    fields = {"score": "8", "reason": "x", "shown": shown(ina.page(page))}
    tim.post_form(page, score="5", held="yes", reason="shown in the lab")
    answer = ina.post_form(page, **fields)
    assert answer.status_code == 409
    alert = answer.text.partition('role="alert"')[2].partition("</ul>")[0]
    assert re.findall(r'href="#(\w+)"', alert) == ["score", "reason"]
    assert 'name="held" value="yes" checked' in answer.text, "only tim changed it"
    assert "by tim" in answer.text
    assert grade_of(portal, "ada").points == 5.0
    ina.post_form(page, **(fields | {"shown": shown(answer.text)}))
    assert grade_of(portal, "ada").points == 8.0


def shown(page: str) -> str:
    """What the form carries of the correction that its page shows."""
    (found,) = re.findall(r'name="shown" value="([^"]+)"', page)
    return str(found)


def test_an_excused_assignment_does_not_count(portal: Portal, ina: BrowserClient) -> None:
    portal.course.person("ada")
    ina.post_form(grade_page(portal, "ada"), excused="yes", reason="was ill")
    assert row_of(portal, "ada") == ["excused", "0", ""]
    with portal.course.sessions.begin() as session:
        book = gradebook(session, portal.course.course)
    assert (book.most, [line.most for line in book.lines]) == (10.0, [0.0])
    ada = portal.course.person("ada")
    for page in ("grades", f"students/{ada}", "progress/tiled/students"):
        assert ">excused<" in ina.page(f"/staff/gpu/{page}"), page
    assert "0 of 0 points in all" in ina.page(f"/staff/gpu/students/{ada}")
    assert "excused: doesn’t count for you" in client_of(portal, "ada").page("/courses/gpu/")
    asked = ina.post_form(grade_page(portal, "ada"), excused="")
    assert "excused" in asked.text
    assert confirmed(ina, asked).status_code == 303
    assert not grade_of(portal, "ada").excused


@pytest.mark.parametrize("everyone", [True, False])
def test_held_points_are_for_staff_until_they_are_released(portal: Portal, ina: BrowserClient, everyone: bool) -> None:
    handed_in(portal.course, "ada")
    ada, tom = client_of(portal, "ada"), client_of(portal, "tom", Role.ASSISTANT)
    student = f"/staff/gpu/students/{portal.course.person('ada')}"
    tom.post_form(f"{student}/view")
    pages = ("/courses/gpu/", "/courses/gpu/tiled/", "/courses/gpu/tiled/history")
    assert all("10 " in ada.page(page) for page in pages)

    def put(held: str) -> TestResponse:
        if everyone:
            return saved(portal, ina, grades_held=held)
        return ina.post_form(grade_page(portal, "ada"), held=held)

    assert put("yes").status_code == 303
    for viewer, page in product((ada, tom), pages):
        text = viewer.page(page)
        assert "<span>10 of 10" not in text, page
        assert ", 10 points" not in text, page
        assert "ot released yet" in text, page
    assert "10 of 10 points" in ina.page(grade_page(portal, "ada"))
    assert '10 of 10<br><span class="fine">held' in ina.page(student)
    assert row_of(portal, "ada") == ["10", "10", ""]
    assert put("").status_code == 303
    assert "10 of 10 points" in ada.page("/courses/gpu/tiled/")


@ON_SQLITE
@pytest.mark.parametrize("decision", [{"score": "7"}, {"excused": "yes"}], ids=str)
def test_programs_of_a_student_see_no_decision_that_is_held(
    portal: Portal, ina: BrowserClient, decision: dict[str, str]
) -> None:
    def own() -> Any:
        (one,) = portal.get("ada", "/api/v1/assignments").get_json()["assignments"]
        return one["grade"]

    portal.course.person("ada")
    for held, hidden in (("yes", True), ("", False)):
        ina.post_form(grade_page(portal, "ada"), held=held, reason="x", **decision)
        assert (own() is None) is hidden
    counts = handed_in(portal.course, "ada")
    ina.post_form(grade_page(portal, "ada"), held="yes", reason="x", **decision)
    assert own() == {"points": None, "why": [], "excused": False, "held": True, "submission": counts}


def test_points_fall_only_after_they_were_shown(portal: Portal, ina: BrowserClient) -> None:
    handed_in(portal.course, "ada", source=b"// 1")
    handed_in(portal.course, "bob", source=b"// 2", now=NOW - 3 * DAY)
    asked = saved(portal, ina, due_at="2026-03-01T09:00", late_percent_per_day="20")
    assert "ada@example.edu" in asked.text
    assert "bob@example.edu" not in asked.text
    assert grade_of(portal, "ada").points == 10.0
    handed_in(portal.course, "cid", source=b"// 3")
    again = confirmed(ina, asked)
    assert "cid@example.edu" in again.text, "what was shown is no longer what would happen"
    assert confirmed(ina, again).status_code == 303
    assert [grade_of(portal, name).points for name in ("ada", "bob", "cid")] == [8.0, 10.0, 8.0]


def test_lines_of_a_field_survive_the_question_about_points(portal: Portal, ina: BrowserClient) -> None:
    saved(portal, ina, due_at="2026-03-01T09:00", late_percent_per_day="20")
    for name in ("ada", "bob"):
        handed_in(portal.course, name, source=name.encode())
    emails = {"emails": "ada@example.edu\r\nbob@example.edu"}
    ina.post_form(f"{SETTING}/extensions", **emails, extended_due_at="2026-03-08T09:00")
    assert [grade_of(portal, name).points for name in ("ada", "bob")] == [10.0, 10.0]
    asked = ina.post_form(f"{SETTING}/extensions", **emails, extended_due_at="2026-03-01T09:30")
    assert confirmed(ina, asked).status_code == 303
    assert [grade_of(portal, name).points for name in ("ada", "bob")] == [8.0, 8.0]


def test_rules_for_goals_and_speed_name_who_loses_points(portal: Portal, ina: BrowserClient) -> None:
    for name in ("ada", "bob", "cid"):
        handed_in(portal.course, name, source=name.encode())
    cid = grade_page(portal, "cid")
    confirmed(ina, ina.post_form(cid, score="9", reason="shown in the lab"))
    with portal.course.sessions.begin() as session:
        for result, missed in zip(session.scalars(select(Result).order_by(Result.job_id)), (1, 0, 1), strict=True):
            result.goals_missed = missed
    asked = saved(portal, ina, goals_percent="40")
    assert "ada@example.edu" in asked.text
    assert all(f"{name}@example.edu" not in asked.text for name in ("bob", "cid"))
    assert confirmed(ina, asked).status_code == 303
    assert [grade_of(portal, name).points for name in ("ada", "bob", "cid")] == [4.0, 10.0, 9.0]
    (reason,) = grade_of(portal, "ada").why
    assert row_of(portal, "ada") == ["4", "4", f"tiled: {reason}"]
    ada = client_of(portal, "ada")
    assert f"4 of 10 points: {reason}" in ada.page("/courses/gpu/")
    unmeasured = saved(portal, ina, speed_by="gflops", speed_tiers="0:60 2000:100")
    assert (unmeasured.status_code, 'href="#speed_tiers"' in unmeasured.text) == (422, True)
    portal.course.change(device_class="h200")
    asked = saved(portal, ina, speed_by="gflops", speed_tiers="0:60 2000:100")
    assert confirmed(ina, asked).status_code == 303
    assert grade_of(portal, "bob").points == 6.0
    assert "From 2,000 GFLOPS: 100 %" in ada.page("/courses/gpu/tiled/")


def test_an_extension_is_not_removed_without_a_word(portal: Portal, ina: BrowserClient) -> None:
    ada = portal.course.person("ada")
    saved(portal, ina, late_percent_per_day="50")
    granted = {"person": str(ada), "extended_due_at": "2026-03-09T09:00"}
    assert ina.post_form(f"{SETTING}/extensions", **granted).status_code == 303
    handed_in(portal.course, "ada", now=NOW + 2 * DAY)
    asked = ina.post_form(f"{SETTING}/extensions/{ada}/withdraw")
    assert grade_of(portal, "ada").points == 10.0
    assert confirmed(ina, asked).status_code == 303
    assert grade_of(portal, "ada").points == 5.0
