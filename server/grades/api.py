"""The API of one student's grade: read it, override it, excuse the student, hold and release it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, jsonify
from sqlalchemy.orm import Session

from server.accounts.models import Scope
from server.acts.act import Target, assignment_target
from server.acts.by_api import change_by_json, of_assignment, request_of
from server.courses.staff_api import (
    NAME,
    PERSON,
    REFUSES,
    assignment_here,
    lowering,
    read_as_staff,
    staff_api,
    student_here,
)
from server.grades.corrections import CORRECTION, decision_of
from server.grades.grade import Grade
from server.grades.losses import students_grades
from server.http.operation import operation

_PATH: Mapping[str, Any] = {"course": NAME, "assignment": NAME, "person": PERSON}
_GRADE = "/courses/<course>/assignments/<assignment>/grades/<int(max=9007199254740991):person>"
_CorrectionRequest = request_of(CORRECTION, "CorrectionRequest")


@dataclass(frozen=True, slots=True)
class CorrectedGradeAnswer:
    """A student's grade, with what course staff decided about it.

    points: the points that count; None if nothing counts, or if the student is excused
    computed: the points of the submission that counts; None if nothing counts
    override: the points that course staff gave instead; None for no change
    held: whether the student doesn't see the points yet; held_for_all: because the assignment holds all grades
    why: why the points aren't the full ones
    submission: the ID of the submission that counts; None for none
    """

    person: int
    assignment: str
    points: float | None
    computed: float | None
    override: float | None
    excused: bool
    held: bool
    held_for_all: bool
    reason: str
    why: tuple[str, ...]
    submission: str | None


@staff_api.get(_GRADE)
@operation(CorrectedGradeAnswer, path=_PATH, scope=Scope.STAFF, refuses=REFUSES)
def show_grade(course: str, assignment: str, person: int) -> Response:
    """Get a student's grade for an assignment with its correction, as course staff."""
    with read_as_staff(course) as (session, here):
        found = assignment_here(session, here.slug, assignment)
        student_here(session, here.id, person)
        return jsonify(_answer(session, assignment_target(found, person)))


@staff_api.post(f"{_GRADE}/correction")
@lowering(CorrectedGradeAnswer, path=_PATH, takes=_CorrectionRequest)
def correct_grade(course: str, assignment: str, person: int) -> Response:
    """Correct a student's grade, as an instructor. Regrades don't change the correction."""
    return change_by_json(CORRECTION, _CorrectionRequest, course, of_assignment(assignment, person), _answer)


def _answer(session: Session, on: Target, _changed: bool = False) -> CorrectedGradeAnswer:
    assignment, person = on.assignment, on.person
    grades = students_grades(session, assignment, person)
    grade = grades.get(person, Grade(held=assignment.grades_held))
    decision = decision_of(session, on)
    return CorrectedGradeAnswer(
        person, assignment.slug, grade.points, grade.computed, decision.score, decision.excused, grade.held,
        assignment.grades_held, decision.reason, grade.why,
        None if grade.counted is None else grade.counted.entry.public_id,
    )  # fmt: skip
