"""Practice: added by course staff in one act, seen by students, in no gradebook."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from kernels.exercise.catalogue import catalogue_entries
from server.acts.act import Mistakes, Target
from server.assignments.practice import PRACTICE, Practice
from server.courses.models import Assignment, Course, Role
from server.courses.service import find_assignment
from server.grades.gradebook import gradebook
from tests.server.course import NOW, ACourse
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

PAGE = "/staff/gpu/practice"


def add(course: ACourse, exercises: str) -> list[str]:
    with course.sessions.begin() as session:
        on = Target(session.get_one(Course, course.course))
        return [one.slug for one in PRACTICE.carry_out(session, on, None, lambda _: Practice(exercises=exercises))]


def columns(course: ACourse) -> list[str]:
    with course.sessions.begin() as session:
        return [one.slug for one in gradebook(session, course.course).assignments]


def test_chosen_exercises_become_practice_of_students(portal: Portal, due_tomorrow: None, ina: BrowserClient) -> None:
    answer = ina.post_form(PAGE, exercises=["stencil", "histogram"])
    assert answer.location.endswith("/staff/gpu/assignments?notice=practice-added")
    page = client_of(portal, "ada", Role.STUDENT).page("/courses/gpu/")
    assert page.index('data-practice="stencil"') < page.index('data-practice="histogram"')
    assert ina.post_form(PAGE, exercises="stencil").status_code == 422
    assert ina.post_form(PAGE).status_code == 422
    assert columns(portal.course) == ["tiled"]


def test_all_are_those_that_the_course_does_not_use(course: ACourse) -> None:
    assert add(course, "all") == [name for name in catalogue_entries() if name != "tiled"]
    assert all(one.practice for one in course.rows(select(Assignment).where(Assignment.slug != "tiled")))
    for refused in ("all", "naive", "none-of-them", ""):
        with pytest.raises(Mistakes) as raised:
            add(course, refused)
        assert raised.value.fields == ("exercises",)


def test_practice_with_points_by_staff_or_a_due_time_stays_in_the_gradebook(course: ACourse) -> None:
    course.change(points=0.0, due_at=None)
    assert columns(course) == ["tiled"]  # measured, such as a competition
    course.change(device_class="")
    assert columns(course) == []
    course.correct("ada", score=2.0)
    assert columns(course) == ["tiled"]
    add(course, "naive")
    with course.sessions.begin() as session:
        found = find_assignment(session, "gpu/naive")
        assert found is not None
        found.due_at = NOW
    assert columns(course) == ["naive", "tiled"]
