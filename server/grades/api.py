"""The API of grades: the gradebook; read one grade, override it, excuse the student, hold and release it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from flask import Response, jsonify
from sqlalchemy.orm import Session

from server.accounts.identity import person_asking
from server.accounts.models import Scope
from server.acts.act import Target, assignment_target
from server.acts.by_api import change_by_json, of_assignment, request_of
from server.courses.models import Assignment
from server.courses.staff_api import (
    MOST_LINES,
    NAME,
    PERSON,
    REFUSES,
    REFUSES_CHANGE,
    assignment_here,
    lowering,
    note_export,
    page_of,
    read_as_staff,
    staff_api,
    student_here,
)
from server.fields import Range
from server.grades.corrections import CORRECTION, decision_of
from server.grades.grade import Grade
from server.grades.gradebook import Cell, GradesCriteria, Line, gradebook
from server.grades.grading import SPLIT
from server.grades.losses import students_grades
from server.grades.source_archive import SourcesQuery, source_archive
from server.http.operation import operation
from server.http.query import read_query
from server.roster.service import roster

_PATH: Mapping[str, Any] = {"course": NAME, "assignment": NAME, "person": PERSON}
_GRADE = "/courses/<course>/assignments/<assignment>/grades/<int(max=9007199254740991):person>"
_CorrectionRequest = request_of(CORRECTION, "CorrectionRequest")
_SplitRequest = request_of(SPLIT, "SplitRequest")


@dataclass(frozen=True, slots=True)
class GradesQuery(GradesCriteria):
    """The part of a gradebook to return.

    after: only lines behind this person, as in the `next` URL of an answer
    """

    after: PERSON | None = None
    limit: Annotated[int, Range(1, MOST_LINES)] = 100


@dataclass(frozen=True, slots=True)
class StudentGradeAnswer:
    """A student's grade for an assignment.

    assignment: its short name
    points: the points that count; None if nothing counts, or if the student is excused
    computed: the points of the submission that counts; None if nothing counts
    override: the points that course staff gave instead; None for no change
    held: whether the student doesn't see the points yet
    late_days: the late days that the points depend on
    submission: the ID of the submission that counts; None for none
    attempts: all submissions and checks
    """

    assignment: str
    points: float | None
    computed: float | None
    override: float | None
    excused: bool
    held: bool
    extended: bool
    late_days: int
    submission: str | None
    attempts: int


@dataclass(frozen=True, slots=True)
class GradedStudentAnswer:
    """A student's row. total: the sum of the points; most: the most points possible for this student."""

    person: int
    name: str
    email: str
    section: str
    student_id: str
    total: float
    most: float
    grades: tuple[StudentGradeAnswer, ...]


@dataclass(frozen=True, slots=True)
class GradebookAnswer:
    """A part of a gradebook, in the order of the roster.

    points: the most points for each assignment, by its short name
    total: all matching students; next: the next part's URL, None at the end
    """

    points: Mapping[str, float]
    students: tuple[GradedStudentAnswer, ...]
    total: int
    next: str | None


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


@staff_api.get("/courses/<course>/grades")
@operation(GradebookAnswer, path={"course": NAME}, query=GradesQuery, scope=Scope.STAFF, refuses=REFUSES)
def show_grades(course: str) -> Response:
    """Get the grades of your course, as course staff. The audit log records it as an export."""
    with read_as_staff(course) as (session, here):
        asked = read_query(GradesQuery)
        members = roster(session, here.id, asked.students)
        page, following = page_of(session, here, members, asked)
        book = gradebook(session, here.id, page)
    note_export(person_asking(), here, "grades", students=len(page))
    rows = tuple(_graded_student(book.assignments, line) for line in book.lines)
    points = {one.slug: one.most_points for one in book.assignments}
    return jsonify(GradebookAnswer(points, rows, len(members), following))


@staff_api.get("/courses/<course>/assignments/<assignment>/sources.zip")
@operation(
    str, media_type="application/zip", path={"course": NAME, "assignment": NAME}, query=SourcesQuery,
    scope=Scope.STAFF, refuses=REFUSES | {409: "The sources are too large for one file."},
)  # fmt: skip
def export_sources(course: str, assignment: str) -> Response:
    """Download the sources of an assignment as a zip file with an index, as course staff."""
    with read_as_staff(course) as (session, here):
        asked = read_query(SourcesQuery)
        found = assignment_here(session, here.slug, assignment)
        file = source_archive(session, found, asked.which)
    note_export(person_asking(), here, "submission", assignment=assignment)
    return Response(file, mimetype="application/zip")


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


@dataclass(frozen=True, slots=True)
class SplitAnswer:
    """students: how many are in the share now."""

    students: int


@staff_api.post("/courses/<course>/assignments/<assignment>/grading/split")
@operation(
    SplitAnswer, path={"course": NAME, "assignment": NAME}, takes=_SplitRequest, scope=Scope.STAFF,
    refuses=REFUSES_CHANGE,
)  # fmt: skip
def split_grading(course: str, assignment: str) -> Response:
    """Give the ungraded students of an assignment to graders, as an instructor."""
    return change_by_json(SPLIT, _SplitRequest, course, of_assignment(assignment), lambda *done: SplitAnswer(done[2]))


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


def _graded_student(assignments: tuple[Assignment, ...], line: Line) -> GradedStudentAnswer:
    member = line.member
    cells = zip(assignments, line.cells, strict=True)
    return GradedStudentAnswer(
        member.person_id, member.name, member.email, member.section, member.student_id, line.total, line.most,
        tuple(grade_of(assignment, cell) for assignment, cell in cells),
    )  # fmt: skip


def grade_of(assignment: Assignment, cell: Cell) -> StudentGradeAnswer:
    """A cell of the gradebook, as course staff see it."""
    grade = cell.grade
    return StudentGradeAnswer(
        assignment.slug, grade.points, grade.computed, grade.score, grade.excused, grade.held, grade.extended,
        grade.late_days, None if grade.counted is None else grade.counted.entry.public_id, cell.tries,
    )  # fmt: skip
