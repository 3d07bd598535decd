"""The gradebook, and the page of one grade with its correction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

from flask import Response, render_template, request, url_for
from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here
from server.accounts.cookies import CSRF_FIELD
from server.accounts.models import Person
from server.acts.act import Target, assignment_target
from server.acts.by_form import change_by_form, form_now
from server.assignments.staff_views import assignment_of
from server.audit.service import note
from server.courses.access import Membership, staff_of
from server.courses.models import Assignment, Correction, Role
from server.courses.models import Membership as MemberRow
from server.courses.staff_pages import LOWERS, Desk, acting, asked, back, desk_of, looked_for, staff
from server.grades.corrections import CORRECTION
from server.grades.grade import Grade
from server.grades.gradebook import PLAIN, TOTAL, Gradebook, GradesCriteria, gradebook, grades_csv, plain_csv, points_of
from server.grades.losses import Loss, UnconfirmedPoints, students_grades
from server.grades.source_archive import source_archive
from server.http.forms import Form, filled
from server.http.problems import Refused
from server.http.site import site
from server.roster.service import Member, Wanted, by_surname, roster
from server.roster.views import Part, csv_answer, part_of, sections_of


def ordered(session: Session, course_id: int, wanted: Wanted, by: str, *, down: bool) -> list[Member]:
    """The students in the requested order.

    by: "section", "total", an assignment's short name, or anything else for the surname
    """
    members = sorted(roster(session, course_id, wanted), key=by_surname)
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
        there_are = sections_of(session, course.course_id)
        form.choose("section", there_are)
        part, book = part_of([], ""), Gradebook((), ())
        if form.right:
            members = ordered(session, course.course_id, _wanted(form), by, down=down)
            part = part_of(members, asked("page", 6))
            book = gradebook(session, course.course_id, part.members)
    columns: list[tuple[str, str, float | None]] = [("name", "Student", None), ("section", "Section", None)]
    columns += [(one.slug, one.title, one.most_points) for one in book.assignments]
    columns += [(TOTAL, "Total", book.most)]
    headings = [
        Heading(title, _address(slug, form, name, by, down=down), _sorted(name, by, down=down), most)
        for name, title, most in columns
    ]
    page = GradesPage(desk_of(course, "grades"), book, part, form, headings, there_are)
    html = render_template("grades/grades.html", page=page)
    return html if form.right else (html, 422)


@staff.get("/grades.csv")
def export_grades(slug: str) -> Response:
    """Export all grades as CSV, in the order of the roster. form: of another platform."""
    course = staff_of(slug)
    form = _asked()
    form.choose("form", [("", ""), *((name, name) for name in PLAIN)])
    with site().readers.begin() as session:
        form.choose("section", sections_of(session, course.course_id))
        if not form.right:
            raise Refused(422, "invalid", "Invalid filter", " ".join(form.mistakes.values()))
        book = gradebook(session, course.course_id, roster(session, course.course_id, _wanted(form)))
    with site().sessions.begin() as session:
        note(
            session, acting(session), "grades.exported", f"course {course.slug}", course_id=course.course_id,
            students=len(book.lines),
        )  # fmt: skip
    name = f"{course.slug}-grades.csv"
    return csv_answer(plain_csv(book, form["form"]), name) if form["form"] else csv_answer(grades_csv(book), name)


@staff.get("/assignments/<assignment>/sources.zip")
def export_sources(slug: str, assignment: str) -> Response:
    """Download the sources that count, or all of them, with an index."""
    course = staff_of(slug)
    form = looked_for(request.args, "which")
    form.choose("which", [("", ""), ("counted", ""), ("all", "")])
    if not form.right:
        raise Refused(422, "invalid", "Invalid choice", " ".join(form.mistakes.values()))
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
        file, subject = source_archive(session, found, form["which"]), f"assignment {found.name}"
    with site().sessions.begin() as session:
        note(session, acting(session), "submission.exported", subject, course_id=course.course_id)
    response = Response(file, mimetype="application/zip")
    response.headers["Content-Disposition"] = f'attachment; filename="{slug}-{assignment}-sources.zip"'
    return response


def _asked() -> Form:
    return looked_for(request.args, "text", "section", "by", "down", "dropped", "form")


def _wanted(form: Form) -> Wanted:
    dropped = "yes" if form.checked("dropped") else "no"
    return GradesCriteria(form["text"], form["section"], dropped).students


def _address(slug: str, form: Form, name: str, by: str, *, down: bool) -> str:
    """The page's address sorted by this column; in the other direction if it already is."""
    other_way = "yes" if name == by and not down else ""
    given = {name: form[name] for name in ("text", "section", "dropped")} | {"by": name, "down": other_way}
    query = {key: value for key, value in given.items() if value}
    return f"{url_for('staff.show_grades', slug=slug)}?{urlencode(query)}"


