"""`tilelab admin`: a course's beginning and end."""

from __future__ import annotations

from sqlalchemy import select

from server.courses.models import Assignment, Course
from server.database.engine import Sessions
from tests.server.commands.test_admin_desk import deeds, refused, told
from tests.server.commands.test_admin_staff import course, made, run
from tests.server.course import ACourse

__all__ = ["course", "made"]


def test_what_nothing_was_submitted_to_is_deleted(course: ACourse, made: Sessions) -> None:
    assert run("assignment", "delete", "gpu/tiled", "--json").exit_code != 0
    assert told("assignment", "delete", "gpu/tiled", "--yes") == {"deleted": "gpu/tiled", "extensions": 0}
    assert "no assignment" in refused("assignment", "delete", "gpu/tiled", "--yes")
    assert told("course", "delete", "gpu", "--yes")["members"] == 0
    assert deeds(made) == ["assignment.deleted", "course.deleted"]
    with made.begin() as session:
        assert session.scalars(select(Course.id)).all() == session.scalars(select(Assignment.id)).all() == []


def test_submissions_keep_course_and_assignment(course: ACourse) -> None:
    course.hand_in("ada")
    assert "1 submission" in refused("assignment", "delete", "gpu/tiled", "--yes")
    assert "Archive it" in refused("course", "delete", "gpu", "--yes")
