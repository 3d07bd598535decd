"""Import a roster: choose a file, preview its changes, apply them."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from flask import Response, render_template, request

from server.courses.access import Membership, instructor_of
from server.courses.models import Role
from server.courses.service import hold_course
from server.http.forms import Form, filled
from server.http.site import site
from server.staff.desk import Desk, acting, back, desk_of, staff, the_course
from server.staff.roster.csv_file import MOST_BYTES, MOST_LINES, Read, Unreadable, decoded, read_roster
from server.staff.roster.plan import Plan, carry_out, make_plan

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ImportPage:
    """plan: the changes; None before a file is sent. read: the file's content."""

    desk: Desk
    form: Form
    plan: Plan | None = None
    read: Read | None = None
    outdated: bool = False


@staff.get("/roster/import")
def import_roster(slug: str) -> str:
    """Show the form for a file."""
    return _page(ImportPage(desk_of(instructor_of(slug), "roster"), filled({})))


@staff.post("/roster/import")
def preview_roster(slug: str) -> str | tuple[str, int]:
    """Preview the file's changes; changes nothing."""
    course = instructor_of(slug)
    form = filled({"text": request.form.get("text", ""), "drop": request.form.get("drop", "")})
    read = sent_table(form, read_roster)
    if read is None:
        return _page(ImportPage(desk_of(course, "roster"), form)), 422
    return _preview(course, form, read)


@staff.post("/roster/apply")
def apply_roster(slug: str) -> str | Response | tuple[str, int]:
    """Apply the previewed changes; if the course changed meanwhile, show a new preview instead."""
    course = instructor_of(slug)
    form = filled({"text": request.form.get("text", ""), "drop": request.form.get("drop", "")})
    read = sent_table(form, read_roster)
    if read is None:
        return _page(ImportPage(desk_of(course, "roster"), form)), 422
    with site().sessions.begin() as session:
        hold_course(session, course.course_id)
        row = the_course(session, course)
        plan = make_plan(session, row, read, drop_others=form.checked("drop"), actor=acting(session))
        shown = request.form.get("digest", "")
        as_shown = hmac.compare_digest(shown.encode(), plan.digest.encode())
        if as_shown and not plan.problems:
            carry_out(session, row, plan, acting(session))
            return back("staff.show_roster", slug, "roster-imported")
    return _preview(course, form, read, outdated=not as_shown)


def _preview(course: Membership, form: Form, read: Read, *, outdated: bool = False) -> str | tuple[str, int]:
    with site().readers.begin() as session:
        plan = make_plan(
            session, the_course(session, course), read, drop_others=form.checked("drop"), actor=acting(session)
        )
    if not plan.problems:
        form.values["text"] = read.text
    page = _page(ImportPage(desk_of(course, "roster"), form, plan, read, outdated))
    return (page, 422) if plan.problems else (page, 409) if outdated else page


def sent_table(form: Form, read: Callable[[str], T]) -> T | None:
    """Read the sent file or the pasted text; adds mistakes to the form."""
    file = request.files.get("file")
    content = file.read(MOST_BYTES + 1) if file is not None else b""
    try:
        if content:
            form.values["text"] = decoded(content)
        if not form["text"]:
            form.mistake("file", "Choose a file, or paste its lines below.")
            return None
        return read(form.values["text"])
    except Unreadable as error:
        form.mistake("file" if content else "text", str(error))
        return None


def _page(page: ImportPage) -> str:
    roles = ", ".join(role.value for role in Role)
    return render_template("staff/import.html", page=page, roles=roles, most=MOST_LINES)
