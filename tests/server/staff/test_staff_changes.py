"""What course staff change over the API: by the rules of their pages, and with losses named first."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from kernels.verdict import Verdict
from server.courses.models import Role
from server.exercises.upload import write_zip
from server.grading.models import Job
from server.submissions.models import Submission
from server.talk.comments import write_comment
from server.web.openapi import described
from tests.server.course import NOW
from tests.server.staff.graded import handed_in, judged
from tests.server.staff.proven import FILES, prove
from tests.server.web.conftest import Portal
from tests.server.web.test_openapi import fits

HERE = "/api/v1/courses/gpu"
TILED = f"{HERE}/assignments/tiled"


class Staff:
    """An instructor's token at work; every answer has to fit the API's description."""

    def __init__(self, portal: Portal) -> None:
        self.portal = portal
        self._token = portal.token("ina", Role.INSTRUCTOR)
        self._document = described(portal.app)

    def get(self, path: str, rule: str) -> Any:
        headers = {"Authorization": f"Bearer {self._token}"}
        return fits(self._document, rule, self.portal.client.get(path, headers=headers)).get_json()

    def post(self, path: str, rule: str, status: int = 200, **body: Any) -> Any:
        headers = {"Authorization": f"Bearer {self._token}"}
        answer = self.portal.client.post(path, json=body, headers=headers)
        told = fits(self._document, rule, answer, "post").get_json(force=True)
        assert answer.status_code == status, told
        return told

    def upload(self, path: str, rule: str, content: bytes, status: int = 200) -> Any:
        headers = {"Authorization": f"Bearer {self._token}"}
        answer = self.portal.client.post(path, data=content, headers=headers, content_type="application/zip")
        told = fits(self._document, rule, answer, "post").get_json(force=True)
        assert answer.status_code == status, told
        return told

    def grade(self, name: str, status: int = 200, **body: Any) -> Any:
        rule = "/api/v1/courses/{course}/assignments/{assignment}/grades/{person}/correction"
        path = f"{TILED}/grades/{self.portal.course.person(name)}/correction"
        return self.post(path, rule, status, **body)

    def extend(self, name: str, status: int = 200, way: str = "", **body: Any) -> Any:
        rule = f"/api/v1/courses/{{course}}/assignments/{{assignment}}/extensions/{{person}}{way}"
        return self.post(f"{TILED}/extensions/{self.portal.course.person(name)}{way}", rule, status, **body)


@pytest.fixture
def ina(portal: Portal, due_tomorrow: None) -> Staff:
    return Staff(portal)


def test_a_grade_is_overridden_held_excused_and_computed_again(portal: Portal, ina: Staff):
    handed_in(portal.course, "ada")
    above = ina.grade("ada", 409, override=12, reason="bonus")
    assert (above["code"], [(one["was"], one["now"]) for one in above["losses"]]) == ("above_maximum", [(10.0, 12.0)])
    told = ina.grade("ada", override=12, reason="bonus", confirm=above["confirm"])
    assert (told["points"], told["computed"], told["override"]) == (12.0, 10.0, 12.0)
    assert ina.grade("ada", held=True)["override"] == 12.0
    lower = ina.grade("ada", 409, override=None)
    assert (lower["code"], [(one["name"], one["was"], one["now"]) for one in lower["losses"]]) == (
        "lowers_points", [("ada", 12.0, 10.0)],
    )  # fmt: skip
    assert ina.grade("ada", 409, override=4, confirm=lower["confirm"])["losses"][0]["now"] == 4.0
    told = ina.grade("ada", override=None, confirm=lower["confirm"])
    assert (told["points"], told["held"], told["reason"]) == (10.0, True, "bonus")
    excuse = ina.grade("ada", 409, excused=True)
    assert ina.grade("ada", excused=True, held=False, confirm=excuse["confirm"])["points"] is None
    lower = ina.grade("ada", 409, excused=False)
    assert lower["losses"][0]["was"] is None
    back = ina.grade("ada", excused=False, confirm=lower["confirm"])
    assert (back["points"], back["excused"], back["reason"]) == (10.0, False, "")
    page = "/api/v1/courses/{course}/assignments/{assignment}/grades/{person}"
    assert ina.get(f"{TILED}/grades/{portal.course.person('ada')}", page) == back
    assert portal.course.actions() == ["grades.corrected"] * 5


def test_a_wrong_correction_is_refused_by_its_field(ina: Staff):
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"override": "8", "reason": "x"}, "override"),
        ({"excused": True, "reason": " \ud800 "}, "reason"),
        ({"held": None}, "held"),
        ({"confirm": "confirmed"}, "confirm"),
        ({"score": 3}, "score"),
    ]
    for body, field in wrong:
        assert f"`{field}`" in ina.grade("ada", 422, **body)["detail"], body


def test_only_students_of_the_course_have_grades(portal: Portal, ina: Staff):
    assert ina.grade("ina", 404, held=True)["code"] == "no_such_person"
    portal.course.person("eve", None)
    assert ina.grade("eve", 404, held=True)["code"] == "no_such_person"


def test_an_extension_is_granted_and_withdrawn_with_its_losses(portal: Portal, ina: Staff):
    handed_in(portal.course, "ada", now=NOW + timedelta(days=1, hours=1))
    due = (NOW + timedelta(days=3)).isoformat()
    portal.course.change(late_percent_per_day=20.0)
    assert ina.grade("ada")["points"] == 8.0
    told = ina.extend("ada", due_at=due, reason="was ill")
    assert (told["due_at"], told["closes_at"], told["name"]) == (due, None, "ada")
    rule = "/api/v1/courses/{course}/assignments/{assignment}/extensions"
    assert ina.get(f"{TILED}/extensions", rule) == {"extensions": [told]}
    assert ina.grade("ada")["points"] == 10.0
    lower = ina.extend("ada", 409, way="/withdraw")
    assert (lower["losses"][0]["was"], lower["losses"][0]["now"]) == (10.0, 8.0)
    assert ina.extend("ada", way="/withdraw", confirm=lower["confirm"]) == {"changed": True}
    assert ina.extend("ada", way="/withdraw") == {"changed": False}
    wrong: tuple[tuple[str, Any], ...] = (
        ("due_at", "2027-01-31"), ("due_at", "9999-12-31T23:59:59Z"), ("extra_attempts", 1.5),
    )  # fmt: skip
    for field, value in wrong:
        assert f"`{field}`" in ina.extend("ada", 422, **{field: value})["detail"], value
    assert portal.course.actions() == ["extension.granted", "extension.withdrawn"]


def test_rights_come_before_the_body(portal: Portal, ina: Staff):
    portal.token("tom", Role.ASSISTANT)
    place = f"{TILED}/grades/{portal.course.person('ada')}/correction"
    for name, code in (("tom", "not_instructor"), ("ada", "not_staff")):
        answer = portal.client.post(place, data="no JSON", headers={"Authorization": f"Bearer {portal.token(name)}"})
        assert (answer.status_code, answer.get_json(force=True)["code"]) == (403, code)


def test_a_regrade_at_once_names_its_worst_case(portal: Portal, ina: Staff):
    rule = "/api/v1/courses/{course}/regrades"
    mine = handed_in(portal.course, "ada")
    lower = ina.post(f"{HERE}/regrades", rule, 409, assignment="tiled")
    [loss] = lower["losses"]
    assert (loss["name"], loss["assignment"], loss["was"], loss["now"]) == ("ada", "tiled", 10.0, 0.0)
    made = ina.post(f"{HERE}/regrades", rule, 202, submission=mine, confirm=lower["confirm"])
    assert (made["jobs"], len(made["regrades"]), made["staged"]) == (1, 1, [])
    number = made["regrades"][0]
    one = f"{rule}/{{number}}"
    assert ina.get(f"{HERE}/regrades/{number}", one)["regrade"]["waiting"] == 1
    assert ina.post(f"{HERE}/regrades", rule, 202)["waiting"] == 1
    theirs = portal.course.person("bob")
    assert ina.post(f"{HERE}/regrades", rule, 202, person=theirs)["waiting"] == 0
    assert ina.post(f"{HERE}/regrades/{number}/cancel", f"{one}/cancel")["cancelled"] == 1
    assert [line["id"] for line in ina.get(f"{HERE}/regrades", rule)["regrades"]] == [number]
    for field, value in (("late", "no "), ("verdict", "good"), ("since", "now"), ("device", "ZZ"), ("person", 0)):
        assert f"`{field}`" in ina.post(f"{HERE}/regrades", rule, 422, **{field: value})["detail"]
    for field in ("assignment", "submission"):
        ina.post(f"{HERE}/regrades", rule, 404, **{field: "none"})


def test_a_staged_regrade_is_shown_applied_and_dropped(portal: Portal, ina: Staff):
    handed_in(portal.course, "ada")
    rule, path = "/api/v1/courses/{course}/assignments/{assignment}/staged-regrade", f"{TILED}/staged-regrade"
    stage: dict[str, Any] = {"path": f"{HERE}/regrades", "rule": "/api/v1/courses/{course}/regrades"}
    assert ina.post(**stage, status=202, stage=True)["staged"] == ["tiled"]
    assert ina.get(path, rule)["preview"] is None
    assert ina.post(f"{path}/apply", f"{rule}/apply", 409)["code"] == "not_possible"
    job = portal.course.row(select(Job.id).where(Job.regrade_id.is_not(None)))
    judged(portal.course, job, Verdict.DATA_RACE)
    shown = ina.get(path, rule)["preview"]
    assert [(one["was"], one["now"]) for one in shown["grades"]] == [(10.0, 0.0)]
    lower = ina.post(f"{path}/apply", f"{rule}/apply", 409, confirm="0" * 64)
    assert (lower["confirm"], lower["losses"][0]["now"]) == (shown["confirm"], 0.0)
    assert ina.post(f"{path}/apply", f"{rule}/apply", confirm=shown["confirm"]) == {"jobs": 1}
    assert ina.grade("ada")["points"] == 0.0
    ina.post(**stage, status=202, stage=True)
    assert ina.post(f"{path}/drop", f"{rule}/drop") == {"changed": True}
    assert ina.post(f"{path}/drop", f"{rule}/drop", 409)["code"] == "not_possible"


def test_an_announcement_is_published_changed_and_withdrawn(portal: Portal, ina: Staff):
    rule, path = "/api/v1/courses/{course}/announcements", f"{HERE}/announcements"
    one = ina.post(path, rule, 201, title="Exam", text="On *Friday*.", assignment="tiled")
    assert (one["assignment"], one["author"], one["withdrawn_at"]) == ("tiled", "ina", None)
    mine = f"{path}/{one['id']}"
    changed = ina.post(mine, f"{rule}/{{number}}", text="On Monday.", again=True)
    assert (changed["title"], changed["changed_at"] is not None) == ("Exam", True)
    assert ina.post(f"{mine}/withdraw", f"{rule}/{{number}}/withdraw")["withdrawn_at"] is not None
    assert ina.post(f"{mine}/publish", f"{rule}/{{number}}/publish") == changed
    second = ina.post(path, rule, 201, title="Later", text="x")
    part = ina.get(f"{path}?limit=1", rule)
    assert [line["announcement"] for line in part["announcements"]] == [second]
    assert [line["announcement"] for line in ina.get(part["next"], rule)["announcements"]] == [changed]
    wrong: tuple[tuple[str, dict[str, Any]], ...] = (
        ("title", {"text": "x"}), ("title", {"title": " ", "text": "x"}), ("text", {"title": "x", "text": ""}),
        ("title", {"title": 201 * "x", "text": "x"}), ("text", {"title": "x", "text": 8001 * "x"}),
        ("assignment", {"title": "x", "text": "x", "assignment": "none"}),
    )  # fmt: skip
    for field, body in wrong:
        assert f"`{field}`" in ina.post(path, rule, 422, **body)["detail"], field
    ina.post(f"{path}/4711/withdraw", f"{rule}/{{number}}/withdraw", 404)
    number = portal.course.hand_in("ada").submission.id
    with portal.course.sessions.begin() as session:
        question = write_comment(session, session.get_one(Submission, number), None, "Why?").id
    asked: dict[str, Any] = {"title": "Races", "text": "Ask Ada.", "answers": question}
    names = ina.post(path, rule, 409, **asked)
    assert names["code"] == "names_student"
    assert ina.post(path, rule, 201, **asked, confirm=names["confirm"])["text"] == "Ask Ada."


def test_an_exercise_is_uploaded_checked_published_and_exported(portal: Portal, ina: Staff):
    rule, path = "/api/v1/courses/{course}/exercises", f"{HERE}/exercises/row-sums"
    one = f"{rule}/{{name}}"
    files = write_zip("row-sums", FILES)
    made = ina.upload(path, one, files)
    assert (made["changed"], made["published"], made["left_out"]) == (True, None, [])
    assert not ina.upload(path, one, files)["changed"]
    draft = ina.get(path, one)["draft"]
    assert (draft["version"], draft["complete"], draft["kernels"][0]["state"]) == (made["version"], False, None)
    assert ina.post(f"{path}/publish", f"{one}/publish", 409, version=draft["version"])["code"] == "not_possible"
    ina.post(f"{path}/check", f"{one}/check", 202)
    prove(portal.course)
    assert ina.get(path, one)["draft"]["complete"]
    assert ina.post(f"{path}/publish", f"{one}/publish", 409, version="0")["code"] == "not_possible"
    assert ina.post(f"{path}/publish", f"{one}/publish", version=draft["version"]) == {"number": 1}
    [line] = ina.get(f"{HERE}/exercises", rule)["exercises"]
    assert (line["name"], line["draft"], line["versions"]) == ("row-sums", False, [1])
    exported = portal.get("ina", f"{path}/files.zip?version=1")
    assert (exported.mimetype, exported.data) == ("application/zip", files)
    assert portal.get("ina", f"{path}/files.zip").status_code == 404
    ina.upload(path, one, write_zip("row-sums", FILES | {"handout.md": b"# Other\n"}))
    assert ina.post(f"{path}/discard", f"{one}/discard") == {"changed": True}
    assert ina.post(f"{path}/discard", f"{one}/discard", 409)["code"] == "not_possible"


def test_a_file_that_is_no_exercise_is_refused(portal: Portal, ina: Staff):
    path, rule = f"{HERE}/exercises/row-sums", "/api/v1/courses/{course}/exercises/{name}"
    outside = write_zip("..", FILES)
    for content in (b"", b"PK", outside, write_zip("row-sums", {"exercise.toml": b"["})):
        assert "`file`" in ina.upload(path, rule, content, 422)["detail"]
    assert ina.upload(f"{HERE}/exercises/a--b", rule, write_zip("x", FILES), 422)["code"] == "invalid"
    assert "1 MiB" in ina.upload(path, rule, bytes(2**20 + 1), 413)["detail"]
    assert ina.post(path, rule, 415)["code"] == "wrong_media_type"
    assert ina.get(f"{HERE}/exercises", "/api/v1/courses/{course}/exercises") == {"exercises": []}
