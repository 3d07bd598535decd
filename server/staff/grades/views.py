"""The gradebook's page and its CSV export."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from flask import Response, render_template, request, url_for
from sqlalchemy.orm import Session

from server.audit.service import note
from server.courses.access import Membership, staff_of
from server.http.forms import Form
from server.http.problems import Refused
from server.http.site import site
from server.staff.desk import Desk, acting, asked, desk_of, looked_for, staff
from server.staff.grades.gradebook import Gradebook, GradesCriteria, gradebook, grades_csv, points_of
from server.staff.roster.service import Member, Wanted, roster, sections
from server.staff.roster.views import Part, csv_answer, part_of

TOTAL = "total"


def ordered(session: Session, course_id: int, wanted: Wanted, by: str, *, down: bool) -> list[Member]:
    """The students in the requested order.

    by: "section", "total", an assignment's short name, or anything else for the name
    """
    members = sorted(roster(session, course_id, wanted), key=lambda one: (one.name.casefold(), one.email))
    if by == "section":
        return sorted(members, key=lambda one: one.section.casefold(), reverse=down)
    if by == "name":
        return members[::-1] if down else members
    points = points_of(session, course_id, members, None if by == TOTAL else [by])
    return sorted(members, key=lambda one: points[one.person_id], reverse=down)


@dataclass(frozen=True, slots=True)
class Heading:
    """A column heading for sorting. sorted: "ascending", "descending" or "none", as in aria-sort."""

    title: str
    address: str
    sorted: str
    most: float | None = None


@dataclass(frozen=True, slots=True)
class GradesPage:
    """A page of the gradebook. part: whose rows it has."""

    desk: Desk
    book: Gradebook
    part: Part
    form: Form
    headings: list[Heading]
    sections: list[tuple[str, str]]


@staff.get("/grades")
def show_grades(slug: str) -> str | tuple[str, int]:
    """Show a page of the gradebook; no rows if the filter is invalid."""
    course = staff_of(slug)
    form = _asked()
    by, down = form["by"] or "name", form.checked("down")
    with site().readers.begin() as session:
        there_are = _sections(session, course)
        form.choose("section", there_are)
        part, book = part_of([], ""), Gradebook((), ())
        if form.right:
            members = ordered(session, course.course_id, _wanted(form), by, down=down)
            part = part_of(members, asked("page", 6))
            book = gradebook(session, course.course_id, part.members)
    columns: list[tuple[str, str, float | None]] = [("name", "Student", None), ("section", "Section", None)]
    columns += [(one.slug, one.title, one.most_points) for one in book.assignments]
    columns += [("total", "Total", book.most)]
    headings = [
        Heading(title, _address(slug, form, name, by, down=down), _sorted(name, by, down=down), most)
        for name, title, most in columns
    ]
    page = GradesPage(desk_of(course, "grades"), book, part, form, headings, there_are)
    html = render_template("staff/grades.html", page=page)
    return html if form.right else (html, 422)


@staff.get("/grades.csv")
def export_grades(slug: str) -> Response:
    """Export all grades as CSV, in the order of the roster."""
    course = staff_of(slug)
    form = _asked()
    with site().readers.begin() as session:
        form.choose("section", _sections(session, course))
        if not form.right:
            raise Refused(422, "invalid", "Invalid filter", " ".join(form.mistakes.values()))
        book = gradebook(session, course.course_id, roster(session, course.course_id, _wanted(form)))
    with site().sessions.begin() as session:
        note(
            session, acting(session), "grades.exported", f"course {course.slug}", course_id=course.course_id,
            students=len(book.lines),
        )  # fmt: skip
    return csv_answer(grades_csv(book), f"{course.slug}-grades.csv")


def _asked() -> Form:
    return looked_for(request.args, "text", "section", "by", "down", "dropped")


def _wanted(form: Form) -> Wanted:
    dropped = "yes" if form.checked("dropped") else "no"
    return GradesCriteria(form["text"], form["section"], dropped).students


def _sections(session: Session, course: Membership) -> list[tuple[str, str]]:
    return [("", "All"), *((one, one) for one in sections(session, course.course_id))]


def _address(slug: str, form: Form, name: str, by: str, *, down: bool) -> str:
    """The page's address sorted by this column; in the other direction if it already is."""
    other_way = "yes" if name == by and not down else ""
    given = {name: form[name] for name in ("text", "section", "dropped")} | {"by": name, "down": other_way}
    query = {key: value for key, value in given.items() if value}
    return f"{url_for('staff.show_grades', slug=slug)}?{urlencode(query)}"


def _sorted(name: str, by: str, *, down: bool) -> str:
    return "none" if name != by else "descending" if down else "ascending"
