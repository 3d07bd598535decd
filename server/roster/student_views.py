"""The page of one student."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from flask import Response, render_template
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here, viewer
from server.acts.act import Target
from server.acts.by_form import change_by_form, form_now
from server.assignments.accommodations import ACCOMMODATION
from server.courses.access import Membership, staff_of
from server.courses.models import StaffNote
from server.courses.staff_pages import Desk, acting, asked, back, desk_of, mistakes_noted, staff, the_course
from server.http.forms import Form, filled, sent
from server.http.site import site
from server.roster.service import Member, find_member
from server.roster.students import Student, add_staff_note, read_notes, read_student, remove_staff_note
from server.roster.view_as import begin_view, end_view
from server.submissions.course_submissions import Part, listing
from server.submissions.criteria import SubmissionCriteria


@dataclass(frozen=True, slots=True)
class StudentPage:
    """A student's page. part: the newest attempts at all assignments; form: for a note; time_form: for more time."""

    desk: Desk
    student: Student
    part: Part
    notes: Sequence[StaffNote]
    form: Form
    time_form: Form


@staff.get("/students/<int(max=9007199254740991):person>")
def show_student(slug: str, person: int) -> str:
    """Show a student's points, extensions, attempts and notes."""
    return _page(staff_of(slug), person, filled({}))


@staff.post("/students/<int(max=9007199254740991):person>/notes")
def add_note(slug: str, person: int) -> Response | tuple[str, int]:
    """Add a note about a student."""
    course = staff_of(slug)
    form = sent("note")
    with mistakes_noted(form, "note"), site().sessions.begin() as session:
        _member(session, course, person)
        add_staff_note(session, course.course_id, person, acting(session), form["note"])
    if form.right:
        return back("staff.show_student", slug, "note-added", person=person)
    return _page(course, person, form), 422


@staff.post("/students/<int(max=9007199254740991):person>/notes/<int(max=9007199254740991):number>/remove")
def remove_note(slug: str, person: int, number: int) -> Response:
    """Remove a note."""
    course = staff_of(slug)
    with site().sessions.begin() as session:
        _member(session, course, person)
        remove_staff_note(session, course.course_id, person, number, acting(session))
    return back("staff.show_student", slug, "note-removed", person=person)


@staff.post("/students/<int(max=9007199254740991):person>/more-time")
def change_more_time(slug: str, person: int) -> Response | tuple[str, int]:
    """Change a student's accommodation."""

    def find(session: Session, course: Membership, _: Form) -> Target:
        return Target(the_course(session, course), people=(_member(session, course, person).person_id,))

    done = partial(back, "staff.show_student", slug, "more-time-changed", person=person)
    return change_by_form(
        ACCOMMODATION, slug, find, done,
        lambda _session, course, _on, form: _page(course, person, filled({}), form),
    )  # fmt: skip


@staff.post("/students/<int(max=9007199254740991):person>/view")
def view_as_student(slug: str, person: int) -> Response:
    """Look at the course as this student."""
    course = staff_of(slug)
    with site().sessions.begin() as session:
        begin_view(session, course.course_id, acting(session), viewer().session_id, person)
    return Response(status=303, headers={"Location": f"/courses/{slug}/"})


@staff.post("/students/stop-viewing")
def stop_viewing(slug: str) -> Response:
    """End the view as a student."""
    course = staff_of(slug)
    with site().sessions.begin() as session:
        end_view(session, course.course_id, acting(session), viewer().session_id)
    return back("staff.show_roster", slug, "view-ended")


def _page(course: Membership, person: int, form: Form, time_form: Form | None = None) -> str:
    with site().readers.begin() as session:
        member = _member(session, course, person)
        on = Target(the_course(session, course), people=(person,))
        page = StudentPage(
            desk_of(course, "roster"), read_student(session, course.course_id, member),
            listing(session, course.course_id, SubmissionCriteria(person=person), asked("after", 40)),
            read_notes(session, course.course_id, person), form,
            time_form or form_now(ACCOMMODATION, session, on),
        )  # fmt: skip
        return render_template("roster/student.html", page=page, fields=ACCOMMODATION.by_name)


def _member(session: Session, course: Membership, person: int) -> Member:
    found = find_member(session, course.course_id, person)
    if found is None:
        raise nothing_here()
    return found
