"""What course staff read over the API: the same as on their pages, part by part."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from kernels.verdict import Verdict
from server.audit.models import AuditEvent
from server.courses.models import Role
from server.submissions.models import Mode
from tests.server.course import NOW
from tests.server.staff.graded import handed_in
from tests.server.web.conftest import Portal

HERE = "/api/v1/courses/gpu"


@pytest.fixture
def there(portal: Portal) -> Portal:
    """A course with an instructor and three students; ada and bob have submitted."""
    for name in ("ada", "bob", "cyd"):
        portal.course.person(name)
    portal.token("ina", Role.INSTRUCTOR)
    portal.course.change(device_class="", due_at=NOW + timedelta(days=9))
    return portal


def read(portal: Portal, path: str, name: str = "ina") -> Any:
    answer = portal.get(name, path if path.startswith("/api/") else f"{HERE}/{path}")
    assert answer.status_code == 200, answer.get_json()
    return answer.get_json()


def names_of(portal: Portal, path: str, key: str) -> list[list[str]]:
    """The names on each part, following `next`."""
    parts, following = [], path
    while following:
        told = read(portal, following)
        parts.append([one["name"] for one in told[key]])
        following = told["next"]
    return parts


def test_a_roster_comes_in_parts_and_by_its_filter(there: Portal):
    assert names_of(there, "roster?limit=3", "members") == [["ina", "ada", "bob"], ["cyd"]]
    assert names_of(there, "roster?role=student&text=B", "members") == [["bob"]]
    assert read(there, "roster?limit=1&role=student")["total"] == 3
    assert read(there, "roster?state=dropped") == {"members": [], "total": 0, "next": None}
    bob = there.course.person("bob")
    assert names_of(there, f"roster?text=cyd&after={bob}", "members") == [["cyd"]]
    assert there.get("ina", f"{HERE}/roster?after=999999").status_code == 404


def test_grades_have_points_and_corrections(there: Portal):
    counted = handed_in(there.course, "ada")
    there.course.correct("bob", excused=True)
    told = read(there, "grades?limit=2")
    ada, bob = told["students"]
    assert (ada["name"], ada["total"], ada["grades"][0]["submission"]) == ("ada", told["points"]["tiled"], counted)
    assert (bob["total"], bob["most"], bob["grades"][0]["excused"]) == (0, 0, True)
    assert names_of(there, "grades?limit=2", "students") == [["ada", "bob"], ["cyd"]]


def test_progress_has_counts_of_all_and_students_of_a_part(there: Portal):
    handed_in(there.course, "ada")
    last = handed_in(there.course, "bob", Verdict.DATA_RACE)
    told = read(there, "assignments/tiled/progress?part=failing")
    assert told["counts"] == {"accepted": 1, "late": 0, "failing": 1, "checking": 0, "not_started": 1, "excused": 0}
    [bob] = told["students"]
    assert (bob["name"], bob["attempts"], bob["last_submission"], bob["last_verdict"]) == (
        "bob", 1, last, "data_race",
    )  # fmt: skip
    assert there.get("ina", f"{HERE}/assignments/none/progress").status_code == 404


def test_submissions_are_filtered_and_come_in_pages(there: Portal):
    first = handed_in(there.course, "ada")
    second = handed_in(there.course, "bob", Verdict.DATA_RACE, now=NOW + timedelta(hours=1), source=b"// 2")
    third = handed_in(there.course, "ada", now=NOW + timedelta(hours=2), mode=Mode.CHECK, source=b"// 3")
    assert ids(there, "submissions?limit=2") == [[third, second], [first]]
    assert ids(there, "submissions?verdict=data_race") == [[second]]
    assert ids(there, "submissions?mode=check&student=ada") == [[third]]
    assert ids(there, f"submissions?person={there.course.person('bob')}&late=no") == [[second]]
    later = (NOW + timedelta(minutes=90)).isoformat().replace("+00:00", "Z")
    assert ids(there, f"submissions?since={later}&limit=1&assignment=tiled") == [[third]]
    ada = there.course.person("ada")
    assert ids(there, f"students/{ada}/submissions?limit=1") == [[third], [first]]
    assert read(there, f"students/{ada}")["work"][0]["grade"]["attempts"] == 2


def ids(portal: Portal, path: str) -> list[list[str]]:
    parts, following = [], path
    while following:
        told = read(portal, following)
        parts.append([one["id"] for one in told["submissions"]])
        following = told["next"]
    return parts


def test_a_filter_that_matches_nothing_known_is_refused(there: Portal):
    refused = (
        "verdict=good", "state=over", "mode=rank,check", "late=perhaps", "since=2027-01-31", "until=now",
        "since=0001-01-01T00:00:00%2B14:00", "worker=%00", "device=%C3%A4", "limit=101", "student=" + 201 * "x",
    )  # fmt: skip
    for query in refused:
        assert there.get("ina", f"{HERE}/submissions?{query}").status_code == 422, query
    assert there.get("ina", f"{HERE}/submissions?before=none").status_code == 404


def test_an_export_is_in_the_audit_log(there: Portal):
    read(there, "roster?limit=2")
    read(there, "grades")
    read(there, "submissions")
    found = [(one.action, one.detail) for one in there.course.rows(select(AuditEvent).order_by(AuditEvent.id))]
    assert found == [("roster.exported", {"people": 2}), ("grades.exported", {"students": 3})]
