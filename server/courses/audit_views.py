"""The audit page of a course."""

from __future__ import annotations

from dataclasses import dataclass

from flask import render_template, request

from server.courses.access import staff_of
from server.courses.audit_log import Entries, actors, read_entries
from server.courses.staff_pages import Desk, desk_of, looked_for, staff
from server.http.forms import Form, number_of
from server.http.site import site

_AREAS = (
    ("", "Everything"),
    ("member", "Roster, notes and views as a student"),
    ("person", "New accounts"),
    ("roster", "Roster imports and exports"),
    ("assignment", "Assignments"),
    ("exercise", "Exercises"),
    ("extension", "Extensions"),
    ("regrade", "Staged and cancelled regrades"),
    ("announcement", "Announcements"),
    ("comment", "Comments"),
    ("request", "Regrade requests"),
    ("submission", "Submissions chosen to count"),
    ("job", "Jobs"),
    ("experiment", "Experiments"),
    ("invitation", "Invitations"),
    ("reset", "Password links"),
    ("grades", "Grade corrections and exports"),
    ("lti", "Learning management system"),
    ("course", "Course settings"),
)


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Entries of the audit log that match a filter."""

    desk: Desk
    form: Form
    entries: Entries
    actors: list[tuple[str, str]]


@staff.get("/audit")
def show_audit(slug: str) -> str | tuple[str, int]:
    """Show the newest entries; none if the filter is invalid."""
    course = staff_of(slug)
    form = looked_for(request.args, "area", "by", "subject")
    before = number_of(request.args, "before")
    with site().readers.begin() as session:
        people = [("", "Anyone"), *((str(one), name) for one, name in actors(session, course.course_id))]
        form.choose("area", _AREAS)
        form.choose("by", people)
        found = Entries((), 0)
        if form.right:
            found = read_entries(
                session, course.course_id, area=form["area"], actor=int(form["by"]) if form["by"] else None,
                subject=form["subject"], before=before or 0,
            )  # fmt: skip
    page = AuditPage(desk_of(course, "audit"), form, found, people)
    html = render_template("courses/audit.html", page=page, areas=_AREAS)
    return html if form.right else (html, 422)
