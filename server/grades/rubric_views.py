"""The page of an assignment's rubric, and the page on which staff grade a submission by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flask import Response, render_template, url_for
from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here
from server.accounts.models import Person
from server.acts.by_form import SHOWN, merge, shown_form
from server.assignments.staff_views import assignment_of
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.models import Assignment
from server.courses.service import CourseError
from server.courses.staff_pages import Desk, acting, back, confirmed, desk_of, staff
from server.grades.criteria import MOST_CRITERIA, Criterion, criteria_of
from server.grades.losses import losses_confirmed, students_grades
from server.grades.rubric import (
    Given,
    RubricSheet,
    change_rubric,
    give_points,
    sheet_of,
    why_not,
    wrong_criteria,
    wrong_points,
)
from server.http.forms import Form, filled, sent
from server.http.site import site
from server.submissions.models import Submission
from server.text import printable, typed_number

_PARTS = ("key", "title", "most", "text")
_NEW = 3
_LISTED = 20


@dataclass(frozen=True, slots=True)
class Ungraded:
    """A student whose submission counts and isn't graded by the rubric yet."""

    person_id: int
    name: str
    email: str
    submission: str


@dataclass(frozen=True, slots=True)
class RubricPage:
    """An assignment's rubric.

    rows: of its form; graded: how many students; ungraded: the first ones, by name
    """

    desk: Desk
    assignment: Assignment
    form: Form
    rows: range
    graded: int
    ungraded: tuple[Ungraded, ...]
    more: int


@dataclass(frozen=True, slots=True)
class GradingPage:
    """The form that grades a submission by the rubric."""

    desk: Desk
    submission: Submission
    sheet: RubricSheet
    form: Form


@staff.get("/rubric/<assignment>")
def show_rubric(slug: str, assignment: str) -> str:
    """Show an assignment's rubric."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
        criteria = criteria_of(found.rubric)
        form = shown_form(_typed(enumerate(criteria)))
        return _rubric_page(session, course, found, form, len(criteria) + _NEW)


@staff.post("/rubric/<assignment>")
def change_criteria(slug: str, assignment: str) -> str | Response | tuple[str, int]:
    """Save an assignment's rubric."""
    course = instructor_of(slug)
    form = sent(*(f"{part}_{place}" for place in range(MOST_CRITERIA) for part in _PARTS), SHOWN)
    with site().sessions.begin() as session:
        found = assignment_of(session, course, assignment)
        with losses_confirmed(session, found, confirmed()):
            was = criteria_of(found.rubric)
            outdated = merge(form, _typed_in_rows_of(form, was))
            rows = [row for row in range(2 * MOST_CRITERIA) if any(form[f"{part}_{row}"] for part in _PARTS[1:])]
            criteria = [_criterion(form, row, {each.key for each in was}) for row in rows]
            for name, text in wrong_criteria(criteria).items():
                part, _, place = name.partition("_")
                form.mistake(f"{part}_{rows[int(place)]}", text)
            if form.right:
                change_rubric(session, found, acting(session), criteria)
    if form.right:
        return back("staff.show_rubric", slug, "rubric-saved", assignment=assignment)
    with site().readers.begin() as session:
        found = assignment_of(session, course, assignment)
        last = max([*rows, len(criteria_of(found.rubric)) - 1])
        page = _rubric_page(session, course, found, form, last + 1 + _NEW)
    return page, 409 if outdated else 422


@staff.get("/rubric/<assignment>/<public_id>")
def show_grading(slug: str, assignment: str, public_id: str) -> str:
    """Show the form that grades a submission by the rubric."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        return _grading_page(session, course, _submission(session, course, assignment, public_id), None)


@staff.post("/rubric/<assignment>/<public_id>")
def grade_by_rubric(slug: str, assignment: str, public_id: str) -> str | Response | tuple[str, int]:
    """Grade a submission by the rubric."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        criteria = criteria_of(assignment_of(session, course, assignment).rubric)
    form = sent(*(f"{part}_{each.key}" for each in criteria for part in ("points", "words")))
    points, words = (
        {each.key: form[f"{part}_{each.key}"] for each in criteria if form[f"{part}_{each.key}"]}
        for part in ("points", "words")
    )
    given = Given({key: form.number(f"points_{key}") for key in points}, words)
    with site().sessions.begin() as session:
        found = _submission(session, course, assignment, public_id)
        with losses_confirmed(session, found.assignment, confirmed(), found.person_id):
            for name, text in wrong_points(found.assignment, given).items():
                form.mistake(name, text)
            if not form.right:
                return _grading_page(session, course, found, form), 422
            give_points(session, found, acting(session), given)
    address = url_for("submissions_pages.show", public_id=public_id, notice="rubric-given", _anchor="rubric")
    return Response(status=303, headers={"Location": address})


