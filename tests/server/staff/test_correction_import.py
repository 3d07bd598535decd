"""Corrections from a CSV file, by page, API and command: all lines or none, and the export undoes an import."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import select

from server.courses.models import Correction, Role
from tests.server.commands.admin import done, run, told
from tests.server.course import ACourse
from tests.server.databases import ON_SQLITE
from tests.server.staff.graded import handed_in
from tests.server.staff.test_corrections import confirmed
from tests.server.staff.test_extension_import import changes
from tests.server.staff.test_staff_changes import Staff
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of
from worker.commands.root import Exit

PAGE = "/staff/gpu/assignments/tiled/corrections"
API, RULE = f"/api/v1{PAGE.replace('staff', 'courses')}", "/api/v1/courses/{course}/assignments/{assignment}/{what}"
HEAD = "email,points,excused,held,reason\n"
ADA, BOB = "ada@example.edu,8.5,,,shown in the lab\n", "bob@example.edu,,YES,,was ill\n"


def with_students(course: ACourse) -> ACourse:
    course.change(points=10.0, device_class="", due_at=None, closes_at=None)
    for name in ("ada", "bob"):
        course.person(name)
    return course


def corrected(course: ACourse) -> dict[str, tuple[float | None, bool]]:
    names = {number: name for name, number in course.people.items()}
    return {names[one.person_id]: (one.score, one.excused) for one in course.rows(select(Correction))}


def test_a_page_previews_a_file_and_its_export_undoes_it(portal: Portal) -> None:
    course = with_students(portal.course)
    handed_in(course, "ada")
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    assert f'href="{PAGE}/import"' in ina.page("/staff/gpu/assignments/tiled")
    before = ina.get(f"{PAGE}.csv").text
    for text, way in ((HEAD + ADA + BOB, ["new", "new"]), (before, ["removed", "removed"])):
        preview = ina.post_form(f"{PAGE}/import", text=text)
        assert (preview.status_code, changes(preview)) == (200, way)
        (digest,) = re.findall(r'name="digest" value="(\w+)"', preview.text)
        asked = ina.post_form(f"{PAGE}/apply", digest=digest, text=text)
        assert confirmed(ina, asked).status_code == 303
        assert corrected(course) == ({"ada": (8.5, False), "bob": (None, True)} if text != before else {})
    assert course.actions("grades") == ["grades.exported", *["grades.corrected"] * 4]


def test_a_file_without_a_known_column_takes_nothing_away(portal: Portal) -> None:
    course = with_students(portal.course)
    course.correct("ada", score=3.0)
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    answer = ina.post_form(f"{PAGE}/import", text="email,grade\nada@example.edu,8\n")
    assert (answer.status_code, 'id="text-error"' in answer.text) == (422, True)
    assert (
        "Ignored columns: grade."
        in ina.post_form(f"{PAGE}/import", text="email,grade,points,reason\n" + "ada@example.edu,1,8,x").text
    )


def test_mistakes_are_named_by_line_and_nothing_changes(portal: Portal) -> None:
    course = with_students(portal.course)
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    wrong = HEAD + ADA + "bob@example.edu,3,yes,,x\nbob@example.edu,x\neve@example.edu,1,,,x\nada@example.edu,,maybe\n"
    answer = ina.post_form(f"{PAGE}/import", text=wrong)
    assert (answer.status_code, re.findall(r'data-line="(\d+)"', answer.text)) == (422, ["3", "4", "5", "6"])
    assert corrected(course) == {}


def test_the_api_asks_about_losses_and_points_above_the_maximum(portal: Portal) -> None:
    course = with_students(portal.course)
    handed_in(course, "ada")
    ina = Staff(portal)
    assert ina.post(f"{API}/import", f"{RULE}/import", csv=HEAD + ADA, preview=True)["applied"] is False
    above = ina.post(f"{API}/import", f"{RULE}/import", 409, csv=HEAD + "bob@example.edu,200,,,bonus\n")
    assert above["code"] == "above_maximum"
    lower = ina.post(f"{API}/import", f"{RULE}/import", 409, csv=HEAD + ADA + BOB)
    assert (lower["code"], [one["name"] for one in lower["losses"]], corrected(course)) == (
        "lowers_points",
        ["ada"],
        {},
    )
    made = ina.post(f"{API}/import", f"{RULE}/import", csv=HEAD + ADA + BOB, confirm=lower["confirm"])
    assert (made["applied"], [one["change"] for one in made["changes"]]) == (True, ["new", "new"])
    assert ina.post(f"{API}/import", f"{RULE}/import", csv=HEAD + ADA + BOB)["unchanged"] == 2
    for text, line in ((HEAD + "?\n", 2), ("who\nx\n", 0)):
        refused = ina.post(f"{API}/import", f"{RULE}/import", 422, csv=text)
        assert [one["line"] for one in refused["mistakes"]] == [line]


@ON_SQLITE
def test_a_command_imports_what_another_exports(
    course: ACourse, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    handed_in(with_students(course), "ada")
    verb = ("grade", "correct-many", "gpu/tiled", "-")
    assert run(*verb, stdin=HEAD + ADA).exit_code == Exit.WRONG_USE
    assert told(*verb, "--preview", stdin=HEAD + ADA)["changed"] == {"ada@example.edu": "new"}
    assert corrected(course) == {}
    assert told(*verb, "--yes", stdin=HEAD + ADA)["changed"] == {"ada@example.edu": "new"}
    exported = done("export", "corrections", "gpu/tiled")
    assert told(*verb, stdin=exported)["changed"] == {}
    assert [line.split(",")[1] for line in exported.splitlines()] == ["points", "8.5", ""]
