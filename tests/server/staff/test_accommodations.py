"""More time for a student in every assignment: by page, API and command, and wherever a deadline is."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from server.accounts.models import MailKind
from server.courses.attention import attention
from server.courses.models import Accommodation, Assignment, Course, Role
from server.courses.service import Terms, create_assignment
from server.mail.occasions import occasions
from server.submissions.counted_submission import due_for
from tests.server.commands.admin import told
from tests.server.course import NOW, ACourse
from tests.server.databases import ON_SQLITE
from tests.server.staff.graded import handed_in
from tests.server.staff.test_corrections import confirmed, grade_of
from tests.server.staff.test_grades import DAY
from tests.server.staff.test_staff_changes import HERE, Staff
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of

RULE = "/api/v1/courses/{course}/students/{person}"


def test_it_holds_in_every_assignment_and_wherever_a_deadline_is(portal: Portal) -> None:
    course = portal.course
    course.change(points=10.0, opens_at=NOW - 10 * DAY, due_at=NOW, late_percent_per_day=10.0, device_class="")
    late = handed_in(course, "ada", now=NOW + 4 * DAY)
    ada, api = course.people["ada"], Staff(portal)
    given = api.post(f"{HERE}/students/{ada}/more-time", f"{RULE}/more-time", extra_percent=50, reason="was ill")
    assert given == {"extra_days": 0, "extra_percent": 50, "reason": "was ill"}
    assert (grade_of(portal, "ada").points, grade_of(portal, "ada").extended) == (10.0, True)
    with course.sessions.begin() as session:
        later = create_assignment(session, session.get_one(Course, course.course), "naive", Terms(slug="later"))
        later.opens_at, later.due_at = NOW, NOW + 2 * DAY
    shown = api.get(f"{HERE}/students/{ada}", RULE)
    due = {work["grade"]["assignment"]: work["due_at"] for work in shown["work"]}
    assert due == {"tiled": (NOW + 5 * DAY).isoformat(), "later": (NOW + 3 * DAY).isoformat()}
    assert ["ada@" in portal.get("ina", f"{HERE}/submissions?late={way}").text for way in ("yes", "no")] == [
        False,
        True,
    ]
    student = client_of(portal, "ada")
    assert (NOW + 5 * DAY).isoformat() in student.page("/courses/gpu/tiled/")
    assert "was ill" not in student.page("/courses/gpu/tiled/")
    assert "late" not in portal.get("ada", f"/api/v1/submissions/{late}").text.partition('"why"')[2]
    (entry,) = course.deeds("extension.for_all")
    assert entry.detail == {"person": ada, "extra_percent": [0, 50]}


def test_less_time_asks_about_all_assignments_first(portal: Portal) -> None:
    course = portal.course
    course.change(points=10.0, opens_at=NOW - 10 * DAY, due_at=NOW, late_percent_per_day=10.0, device_class="")
    handed_in(course, "ada", now=NOW + 4 * DAY)
    page = f"/staff/gpu/students/{course.people['ada']}"
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    assert ina.post_form(f"{page}/more-time", extra_days="4", reason="x").status_code == 303
    assert "4 more days" in ina.page(page)
    assert ina.post_form(f"{page}/more-time", extra_days="-1").status_code == 422
    asked = ina.post_form(f"{page}/more-time", extra_days="0")
    assert grade_of(portal, "ada").points == 10.0
    assert confirmed(ina, asked).status_code == 303
    assert (grade_of(portal, "ada").points, course.rows(select(Accommodation))) == (6.0, [])


@ON_SQLITE
def test_a_command_grants_it(course: ACourse, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    course.person("ada")
    given = told("roster", "more-time", "gpu", "ada@example.edu", "--days", "2", "--percent", "25")
    assert (given["changed"], given["extra_days"], given["extra_percent"]) == (True, 2, 25)
    assert course.row(select(Accommodation)).extra_percent == 25


def test_who_has_more_time_is_not_missing_and_is_reminded_later(portal: Portal) -> None:
    course = portal.course
    course.change(opens_at=NOW - 10 * DAY, due_at=NOW - DAY / 2, device_class="", listed=True)
    for name in ("ada", "bob"):
        client_of(portal, name)
    ada = course.people["ada"]
    with course.sessions.begin() as session:
        session.add(Accommodation(course_id=course.course, person_id=ada, extra_days=1, granted_at=NOW))
        # The last one doesn't decide for all: this adds two hours.
        eve = course.person("eve")
        session.add(Accommodation(course_id=course.course, person_id=eve, extra_percent=1, granted_at=NOW))
        session.flush()
        (deadline,) = attention(session, course.course, NOW).deadlines
        assert [name for _, name in deadline.names] == ["bob", "eve"]
        assert [(one.person.id, one.at) for one in occasions(session, NOW) if one.kind is MailKind.DEADLINES] == [
            (ada, NOW - DAY / 2)
        ]


def test_a_day_more_keeps_the_time_of_day_when_clocks_change(portal: Portal) -> None:
    vienna = ZoneInfo("Europe/Vienna")
    portal.course.change_course(time_zone=vienna.key)
    with portal.course.sessions.begin() as session:
        assignment = session.get_one(Assignment, portal.course.assignment)
        for month, day in ((3, 27), (10, 23)):  # before both changes of 2026
            assignment.due_at = datetime(2026, month, day, 23, 59, tzinfo=vienna)
            due = due_for(assignment, None, Accommodation(extra_days=3, extra_percent=0)).due_at
            assert due is not None
            assert due.astimezone(vienna).isoformat()[5:16] == f"{month:02}-{day + 3}T23:59"
