"""The page of one student's grade, and the page that asks before points fall."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from flask import Response, render_template, request, url_for
from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here
from server.accounts.cookies import CSRF_FIELD
from server.accounts.models import Person
from server.courses.access import Membership, staff_of
from server.courses.models import Assignment, Correction, Role
from server.courses.models import Membership as MemberRow
from server.http.forms import Form, filled
from server.http.site import site
from server.staff.acts.act import Target, assignment_target
from server.staff.acts.by_form import change_by_form, form_now
from server.staff.assignments.views import assignment_of
from server.staff.desk import LOWERS, Desk, back, desk_of, staff
from server.staff.grades.corrections import CORRECTION
from server.staff.losses import Loss, UnconfirmedPoints, students_grades
from server.submissions.grades.grade import Grade

_PATH = "/grades/<assignment>/<int(max=9007199254740991):person>"
_OWN_PAGE = ("staff.change_grade", "staff.change_criteria", "staff.grade_by_rubric")


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
    return render_template("staff/confirm_losses.html", page=page), 409


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
    return render_template("staff/grade.html", page=page, fields=CORRECTION.by_name)


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
