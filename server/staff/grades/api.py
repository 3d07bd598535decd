"""The API of one student's grade: read it, override it, excuse the student, hold and release it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

from flask import Response, jsonify, request
from sqlalchemy.orm import Session

from server.accounts.identity import person_asking
from server.accounts.models import Scope
from server.courses.models import Assignment
from server.http.json_body import json_object
from server.http.operation import Text, operation
from server.http.site import site
from server.staff.api_desk import (
    CONFIRM,
    NAME,
    PERSON,
    REFUSES,
    assignment_here,
    course_for_staff,
    desk_of,
    lowering,
    read_change,
    refuse_wrong,
    staff_api,
    student_here,
)
from server.staff.assignments.service import LONGEST_REASON
from server.staff.desk import printable
from server.staff.grades.corrections import correct, decision_of, wrong_decision
from server.staff.losses import losses_confirmed, students_grades
from server.submissions.grades.grade import Grade

_PATH: Mapping[str, Any] = {"course": NAME, "assignment": NAME, "person": PERSON}
_GRADE = "/courses/<course>/assignments/<assignment>/grades/<int(max=9007199254740991):person>"
_DECIDES = {"override": "score", "excused": "excused", "held": "held", "reason": "reason"}
"""The fields of a request, and of the decision that they change."""


@dataclass(frozen=True, slots=True)
class CorrectionRequest:
    """A change of a student's grade. A missing field stays unchanged.

    override: the points instead of the computed ones; None to use the computed ones again
    excused: whether the assignment doesn't count for the student; an excused student has no `override`
    held: whether the student doesn't see the points yet
    reason: for course staff only; an `override` or an excuse needs one
    confirm: the value of `confirm` in the problem `lowers_points`
    """

    override: float | None = None
    excused: bool = False
    held: bool = False
    reason: Annotated[str, Text(longest=LONGEST_REASON)] = ""
    confirm: CONFIRM = ""


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
    asking = person_asking()
    with site().readers.begin() as session:
        here = course_for_staff(session, asking, course)
        found = assignment_here(session, here.slug, assignment)
        student_here(session, here.id, person)
        return jsonify(asdict(_answer(session, found, person)))


@staff_api.post(f"{_GRADE}/correction")
@lowering(CorrectedGradeAnswer, path=_PATH, takes=CorrectionRequest)
def correct_grade(course: str, assignment: str, person: int) -> Response:
    """Correct a student's grade, as an instructor. Regrades don't change the correction."""
    desk = desk_of(course, instructor=True)
    asked = read_change(CorrectionRequest)
    named = json_object(request.get_data(), (*_DECIDES, "confirm"))
    given: dict[str, Any] = {_DECIDES[name]: getattr(asked, name) for name in named if name in _DECIDES}
    if "reason" in given:
        given["reason"] = printable(asked.reason)
    with site().sessions.begin() as session:
        found = desk.assignment(session, assignment)
        desk.student(session, person)
        with losses_confirmed(session, found, asked.confirm, person):
            decision = replace(decision_of(session, found, person), **given)
            wrong = wrong_decision(decision)
            refuse_wrong({"override" if name == "score" else name: text for name, text in wrong.items()})
            correct(session, found, desk.actor(session), person, decision)
        answer = _answer(session, found, person)
    return jsonify(asdict(answer))


def _answer(session: Session, assignment: Assignment, person: int) -> CorrectedGradeAnswer:
    grades = students_grades(session, assignment, person)
    grade = grades.get(person, Grade(held=assignment.grades_held))
    decision = decision_of(session, assignment, person)
    return CorrectedGradeAnswer(
        person, assignment.slug, grade.points, grade.computed, decision.score, decision.excused, grade.held,
        assignment.grades_held, decision.reason, grade.why,
        None if grade.counted is None else grade.counted.entry.public_id,
    )  # fmt: skip
