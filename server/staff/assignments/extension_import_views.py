"""Import extensions: choose a file, preview its changes, apply them."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from functools import partial

from flask import Response, render_template, request

from server.courses.access import Membership, instructor_of
from server.courses.models import Assignment
from server.http.forms import Form, filled
from server.http.site import site
from server.staff.assignments.extension_file import ExtensionFile, Plan, carry_out, make_plan, read_extensions
from server.staff.assignments.views import assignment_of
from server.staff.desk import Desk, acting, back, confirmed, desk_of, staff
from server.staff.losses import losses_confirmed
from server.staff.roster.csv_file import MOST_LINES
from server.staff.roster.import_views import sent_table


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
    return _page(instructor_of(slug), assignment, filled({}))


@staff.post("/assignments/<assignment>/extensions/import")
def preview_extensions(slug: str, assignment: str) -> str | tuple[str, int]:
    """Preview the file's changes; changes nothing."""
    course = instructor_of(slug)
    form, read = _sent(course)
    if read is None:
        return _page(course, assignment, form), 422
    return _preview(course, assignment, form, read)


@staff.post("/assignments/<assignment>/extensions/apply")
def apply_extensions(slug: str, assignment: str) -> str | Response | tuple[str, int]:
    """Apply the previewed changes; if the extensions changed meanwhile, show a new preview instead."""
    course = instructor_of(slug)
    form, read = _sent(course)
    if read is None:
        return _page(course, assignment, form), 422
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
    page = _page(course, assignment, form, plan, outdated=outdated)
    return (page, 422) if plan.problems else (page, 409) if outdated else page


def _page(course: Membership, assignment: str, form: Form, plan: Plan | None = None, *, outdated: bool = False) -> str:
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
    page = ExtensionImportPage(desk_of(course, "assignment"), found, form, plan, outdated)
    return render_template("staff/import_extensions.html", page=page, most=MOST_LINES)
