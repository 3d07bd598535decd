"""The page that creates a course. Operators also decide there who else may."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, Response, render_template

from server.accounts.access import admin, course_creator, nothing_here
from server.accounts.models import Person
from server.accounts.service import find_person
from server.courses.service import CourseError
from server.http.forms import Form, filled, sent
from server.http.site import site
from server.staff.course_settings import zones
from server.staff.courses.creation import allow, creators, disallow, found_course
from server.staff.desk import acting, back

new_courses = Blueprint("new_courses", __name__, url_prefix="/new-course")


@dataclass(frozen=True, slots=True)
class Creator:
    """A person who may create courses."""

    person_id: int
    name: str
    email: str


@dataclass(frozen=True, slots=True)
class NewCoursePage:
    """The form for a new course. creators: only for operators; None for other people."""

    form: Form
    zones: list[tuple[str, str]]
    people_form: Form
    creators: list[Creator] | None


@new_courses.get("")
def new_course() -> str:
    """Show the form for a new course."""
    return _page(filled({"zone": course_creator().time_zone or "UTC"}))


@new_courses.post("")
def create() -> Response | tuple[str, int]:
    """Create a course. The reader becomes its instructor."""
    course_creator()
    form = sent("slug", "title", "zone")
    try:
        with site().sessions.begin() as session:
            made = found_course(session, acting(session), form["slug"], form["title"], form["zone"]).slug
    except CourseError as error:
        form.mistake(next(iter(error.fields), "slug"), str(error))
        return _page(form), 422
    return back("staff.overview", made, "course-created")


@new_courses.post("/people")
def add_creator() -> Response | tuple[str, int]:
    """Let a person create courses."""
    admin()
    form = sent("email")
    with site().sessions.begin() as session:
        person = find_person(session, form["email"])
        if person is None:
            form.mistake("email", "No account has this email.")
        else:
            try:
                allow(session, person, acting(session))
            except CourseError as error:
                form.mistake("email", str(error))
    return _changed("creator-added") if form.right else (_page(filled({"zone": "UTC"}), form), 422)


@new_courses.post("/people/<int:person>/remove")
def remove_creator(person: int) -> Response:
    """End a person's right to create courses."""
    admin()
    with site().sessions.begin() as session:
        found = session.get(Person, person)
        if found is None:
            raise nothing_here()
        disallow(session, found, acting(session))
    return _changed("creator-removed")


def _changed(notice: str) -> Response:
    return Response(status=303, headers={"Location": f"/new-course?notice={notice}"})


def _page(form: Form, people_form: Form | None = None) -> str:
    found = None
    if course_creator().admin:
        with site().readers.begin() as session:
            found = [Creator(one.id, one.name, one.email) for one in creators(session)]
    names = [(name, name) for name in sorted({*zones(), form["zone"] or "UTC"})]
    page = NewCoursePage(form, names, people_form or filled({}), found)
    return render_template("staff/new_course.html", page=page)
