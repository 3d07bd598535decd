"""The gradebook, and its table for a spreadsheet."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from flask import Response, render_template, url_for

from server.audit.service import note
from server.staff.desk import Desk, acting, asked, desk_of, staff
from server.staff.gradebook import Gradebook, gradebook, grades_csv
from server.staff.roster import sections
from server.staff.roster_views import csv_answer
from server.web.access import staff_of
from server.web.forms import Form, filled
from server.web.site import site


@dataclass(frozen=True, slots=True)
class Heading:
    """A column that can be sorted by. sorted: "ascending", "descending" or "none", as browsers call it."""

    title: str
    address: str
    sorted: str
    most: float | None = None


@dataclass(frozen=True, slots=True)
class GradesPage:
    """The whole gradebook of a course, or of one section of it."""

    desk: Desk
    book: Gradebook
    form: Form
    headings: list[Heading]
    sections: list[tuple[str, str]]


@staff.get("/grades")
def show_grades(slug: str) -> str:
    """One row for each student."""
    course = staff_of(slug)
    form = filled({name: asked(name) for name in ("section", "by", "down", "dropped")})
    down = form.checked("down")
    with site().readers.begin() as session:
        book = gradebook(session, course.course_id, form["section"], dropped=form.checked("dropped"))
        there_are = [("", "All"), *((one, one) for one in sections(session, course.course_id))]
    by = form["by"] or "name"
    columns: list[tuple[str, str, float | None]] = [("name", "Student", None), ("section", "Section", None)]
    columns += [(one.slug, one.title, one.points) for one in book.assignments]
    columns += [("total", "Total", book.most)]
    headings = [
        Heading(title, _address(slug, form, name, by, down=down), _sorted(name, by, down=down), most)
        for name, title, most in columns
    ]
    page = GradesPage(desk_of(course, "grades"), book.ordered(by, down=down), form, headings, there_are)
    return render_template("staff/grades.html", page=page)


@staff.get("/grades.csv")
def export_grades(slug: str) -> Response:
    """All grades, in the order of the roster."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        book = gradebook(session, course.course_id, asked("section"), dropped=bool(asked("dropped")))
    with site().sessions.begin() as session:
        note(
            session, acting(session), "grades.exported", f"course {course.slug}", course_id=course.course_id,
            students=len(book.lines),
        )  # fmt: skip
    return csv_answer(grades_csv(book), f"{course.slug}-grades.csv")


def _address(slug: str, form: Form, name: str, by: str, *, down: bool) -> str:
    """Where the same page is sorted by that; by the same again, the other way round."""
    other_way = "yes" if name == by and not down else ""
    given = {"section": form["section"], "dropped": form["dropped"], "by": name, "down": other_way}
    query = {key: value for key, value in given.items() if value}
    return f"{url_for('staff.show_grades', slug=slug)}?{urlencode(query)}"


def _sorted(name: str, by: str, *, down: bool) -> str:
    return "none" if name != by else "descending" if down else "ascending"
