"""Letting one student have more time or attempts."""

from __future__ import annotations

from flask import Response

from server.courses.service import CourseError
from server.staff.assignment_views import assignment_of, assignment_page
from server.staff.assignments import Grant, grant, withdraw, wrong_grant
from server.staff.desk import acting, back, printable, staff, the_course
from server.staff.local_time import zone_named
from server.staff.setting import as_typed, moment, setting_of, whole
from server.web.access import instructor_of
from server.web.forms import Form, filled, sent
from server.web.site import site

# Names of their own: the form for the assignment stands on the same page.
_FIELDS = ("person", "extended_due_at", "extended_closes_at", "extra_attempts", "reason")


@staff.post("/assignments/<assignment>/extensions")
def grant_extension(slug: str, assignment: str) -> Response | tuple[str, int]:
    """Grant one, or grant it otherwise."""
    course = instructor_of(slug)
    zone = zone_named(course.time_zone)
    form = sent(*_FIELDS)
    given = Grant(
        due_at=moment(form, "extended_due_at", zone, None),
        closes_at=moment(form, "extended_closes_at", zone, None),
        extra_attempts=whole(form, "extra_attempts"),
        reason=printable(form["reason"]),
    )
    person = int(form["person"]) if form["person"].isdecimal() and len(form["person"]) < 19 else 0
    if not person:
        form.mistake("person", "Choose a student.")
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        _note_mistakes(form, wrong_grant(found, given))
        if form.right:
            try:
                grant(session, the_course(session, course), found, acting(session), person, given)
            except CourseError as error:
                form.mistake("person", str(error))
            else:
                return back("staff.show_assignment", slug, "extension-granted", assignment=assignment)
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
        setting = filled(as_typed(setting_of(found), zone))
        return assignment_page(session, course, found, setting, form), 422


@staff.post("/assignments/<assignment>/extensions/<int(max=9007199254740991):person>/withdraw")
def withdraw_extension(slug: str, assignment: str, person: int) -> Response:
    """Take one back."""
    course = instructor_of(slug)
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        withdraw(session, the_course(session, course), found, acting(session), person)
    return back("staff.show_assignment", slug, "extension-withdrawn", assignment=assignment)


def _note_mistakes(form: Form, found: dict[str, str]) -> None:
    for name, text in found.items():
        form.mistake(name if name in form.values else f"extended_{name}", text)