def _sorted(name: str, by: str, *, down: bool) -> str:
    return "none" if name != by else "descending" if down else "ascending"


_PATH = "/grades/<assignment>/<int(max=9007199254740991):person>"
_OWN_PAGE = ("staff.change_grade", "staff.change_criteria", "staff.save_grading")


@dataclass(frozen=True, slots=True)
class GradePage:
    """A student's grade for an assignment. by: who corrected it."""

    desk: Desk
    assignment: Assignment
    person: Person
    grade: Grade
    correction: Correction | None
    by: str | None
    form: Form


@dataclass(frozen=True, slots=True)
class LossesPage:
    """A change that lowers points, or raises them above `most`.

    address, values: the form that was sent; cancel: the address without a change
    """

    desk: Desk
    title: str
    losses: tuple[Loss, ...]
    most: float | None
    digest: str
    address: str
    values: list[tuple[str, str]]
    cancel: str


@staff.get(_PATH)
def show_grade(slug: str, assignment: str, person: int) -> str:
    """Show a student's grade, with its correction."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        on = _find(assignment, person, session, course, filled({}))
        return _page(session, course, on, form_now(CORRECTION, session, on))


@staff.post(_PATH)
def change_grade(slug: str, assignment: str, person: int) -> Response | tuple[str, int]:
    """Correct a student's grade, or remove the correction."""
    done = partial(back, "staff.show_grade", slug, "grade-corrected", assignment=assignment, person=person)
    return change_by_form(CORRECTION, slug, partial(_find, assignment, person), done, _page)


@staff.errorhandler(UnconfirmedPoints)
def ask_about_losses(lowers: UnconfirmedPoints) -> tuple[str, int]:
    """Show whose points a form would lower, with the form's values to send them again."""
    slug = (request.view_args or {})["slug"]
    course = staff_of(slug)
    assignment = url_for("staff.show_assignment", slug=slug, assignment=lowers.slug)
    page = LossesPage(
        desk_of(course, "assignment"),
        lowers.title,
        lowers.losses,
        lowers.most,
        lowers.digest,
        request.path,
        [(name, value) for name, value in request.form.items() if name not in {LOWERS, CSRF_FIELD}],
        request.path if request.endpoint in _OWN_PAGE else assignment,
    )
    return render_template("grades/confirm_losses.html", page=page), 409


def _find(assignment: str, person: int, session: Session, course: Membership, _: Form) -> Target:
    return assignment_target(assignment_of(session, course, assignment), _student(session, course, person).id)


def _page(session: Session, course: Membership, on: Target, form: Form) -> str:
    assignment, number = on.assignment, on.person
    correction = session.get(Correction, (assignment.id, number))
    by = None if correction is None or correction.corrected_by is None else correction.corrected_by
    page = GradePage(
        desk_of(course, "grades"),
        assignment,
        session.get_one(Person, number),
        students_grades(session, assignment, number).get(number, Grade(held=assignment.grades_held)),
        correction,
        None if by is None else session.get_one(Person, by).name,
        form,
    )
    return render_template("grades/grade.html", page=page, fields=CORRECTION.by_name)


def _student(session: Session, course: Membership, number: int) -> Person:
    """The student, also a dropped one; 404 for anyone else."""
    joined = select(Person).join(MemberRow, MemberRow.person_id == Person.id)
    found = session.scalar(
        joined.where(
            Person.id == number,
            Person.erased_at.is_(None),
            MemberRow.course_id == course.course_id,
            MemberRow.role == Role.STUDENT,
        )
    )
    if found is None:
        raise nothing_here()
    return found