def _typed(criteria: Iterable[tuple[int, Criterion | None]]) -> dict[str, str]:
    """The form's values for criteria in these rows; empty ones for None."""
    return {
        f"{part}_{row}": "" if each is None else typed_number(each.most) if part == "most" else getattr(each, part)
        for row, each in criteria
        for part in _PARTS
    }


def _typed_in_rows_of(form: Form, criteria: Sequence[Criterion]) -> dict[str, str]:
    """The saved values in the form's rows, which other people's changes may have moved. New criteria follow."""
    saved = {each.key: each for each in criteria}
    used = [row for row in range(MOST_CRITERIA) if any(form[f"{part}_{row}"] for part in _PARTS)]
    rows = {row: saved.pop(form[f"key_{row}"], None) for row in used}
    new = enumerate(saved.values(), start=max(used, default=-1) + 1)
    return _typed([*rows.items(), *new])


def _criterion(form: Form, row: int, known: set[str]) -> Criterion:
    key = form[f"key_{row}"]
    return Criterion(
        key if key in known else "",
        printable(form[f"title_{row}"]),
        form.number(f"most_{row}"),
        printable(form[f"text_{row}"]),
    )


def _rubric_page(session: Session, course: Membership, assignment: Assignment, form: Form, rows: int) -> str:
    waiting: dict[int, str] = {}
    graded = 0
    for person, grade in students_grades(session, assignment).items() if assignment.rubric else ():
        if grade.rubric is not None:
            graded += 1
        elif grade.counted is not None and not grade.excused:
            waiting[person] = grade.counted.entry.public_id
    listed = _ungraded(session, waiting)
    page = RubricPage(
        desk_of(course, "assignment"), assignment, form, range(min(rows, MOST_CRITERIA)), graded,
        listed, len(waiting) - len(listed),
    )  # fmt: skip
    return render_template("grades/rubric.html", page=page)


def _ungraded(session: Session, waiting: dict[int, str]) -> tuple[Ungraded, ...]:
    first = sorted(waiting)[:_LISTED]
    people = session.scalars(select(Person).where(Person.id.in_(first)).order_by(Person.name)).all()
    return tuple(Ungraded(one.id, one.name, one.email, waiting[one.id]) for one in people)


def _grading_page(session: Session, course: Membership, submission: Submission, form: Form | None) -> str:
    why = why_not(session, submission)
    if why:
        raise CourseError(why)
    grade = students_grades(session, submission.assignment, submission.person_id)[submission.person_id]
    sheet = sheet_of(session, submission, grade, as_staff=True)
    assert sheet is not None, "the submission counts, and there is a rubric"
    page = GradingPage(desk_of(course, "assignment"), submission, sheet, form or sheet_form(sheet))
    return render_template("grades/rubric_grading.html", page=page)


@staff.app_template_global()
def sheet_form(sheet: RubricSheet) -> Form:
    """The form with the points and words that were given so far."""
    values = {f"words_{each.criterion.key}": each.words for each in sheet.lines}
    points = {
        f"points_{each.criterion.key}": typed_number(each.points) for each in sheet.lines if each.points is not None
    }
    return filled(values | points)


def _submission(session: Session, course: Membership, assignment: str, public_id: str) -> Submission:
    """The submission to this assignment; 404 for any other."""
    found = session.scalar(
        select(Submission).where(
            Submission.public_id == public_id, Submission.assignment_id == assignment_of(session, course, assignment).id
        )
    )
    if found is None:
        raise nothing_here()
    return found
