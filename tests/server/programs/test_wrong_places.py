"""Commands that were given no assignment, another portal's token, or a portal that is away."""

from __future__ import annotations

import pytest

from server.courses.models import Assignment
from tests.server.course import later
from tests.server.programs.serving import Server, Student

pytestmark = pytest.mark.long("the short suite has one of each command")


def test_several_open_assignments_have_to_be_told_apart(server: Server, ada: Student, kernel: str):
    with server.course.sessions.begin() as session:
        first = session.get_one(Assignment, server.course.assignment)
        session.add(
            Assignment(
                course_id=first.course_id, exercise_id=first.exercise_id, slug="again", title="Again",
                device_class="", arch="sm_90", created_at=later(0),
            )
        )  # fmt: skip
    line = ada.tilelab("submit", kernel).line
    assert "gpu/tiled" in line
    assert "gpu/again" in line
    assert ada.tilelab("submit", kernel, "--assignment", "again").code == 0


def test_a_kept_token_goes_to_its_own_portal_only(server: Server, ada: Student):
    ada.told = {"TILELAB_URL": "https://elsewhere.example"}
    done = ada.tilelab("status")
    assert done.code == 2
    assert f"the stored token is for {server.url}" in done.line
    ada.told = {"TILELAB_TOKEN": "tl_other"}
    unknown = ada.tilelab("status")
    assert (unknown.code, server.url in unknown.line) == (2, True)
    ada.told = {"TILELAB_CONFIG": str(ada.home / "other.toml")}
    assert "tilelab login URL" in ada.tilelab("status").line


def test_a_portal_that_is_away_is_a_fault_of_the_system(server: Server, ada: Student):
    server.stop()
    done = ada.tilelab("status")
    assert done.code == 3
    assert f"cannot reach {server.url} (Connection refused)" in done.line
