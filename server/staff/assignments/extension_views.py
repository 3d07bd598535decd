"""Extensions: more time or attempts for single students."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from flask import Response
from sqlalchemy.orm import Session

from server.accounts.service import AccountError, normal_email
from server.courses.access import Membership
from server.http.forms import LONGEST, Form
from server.staff.acts.act import Target, assignment_target
from server.staff.acts.by_form import change_by_form
from server.staff.assignments.extensions import EXTENSION, WITHDRAWAL
from server.staff.assignments.views import assignment_of, assignment_page, on_student
from server.staff.desk import back, staff
from server.staff.roster.service import Wanted, roster


@staff.post("/assignments/<assignment>/extensions")
def grant_extension(slug: str, assignment: str) -> Response | tuple[str, int]:
    """Grant or replace an extension, for all named students or none."""
    done = partial(back, "staff.show_assignment", slug, "extension-granted", assignment=assignment)
    return change_by_form(EXTENSION, slug, partial(_chosen, assignment), done, _page, more=("person", "emails"))


@staff.post("/assignments/<assignment>/extensions/<int(max=9007199254740991):person>/withdraw")
def withdraw_extension(slug: str, assignment: str, person: int) -> Response | tuple[str, int]:
    """Remove an extension."""
    done = partial(back, "staff.show_assignment", slug, "extension-withdrawn", assignment=assignment)
    return change_by_form(WITHDRAWAL, slug, partial(on_student, assignment, person), done)


def _page(session: Session, course: Membership, on: Target, form: Form) -> str:
    return assignment_page(session, course, on, extension_form=form)


def _chosen(assignment: str, session: Session, course: Membership, form: Form) -> Target:
    return assignment_target(assignment_of(session, course, assignment), *_people(session, course, form))


def _people(session: Session, course: Membership, form: Form) -> Collection[int]:
    """The chosen students, by choice or email; adds unknown students to the form's mistakes."""
    people = set()
    if form["person"].isdecimal() and len(form["person"]) < 19:
        people.add(int(form["person"]))
    if len(form.values["emails"]) >= LONGEST:
        form.mistake("emails", f"The list is too long: {LONGEST:,} characters are the limit. Grant it in parts.")
    emails = {_email(word) for word in form["emails"].replace(",", " ").replace(";", " ").split()}
    if emails:
        students = {one.email: one.person_id for one in roster(session, course.course_id, Wanted(role="student"))}
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
