"""The page that copies a course to the next term."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from flask import Response, render_template
from sqlalchemy.orm import Session

from server.accounts.access import course_creator
from server.courses.access import Membership, instructor_of
from server.courses.models import Course
from server.courses.service import CourseError
from server.http.forms import Form, filled, sent
from server.http.site import site
from server.staff.courses.course_copy import copy_course, days_until, first_day
from server.staff.desk import Desk, acting, back, desk_of, staff, the_course


@dataclass(frozen=True, slots=True)
class CopyPage:
    """The form for a copy. first: the first day with a date in the course; None for none."""

    desk: Desk
    form: Form
    first: date | None


@staff.get("/copy")
def new_copy(slug: str) -> str:
    """Show the form for a copy of the course."""
    course = _allowed(slug)
    return _page(course, filled({"title": course.title}))


@staff.post("/copy")
def make_copy(slug: str) -> Response | tuple[str, int]:
    """Copy the course. The reader becomes the copy's instructor."""
    course = _allowed(slug)
    form = sent("slug", "title", "starts", "days")
    try:
        with site().sessions.begin() as session:
            source, actor = the_course(session, course), acting(session)
            days = _days(session, source, form)
            if form.right:
                made = copy_course(session, source, actor, form["slug"], form["title"], days=days, instructor=actor)
                return back("staff.show_assignments", made.slug, "course-copied")
    except CourseError as error:
        form.mistake(next(iter(error.fields), "slug"), str(error))
    return _page(course, form), 422


def _allowed(slug: str) -> Membership:
    course = instructor_of(slug)
    course_creator()
    return course


def _days(session: Session, source: Course, form: Form) -> int:
    """By how many days all dates move; adds mistakes to the form."""
    if form["days"] and form["starts"]:
        form.mistake("days", "Enter a first day or a number of days, not both.")
    elif form["starts"]:
        try:
            return days_until(session, source, date.fromisoformat(form["starts"]))
        except ValueError as error:
            text = str(error) if isinstance(error, CourseError) else "Write the day like 2027-01-18."
            form.mistake("starts", text)
    return form.whole("days")


def _page(course: Membership, form: Form) -> str:
    with site().readers.begin() as session:
        first = first_day(session, the_course(session, course))
    return render_template("staff/copy_course.html", page=CopyPage(desk_of(course, "overview"), form, first))
