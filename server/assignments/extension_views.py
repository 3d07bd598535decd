"""Extensions of an assignment for course staff: granted, imported from a file, or asked for by students."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from flask import Response, render_template
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here
from server.accounts.service import AccountError, normal_email
from server.acts.act import Target, assignment_target
from server.acts.by_form import change_by_form
from server.assignments.extension_requests import deadline_of, find_request, grant_request, refuse_request
from server.assignments.extensions import EXTENSION, WITHDRAWAL
from server.assignments.staff_views import assignment_of, assignment_page, on_student
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.local_time import read_moment, typed, zone_named
from server.courses.models import Role
from server.courses.staff_pages import Desk, acting, back, confirmed, desk_of, mistakes_noted, staff
from server.http.forms import LONGEST, Form, filled, sent
from server.http.site import site
from server.roster.service import Wanted, roster
from server.talk.models import ExtensionRequest


@staff.post("/assignments/<assignment>/extensions")
def grant_extension(slug: str, assignment: str) -> Response | tuple[str, int]:
    """Grant or replace an extension, for all named students or none."""
    done = partial(back, "staff.show_assignment", slug, "extension-granted", assignment=assignment)
    return change_by_form(
        EXTENSION, slug, partial(_chosen, assignment), done, _extension_page, more=("person", "emails")
    )


@staff.post("/assignments/<assignment>/extensions/<int(max=9007199254740991):person>/withdraw")
def withdraw_extension(slug: str, assignment: str, person: int) -> Response | tuple[str, int]:
    """Remove an extension."""
    done = partial(back, "staff.show_assignment", slug, "extension-withdrawn", assignment=assignment)
    return change_by_form(WITHDRAWAL, slug, partial(on_student, assignment, person), done)


def _extension_page(session: Session, course: Membership, on: Target, form: Form) -> str:
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


_ONE = "/extension-requests/<int(max=9007199254740991):number>"
_WAYS = (("grant", "Grant"), ("refuse", "Refuse"))


@dataclass(frozen=True, slots=True)
class ExtensionRequestPage:
    """One request. deadline: the student's present one, None for none."""

    desk: Desk
    request: ExtensionRequest
    deadline: datetime | None
    form: Form
    zone: str


@staff.get(_ONE)
def show_extension_request(slug: str, number: int) -> str:
    """Show a request, with the form for the answer."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        wanted = _request(session, course, number).wanted_at
    return _request_page(course, number, filled({"until": typed(wanted, zone_named(course.time_zone))}))


@staff.post(_ONE)
def answer_extension_request(slug: str, number: int) -> Response | tuple[str, int]:
    """Grant or refuse a request."""
    course = instructor_of(slug)
    form = sent("way", "until", "answer")
    form.choose("way", _WAYS)
    with mistakes_noted(form, "answer"), site().sessions.begin() as session:
        found = _request(session, course, number)
        name = found.assignment.slug
        until = None
        if form["way"] == "grant":
            with mistakes_noted(form, "until"):
                until = read_moment(form["until"], zone_named(course.time_zone), found.wanted_at)
        if form.right and form["way"] == "grant":
            grant_request(session, found, acting(session), form["answer"], confirmed(), until)
        elif form.right:
            refuse_request(session, found, acting(session), form["answer"])
    if form.right:
        return back("staff.show_assignment", slug, "request-answered", assignment=name)
    return _request_page(course, number, form), 422


def _request_page(course: Membership, number: int, form: Form) -> str:
    with site().readers.begin() as session:
        found = _request(session, course, number)
        zone = zone_named(course.time_zone)
        page = ExtensionRequestPage(
            desk_of(course, "assignment"),
            found,
            deadline_of(session, found.assignment, found.person_id),
            form,
            zone.key,
        )
        return render_template("assignments/extension_request.html", page=page)


def _request(session: Session, course: Membership, number: int) -> ExtensionRequest:
    found = find_request(session, course.course_id, number)
    if found is None:
        raise nothing_here()
    return found
