"""Extensions: more time or attempts for single students."""

from __future__ import annotations

from collections.abc import Collection

from flask import Response
from sqlalchemy.orm import Session

from server.accounts.service import AccountError, normal_email
from server.courses.access import Membership, instructor_of
from server.courses.local_time import zone_named
from server.courses.models import Role
from server.courses.service import CourseError
from server.http.forms import LONGEST, Form, filled, sent
from server.http.site import site
from server.staff.assignments.assignment_settings import setting_of
from server.staff.assignments.service import Grant, grant, withdraw, wrong_grant
from server.staff.assignments.setting_form import as_typed, moment, whole
from server.staff.assignments.views import assignment_of, assignment_page
from server.staff.desk import acting, back, confirmed, printable, staff, the_course
from server.staff.losses import losses_confirmed
from server.staff.roster.service import Wanted, roster

# Different names than in the form for the assignment, which is on the same page.
_FIELDS = ("person", "extended_due_at", "extended_closes_at", "extra_attempts", "reason", "emails")


@staff.post("/assignments/<assignment>/extensions")
def grant_extension(slug: str, assignment: str) -> Response | tuple[str, int]:
    """Grant or replace an extension, for all named students or none."""
    course = instructor_of(slug)
    zone = zone_named(course.time_zone)
    form = sent(*_FIELDS)
    given = Grant(
        due_at=moment(form, "extended_due_at", zone, None),
        closes_at=moment(form, "extended_closes_at", zone, None),
        extra_attempts=whole(form, "extra_attempts"),
        reason=printable(form["reason"]),
    )
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        _note_mistakes(form, wrong_grant(found, given))
        people = _people(session, course, form)
        if form.right:
            try:
                with losses_confirmed(session, found, confirmed()):
                    for person in people:
                        grant(session, the_course(session, course), found, acting(session), person, given)
            except CourseError as error:
                session.rollback()
                form.mistake("person", str(error))
            else:
                return back("staff.show_assignment", slug, "extension-granted", assignment=assignment)
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
        setting = filled(as_typed(setting_of(found), zone))
        return assignment_page(session, course, found, setting, form), 422


@staff.post("/assignments/<assignment>/extensions/<int(max=9007199254740991):person>/withdraw")
def withdraw_extension(slug: str, assignment: str, person: int) -> Response:
    """Remove an extension."""
    course = instructor_of(slug)
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        with losses_confirmed(session, found, confirmed(), person):
            withdraw(session, the_course(session, course), found, acting(session), person)
    return back("staff.show_assignment", slug, "extension-withdrawn", assignment=assignment)


def _people(session: Session, course: Membership, form: Form) -> Collection[int]:
    """The chosen students, by choice or email; adds unknown students to the form's mistakes."""
    people = set()
    if form["person"].isdecimal() and len(form["person"]) < 19:
        people.add(int(form["person"]))
    if len(form.values["emails"]) >= LONGEST:
        form.mistake("emails", f"The list is too long: {LONGEST:,} characters are the limit. Grant it in parts.")
    emails = {_email(word) for word in form["emails"].replace(",", " ").replace(";", " ").split()}
    if emails:
        students = {one.email: one.person_id for one in roster(session, course.course_id, Wanted(role=Role.STUDENT))}
        people |= {students[email] for email in emails & students.keys()}
        unknown = sorted(emails - students.keys())
        if unknown:
            more = f" and {len(unknown) - 5:,} more" if len(unknown) > 5 else ""
            form.mistake("emails", f"No student of this course has the email {', '.join(unknown[:5])}{more}.")
    elif not people:
        form.mistake("person", "Choose a student.")
    return people


def _email(text: str) -> str:
    try:
        return normal_email(text)
    except AccountError:
        return text[:100]


def _note_mistakes(form: Form, found: dict[str, str]) -> None:
    for name, text in found.items():
        form.mistake(name if name in form.values else f"extended_{name}", text)
