"""Pages for files that change something for many students of an assignment: preview, apply and export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from flask import Response, render_template, request

from server.acts.by_file import (
    Plan,
    ReadFile,
    StudentFile,
    apply_student_file,
    column_of,
    make_plan,
    read_student_file,
    student_file_csv,
)
from server.assignments.extensions import EXTENSIONS_FILE
from server.assignments.staff_views import assignment_of
from server.audit.service import note
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.models import Assignment
from server.courses.staff_pages import Desk, acting, back, confirmed, desk_of, staff
from server.grades.corrections import CORRECTIONS_FILE
from server.http.forms import Form, filled
from server.http.site import site
from server.roster.csv_file import MOST_LINES
from server.roster.views import csv_answer, sent_table
from server.teams.placement import TEAMS_FILE

FILES: Mapping[str, StudentFile] = {file.name: file for file in (EXTENSIONS_FILE, CORRECTIONS_FILE, TEAMS_FILE)}
_AT = "/assignments/<assignment>/<any(extensions, corrections, teams):what>"


@dataclass(frozen=True, slots=True)
class FilePage:
    """plan: the changes; None before a file is sent."""

    desk: Desk
    assignment: Assignment
    file: StudentFile
    form: Form
    plan: Plan | None = None
    outdated: bool = False


@staff.get(f"{_AT}/import")
def import_file(slug: str, assignment: str, what: str) -> str:
    """Show the form for a file."""
    return _page(instructor_of(slug), assignment, FILES[what], filled({}))


@staff.get(f"{_AT}.csv")
def export_file(slug: str, assignment: str, what: str) -> Response:
    """Export the present values as CSV, for importing them again."""
    course, file = staff_of(slug), FILES[what]
    with site().readers.begin() as session:
        text = student_file_csv(session, file, assignment_of(session, course, assignment))
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        note(session, acting(session), file.exported, f"assignment {found.name}", course_id=course.course_id)
    return csv_answer(text, f"{slug}-{assignment}-{what}.csv")


@staff.post(f"{_AT}/import")
def preview_file(slug: str, assignment: str, what: str) -> str | tuple[str, int]:
    """Preview the file's changes; changes nothing."""
    course, file = instructor_of(slug), FILES[what]
    form, read = _sent(course, file)
    if read is None:
        return _page(course, assignment, file, form), 422
    return _preview(course, assignment, file, form, read)


@staff.post(f"{_AT}/apply")
def apply_file(slug: str, assignment: str, what: str) -> str | Response | tuple[str, int]:
    """Apply the previewed changes; if the present values changed meanwhile, show a new preview instead."""
    course, file = instructor_of(slug), FILES[what]
    form, read = _sent(course, file)
    if read is None:
        return _page(course, assignment, file, form), 422
    shown = request.form.get("digest", "")
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        plan, applied = apply_student_file(session, file, found, read, acting(session), confirmed(), shown)
    if applied:
        return back("staff.show_assignment", slug, f"{what}-imported", assignment=assignment)
    return _preview(course, assignment, file, form, read, outdated=shown != plan.digest)


def _sent(course: Membership, file: StudentFile) -> tuple[Form, ReadFile | None]:
    form = filled({"text": request.form.get("text", "")})
    return form, sent_table(form, partial(read_student_file, file, time_zone=course.time_zone))


def _preview(
    course: Membership, assignment: str, file: StudentFile, form: Form, read: ReadFile, *, outdated: bool = False
) -> str | tuple[str, int]:
    with site().readers.begin() as session:
        plan = make_plan(session, file, assignment_of(session, course, assignment), read)
    page = _page(course, assignment, file, form, plan, outdated=outdated)
    return (page, 422) if plan.problems else (page, 409) if outdated else page


def _page(
    course: Membership,
    assignment: str,
    file: StudentFile,
    form: Form,
    plan: Plan | None = None,
    *,
    outdated: bool = False,
) -> str:
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
    page = FilePage(desk_of(course, "assignment"), found, file, form, plan, outdated)
    return render_template("acts/import_file.html", page=page, most=MOST_LINES, column_of=column_of)
