"""The rules of each act by course staff, once; and that each way to it says a mistake in its own words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy.orm import Session

from server.acts.act import Act, Target, assignment_target
from server.acts.by_form import typed_values
from server.assignments.extensions import EXTENSION
from server.assignments.settings import SETTINGS
from server.courses.local_time import zone_named
from server.courses.models import Assignment, Course, Role
from server.courses.settings import COURSE_SETTINGS
from server.grades.corrections import CORRECTION
from tests.server.course import NOW, ACourse
from tests.server.databases import ON_SQLITE
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient
from worker.commands.root import Exit, tilelab

DAY = timedelta(days=1)
DUE = {"due_at": NOW, "closes_at": NOW + 2 * DAY, "attempts": 3, "device_class": ""}
"""What the assignment is set to."""


@pytest.fixture
def course(course: ACourse) -> ACourse:
    course.change(**DUE)
    course.person("ada")
    return course


def target_of(session: Session, course: ACourse, act: Act[Any]) -> Target:
    if act is COURSE_SETTINGS:
        return Target(session.get_one(Course, course.course))
    return assignment_target(session.get_one(Assignment, course.assignment), course.people["ada"])


GRANT: dict[str, Any] = {"due_at": NOW + DAY, "closes_at": NOW + 9 * DAY, "extra_attempts": 1, "reason": "ill"}
RULES: list[tuple[Act[Any], dict[str, Any], str]] = [
    (CORRECTION, {"score": 8.0, "reason": "x"}, ""), (CORRECTION, {"excused": True, "reason": "x"}, ""),
    (CORRECTION, {"held": True}, ""), (EXTENSION, GRANT, ""), (EXTENSION, {"extra_attempts": 1}, ""),
    (SETTINGS, {}, ""), (COURSE_SETTINGS, {"title": "GPU", "time_zone": "Europe/Vienna"}, ""),
    (CORRECTION, {"score": 8.0}, "reason"), (CORRECTION, {"excused": True}, "reason"),
    (CORRECTION, {"score": -1.0, "reason": "x"}, "score"), (CORRECTION, {"score": 1e300, "reason": "x"}, "score"),
    (CORRECTION, {"score": 8.0, "excused": True, "reason": "x"}, "score"),
    (CORRECTION, {"held": True, "reason": 501 * "x"}, "reason"),
    (EXTENSION, {}, "due_at"), (EXTENSION, GRANT | {"due_at": NOW}, "due_at"),
    (EXTENSION, GRANT | {"due_at": NOW - DAY}, "due_at"), (EXTENSION, GRANT | {"due_at": NOW + 10 * DAY}, "closes_at"),
    (EXTENSION, GRANT | {"closes_at": NOW + 2 * DAY}, "closes_at"),
    (EXTENSION, GRANT | {"extra_attempts": -1}, "extra_attempts"),
    (EXTENSION, GRANT | {"extra_attempts": 10**19}, "extra_attempts"),
    (EXTENSION, GRANT | {"reason": 501 * "x"}, "reason"),
    (SETTINGS, {"title": 201 * "x"}, "title"), (SETTINGS, {"title": "=?utf-8?q?x?="}, "title"),
    (SETTINGS, {"points": -1.0}, "points"), (SETTINGS, {"points": 1e9}, "points"),
    (SETTINGS, {"opens_at": NOW + 9 * DAY}, "due_at"), (SETTINGS, {"closes_at": NOW - DAY}, "closes_at"),
    (SETTINGS, {"opens_at": NOW + 9 * DAY, "due_at": None}, "closes_at"),
    (SETTINGS, {"late_percent_per_day": 101.0}, "late_percent_per_day"),
    (SETTINGS, {"late_percent_most": 101.0}, "late_percent_most"), (SETTINGS, {"goals_percent": -1.0}, "goals_percent"),
    (SETTINGS, {"attempts": 0}, "attempts"), (SETTINGS, {"attempts": 10**19}, "attempts"),
    (SETTINGS, {"min_interval_seconds": -5}, "min_interval_seconds"),
    (SETTINGS, {"checks_per_hour": -1}, "checks_per_hour"),
    (COURSE_SETTINGS, {"title": ""}, "title"), (COURSE_SETTINGS, {"time_zone": "Mars/Base"}, "time_zone"),
    (COURSE_SETTINGS, {"late_days": -1}, "late_days"),
]  # fmt: skip


@ON_SQLITE
def test_each_rule_names_its_field(course: ACourse) -> None:
    with course.sessions.begin() as session:
        for act, given, field in RULES:
            on = target_of(session, course, act)
            found = act.mistakes(session, on, replace(act.values(session, on), **given))
            assert list(found) == [field] * bool(field), (given, found)


def test_nothing_is_left_of_an_extension_without_limits(course: ACourse) -> None:
    course.change(due_at=None, closes_at=None, attempts=None)
    with course.sessions.begin() as session:
        on = target_of(session, course, EXTENSION)
        found = EXTENSION.mistakes(session, on, replace(EXTENSION.values(session, on), **GRANT))
    assert set(found) == {"due_at", "closes_at", "extra_attempts"}


@dataclass(frozen=True)
class Ways:
    """How an act is reached, each with one value outside its limits; ADA is the student's number.

    form: address, and what its form sends besides the present values; json: address and body
    """

    act: Act[Any]
    field: str
    form: tuple[str, dict[str, str]]
    verb: tuple[str, ...]
    json: tuple[str, dict[str, Any]] | None = None


TILED = "gpu/assignments/tiled"
WAYS = [
    Ways(
        CORRECTION, "score", ("gpu/grades/tiled/ADA", {"score": "-1", "reason": "x"}),
        ("grade", "set", "gpu/tiled", "ada@example.edu", "1e9", "--reason", "x"),
        (f"{TILED}/grades/ADA/correction", {"override": -1, "reason": "x"}),
    ),
    Ways(
        EXTENSION, "extra_attempts", (f"{TILED}/extensions", {"person": "ADA", "extra_attempts": "-1"}),
        ("assignment", "extend", "gpu/tiled", "ada@example.edu", "--attempts", "-1"),
        (f"{TILED}/extensions/ADA", {"extra_attempts": -1}),
    ),
    Ways(SETTINGS, "points", (TILED, {"points": "-1"}), ("assignment", "change", "gpu/tiled", "--points", "-1")),
    Ways(
        COURSE_SETTINGS, "late_days", ("gpu/settings", {"late_days": "-1"}),
        ("course", "change", "gpu", "--late-days", "-1"),
    ),
]  # fmt: skip


@ON_SQLITE
@pytest.mark.parametrize("ways", WAYS, ids=lambda ways: ways.verb[0])
def test_each_way_says_a_mistake_by_its_own_name(
    portal: Portal, ina: BrowserClient, database_url: str, monkeypatch: pytest.MonkeyPatch, ways: Ways
) -> None:
    portal.course.change(**DUE)
    ada, field = str(portal.course.person("ada")), ways.act.by_name[ways.field]
    with portal.course.sessions.begin() as session:
        on = target_of(session, portal.course, ways.act)
        before = ways.act.values(session, on)
    path, sent = ways.form
    typed = typed_values(before, zone_named("UTC")) | {name: text.replace("ADA", ada) for name, text in sent.items()}
    answer = ina.post_form(f"/staff/{path.replace('ADA', ada)}", **typed)
    assert (answer.status_code, f'href="#{field.form}"' in answer.text) == (422, True)
    if ways.json is not None:
        path, body = ways.json
        headers = {"Authorization": f"Bearer {portal.token('ina', Role.INSTRUCTOR)}"}
        problem = portal.client.post(f"/api/v1/courses/{path.replace('ADA', ada)}", json=body, headers=headers)
        assert (problem.status_code, f"`{field.json}`" in problem.get_json(force=True)["detail"]) == (422, True)
    monkeypatch.setenv("DATABASE_URL", database_url)
    result = CliRunner().invoke(tilelab, ["admin", *ways.verb])
    assert result.exit_code == Exit.WRONG_USE
    assert field.asked.label in result.stderr
    with portal.course.sessions.begin() as session:
        assert ways.act.values(session, target_of(session, portal.course, ways.act)) == before
    assert portal.course.deeds() == []
