"""Staff pages for the progress at an assignment: the bar, and the students of each part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from flask import Response, render_template, request
from sqlalchemy.orm import Session

from server.audit.service import note
from server.courses.access import Membership, staff_of
from server.courses.models import Assignment
from server.http.forms import Form
from server.http.problems import Refused
from server.http.site import site
from server.staff.assignments.views import assignment_of
from server.staff.desk import Desk, acting, asked, desk_of, looked_for, staff
from server.staff.grades.gradebook import gradebook
from server.staff.progress.listed import PARTS, Listed, ProgressLine, listed, students_csv
from server.staff.roster.views import Part, csv_answer, part_of
from server.submissions.grades.grade import Grade

_MAILTO_CHARACTERS = 1_800
"""Longer addresses are cut off by some browsers and mail programs."""


@dataclass(frozen=True, slots=True)
class StudentsPage:
    """A page of the students of a part.

    grades: of the page's students, by the person's ID
    emails: of all students of the part; mailto: a message to them, "" if it is too long
    """

    desk: Desk
    assignment: Assignment
    form: Form
    found: Listed
    part: Part
    lines: Sequence[ProgressLine]
    grades: Mapping[int, Grade]
    emails: str
    mailto: str

    @property
    def title(self) -> str:
        return dict(PARTS).get(self.form["part"], "")


@staff.get("/progress/<assignment>/students")
def show_progress_students(slug: str, assignment: str) -> str | tuple[str, int]:
    """List the students of a part, with their addresses."""
    course = staff_of(slug)
    form = _asked()
    with site().readers.begin() as session:
        one = assignment_of(session, course, assignment)
        found = _listed(session, course, one, form) if form.right else Listed(one, [], {}, {})
        part = part_of(found.members, asked("page", 6))
        lines = tuple(found.lines(session, part.members))
        book = gradebook(session, course.course_id, part.members, slugs=[one.slug])
        grades = {line.member.person_id: cell.grade for line in book.lines for cell in line.cells}
        emails = ", ".join(each.email for each in found.members)
        mailto = f"mailto:?bcc={','.join(quote(each.email, safe='@') for each in found.members)}"
        page = StudentsPage(
            desk_of(course, "progress"), one, form, found, part, lines, grades, emails,
            mailto if found.members and len(mailto) <= _MAILTO_CHARACTERS else "",
        )  # fmt: skip
        html = render_template("staff/progress_students.html", page=page, parts_offered=PARTS)
    return html if form.right else (html, 422)


@staff.get("/progress/<assignment>/students.csv")
def export_progress_students(slug: str, assignment: str) -> Response:
    """Export the students of a part as CSV."""
    course = staff_of(slug)
    form = _asked()
    if not form.right:
        raise Refused(422, "invalid", "Invalid filter", " ".join(form.mistakes.values()))
    with site().readers.begin() as session:
        one = assignment_of(session, course, assignment)
        found = _listed(session, course, one, form)
        text = students_csv(session, found)
    with site().sessions.begin() as session:
        note(
            session, acting(session), "roster.exported", f"assignment {course.slug}/{one.slug}",
            course_id=course.course_id, people=len(found.members),
        )  # fmt: skip
    return csv_answer(text, f"{course.slug}-{one.slug}-{form['part'] or 'students'}.csv")


def _asked() -> Form:
    form = looked_for(request.args, "part", "text")
    form.choose("part", PARTS)
    return form


def _listed(session: Session, course: Membership, assignment: Assignment, form: Form) -> Listed:
    return listed(session, course.course_id, assignment, form["part"], form["text"], datetime.now(UTC))
