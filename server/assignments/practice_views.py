"""The staff page on which instructors add exercises as practice."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from flask import Response, render_template
from sqlalchemy.orm import Session

from kernels.exercise.catalogue import Level, catalogue
from server.acts.act import Target
from server.acts.by_form import change_by_form
from server.assignments.practice import ALL, PRACTICE, used_exercises
from server.courses.access import Membership, instructor_of
from server.courses.staff_pages import Desk, back, desk_of, staff, the_course
from server.http.forms import Form, filled
from server.http.site import site


@dataclass(frozen=True, slots=True)
class PracticePage:
    """The exercises that come with Tilelab. used: those that the course has already."""

    desk: Desk
    levels: Sequence[Level]
    used: Collection[str]
    form: Form

    @property
    def left(self) -> int:
        return sum(entry.exercise.name not in self.used for level in self.levels for entry in level.entries)


@staff.get("/practice")
def show_practice(slug: str) -> str:
    """Show the exercises to choose from."""
    course = instructor_of(slug)
    with site().readers.begin() as session:
        return _page(session, course, Target(the_course(session, course)), filled({}))


@staff.post("/practice")
def add_practice(slug: str) -> Response | tuple[str, int]:
    """Add the chosen exercises as practice."""
    done = partial(back, "staff.show_assignments", slug, "practice-added")
    return change_by_form(
        PRACTICE, slug, lambda session, course, _: Target(the_course(session, course)), done, _page
    )  # fmt: skip


def _page(session: Session, course: Membership, on: Target, form: Form) -> str:
    page = PracticePage(desk_of(course, "assignment"), catalogue(), used_exercises(session, on.course.id), form)
    return render_template("assignments/practice.html", page=page, every=ALL)
