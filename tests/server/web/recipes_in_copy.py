"""Run by tests/extending/test_recipes.py in the copy where all recipes were followed: what the portal then has."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from flask import Flask

from kernels.verdict import Verdict
from server.acts.by_form import typed_values
from server.assignments.settings import setting_of
from server.courses.models import Assignment, Extension, Role
from server.grades.points import points_for
from server.web.openapi import described
from tests.browser.pages import PAGES
from tests.server.course import NOW
from tests.server.staff.graded import handed_in
from tests.server.staff.test_staff_changes import TILED, Staff
from tests.server.web.conftest import Portal
from tests.server.web.house import House
from tests.server.web.matrix import ROLES, routes
from tests.server.web.signed_in import client_of
from tests.server.web.test_access import house
from tests.server.web.test_openapi import app, document, fits
from worker.client import answers

__all__ = ["app", "document", "house"]


@pytest.mark.parametrize("endpoint", ["assignments.handout", "staff.show_extensions"])
def test_route_and_page_answer_each_role(endpoint: str, house: House) -> None:
    ((method, path, _, gets),) = [one for one in routes() if one[2] == endpoint]
    assert {role: house.ask(role, method, path) for role in ROLES} == gets


def test_act_refuses_asks_and_moves_the_dates(portal: Portal) -> None:
    ina, rule = Staff(portal), "/api/v1/courses/{course}/assignments/{assignment}/shift"
    portal.course.change(points=10.0, due_at=NOW, late_percent_per_day=10.0, device_class="")
    handed_in(portal.course, "ada", now=NOW - timedelta(days=1))
    assert "`days`" in ina.post(f"{TILED}/shift", rule, 422, days=61)["detail"]
    asked = ina.post(f"{TILED}/shift", rule, 409, days=-2)
    assert [one["name"] for one in asked["losses"]] == ["ada"]
    assert ina.post(f"{TILED}/shift", rule, days=-2, confirm=asked["confirm"]) == {"changed": True}
    with portal.course.sessions.begin() as session:
        assert session.get_one(Assignment, portal.course.assignment).due_at == NOW - timedelta(days=2)


def test_setting_is_on_the_form_and_counts(portal: Portal) -> None:
    ina, page = client_of(portal, "ina", Role.INSTRUCTOR), "/staff/gpu/assignments/tiled"
    assert 'id="late_days_free"' in ina.page(page)
    with portal.course.sessions.begin() as session:
        setting = setting_of(session.get_one(Assignment, portal.course.assignment))
    typed = typed_values(setting, ZoneInfo("UTC")) | {"points": "10", "late_percent_per_day": "10"}
    refused = ina.post_form(page, **(typed | {"late_days_free": "31"}))
    assert (refused.status_code, 'href="#late_days_free"' in refused.text) == (422, True)
    assert ina.post_form(page, **(typed | {"late_days_free": "1"})).status_code == 303
    with portal.course.sessions.begin() as session:
        changed = session.get_one(Assignment, portal.course.assignment)
        assert [points_for(changed, days, accepted=True) for days in (1, 2)] == [10.0, 9.0]


def test_route_is_described_and_read(portal: Portal, app: Flask) -> None:
    answer = portal.get("ada", "/api/v1/assignments/gpu/tiled/handout")
    fits(described(app), "/api/v1/assignments/{course}/{name}/handout", answer)
    read: Any = answers.read(vars(answers)["Handout"], answer.get_json())
    assert read.starter
    assert read.handout.startswith("# ")
    other = portal.get("ada", "/api/v1/assignments/gpu/none/handout")
    assert (other.status_code, other.get_json()["code"]) == (404, "no_such_assignment")


def test_page_has_its_tab_and_its_picture(portal: Portal) -> None:
    with portal.course.sessions.begin() as session:
        session.add(
            Extension(
                assignment_id=portal.course.assignment,
                person_id=portal.course.person("ada"),
                extra_attempts=2,
                created_at=NOW,
            )
        )
    tom = client_of(portal, "tom", Role.ASSISTANT)
    assert 'href="/staff/gpu/extensions"' in tom.page("/staff/gpu/roster")
    assert "</a>: ada" in tom.page("/staff/gpu/extensions")
    assert "/staff/gpu/extensions" in {each.address for each in PAGES}


def test_verdict_is_kept_and_filtered(portal: Portal, document: dict[str, Any]) -> None:
    verdict = Verdict("not_finite")
    new = handed_in(portal.course, "ada", verdict, source=b"// 1")
    other = handed_in(portal.course, "bob", Verdict.WRONG_ANSWER, source=b"// 2")
    found = client_of(portal, "tom", Role.ASSISTANT).page("/staff/gpu/submissions?verdict=not_finite")
    assert new in found
    assert other not in found
    answer = fits(document, "/api/v1/submissions/{public_id}", portal.get("ada", f"/api/v1/submissions/{new}"))
    assert answer.get_json()["verdict"] == "not_finite"
