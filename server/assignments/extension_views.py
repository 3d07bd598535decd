"""Extensions of an assignment for course staff: granted, imported from a file, or asked for by students."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from flask import Response, render_template, request
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here
from server.accounts.service import AccountError, normal_email
from server.acts.act import Target, assignment_target
from server.acts.by_form import change_by_form
from server.assignments.extension_file import ExtensionFile, Plan, carry_out, extensions_csv, make_plan, read_extensions
from server.assignments.extension_requests import deadline_of, find_request, grant_request, refuse_request
from server.assignments.extensions import EXTENSION, WITHDRAWAL
from server.assignments.staff_views import assignment_of, assignment_page, on_student
from server.audit.service import note
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.local_time import read_moment, typed, zone_named
from server.courses.models import Assignment, Role
from server.courses.staff_pages import Desk, acting, back, confirmed, desk_of, mistakes_noted, staff
from server.grades.losses import losses_confirmed
from server.http.forms import LONGEST, Form, filled, sent
from server.http.site import site
from server.roster.csv_file import MOST_LINES
from server.roster.service import Wanted, roster
from server.roster.views import csv_answer, sent_table
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


@dataclass(frozen=True, slots=True)
class ExtensionImportPage:
    """plan: the changes; None before a file is sent."""

    desk: Desk
    assignment: Assignment
    form: Form
    plan: Plan | None = None
    outdated: bool = False


@staff.get("/assignments/<assignment>/extensions/import")
def import_extensions(slug: str, assignment: str) -> str:
    """Show the form for a file."""
    return _import_page(instructor_of(slug), assignment, filled({}))


@staff.get("/assignments/<assignment>/extensions.csv")
def export_extensions(slug: str, assignment: str) -> Response:
    """Export the extensions as CSV, for importing them again."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        text = extensions_csv(session, assignment_of(session, course, assignment))
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        note(session, acting(session), "extension.exported", f"assignment {found.name}", course_id=course.course_id)
    return csv_answer(text, f"{slug}-{assignment}-extensions.csv")


@staff.post("/assignments/<assignment>/extensions/import")
def preview_extensions(slug: str, assignment: str) -> str | tuple[str, int]:
    """Preview the file's changes; changes nothing."""
    course = instructor_of(slug)
    form, read = _sent(course)
    if read is None:
        return _import_page(course, assignment, form), 422
    return _preview(course, assignment, form, read)


@staff.post("/assignments/<assignment>/extensions/apply")
def apply_extensions(slug: str, assignment: str) -> str | Response | tuple[str, int]:
    """Apply the previewed changes; if the extensions changed meanwhile, show a new preview instead."""
    course = instructor_of(slug)
    form, read = _sent(course)
    if read is None:
        return _import_page(course, assignment, form), 422
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        with losses_confirmed(session, found, confirmed()):
            plan = make_plan(session, found, read)
            as_shown = hmac.compare_digest(request.form.get("digest", "").encode(), plan.digest.encode())
            applied = as_shown and not plan.problems
            if applied:
                carry_out(session, found, plan, acting(session))
    if applied:
        return back("staff.show_assignment", slug, "extensions-imported", assignment=assignment)
    return _preview(course, assignment, form, read, outdated=not as_shown)


def _sent(course: Membership) -> tuple[Form, ExtensionFile | None]:
    form = filled({"text": request.form.get("text", "")})
    return form, sent_table(form, partial(read_extensions, time_zone=course.time_zone))


def _preview(
    course: Membership, assignment: str, form: Form, read: ExtensionFile, *, outdated: bool = False
) -> str | tuple[str, int]:
    with site().readers.begin() as session:
        plan = make_plan(session, assignment_of(session, course, assignment), read)
    page = _import_page(course, assignment, form, plan, outdated=outdated)
    return (page, 422) if plan.problems else (page, 409) if outdated else page


def _import_page(
    course: Membership, assignment: str, form: Form, plan: Plan | None = None, *, outdated: bool = False
) -> str:
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
    page = ExtensionImportPage(desk_of(course, "assignment"), found, form, plan, outdated)
    return render_template("assignments/import_extensions.html", page=page, most=MOST_LINES)


_ONE = "/extension-requests/<int(max=9007199254740991):number>"
_WAYS = (("", "Choose"), ("grant", "Grant"), ("refuse", "Refuse"))


@dataclass(frozen=True, slots=True)
class ExtensionRequestPage:
    """One request. deadline: the student's present one, None for none; ways: the answers to choose from."""

    desk: Desk
    request: ExtensionRequest
    deadline: datetime | None
    ways: Sequence[tuple[str, str]]
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
    form.choose("way", _WAYS[1:])
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
            _WAYS,
            form,
            zone.key,
        )
        return render_template("assignments/extension_request.html", page=page)


def _request(session: Session, course: Membership, number: int) -> ExtensionRequest:
    found = find_request(session, course.course_id, number)
    if found is None:
        raise nothing_here()
    return found
