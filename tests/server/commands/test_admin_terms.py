"""`tilelab admin`: a course's beginning and end."""

from __future__ import annotations

from sqlalchemy import select

from server.courses.models import Assignment, Course
from server.database.engine import Sessions
from tests.server.commands.admin import done, refused, run, told
from tests.server.course import ACourse


def test_what_nothing_was_submitted_to_is_deleted(course: ACourse, made: Sessions) -> None:
    assert run("assignment", "delete", "gpu/tiled", "--json").exit_code != 0
    assert told("assignment", "delete", "gpu/tiled", "--yes") == {"deleted": "gpu/tiled", "extensions": 0}
    assert "no assignment" in refused("assignment", "delete", "gpu/tiled", "--yes")
    assert told("course", "delete", "gpu", "--yes")["members"] == 0
    assert course.actions() == ["assignment.deleted", "course.deleted"]
    with made.begin() as session:
        assert session.scalars(select(Course.id)).all() == session.scalars(select(Assignment.id)).all() == []


def test_submissions_keep_course_and_assignment(course: ACourse) -> None:
    course.hand_in("ada")
    assert "1 submission" in refused("assignment", "delete", "gpu/tiled", "--yes")
    assert "Archive it" in refused("course", "delete", "gpu", "--yes")


def test_a_course_is_copied(course: ACourse) -> None:
    course.hand_in("ada")
    done("assignment", "change", "gpu/tiled", "--due", "2026-05-04T23:59")
    copied = told("course", "copy", "gpu", "gpu-2", "--starts", "2027-05-03", "--instructor", "ada@example.edu")
    assert copied["days"] == 364
    assert "2027-05-03T23:59" in str(copied["assignments"])
    assert str(copied["members"]).count("instructor") == 1
    assert "gpu-3: GPU" in done("course", "copy", "gpu", "gpu-3")
    assert "--starts" in refused("course", "copy", "gpu", "x", "--days", "1", "--starts", "2027-05-03")
    assert "already exists" in refused("course", "copy", "gpu", "gpu-2")


def test_who_may_create_courses(course: ACourse) -> None:
    course.person("ada")
    assert told("user", "course-creator", "ada@example.edu")["creates_courses"] is True
    assert "(creates courses)" in done("user", "list")
    assert told("user", "course-creator", "ada@example.edu", "--end")["creates_courses"] is False
    assert course.actions()[-2:] == ["course.creator_added", "course.creator_removed"]
