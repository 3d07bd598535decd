"""A course's people, grades, progress and submissions as the API returns them to course staff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from server.class_progress.listed import ProgressLine
from server.courses.models import Assignment
from server.grades.gradebook import Cell, Line
from server.roster.service import Member
from server.roster.students import Student, Work
from server.submissions.course_submissions import CourseSubmission


@dataclass(frozen=True, slots=True)
class RosterAnswer:
    """A part of a roster: staff first, then by name.

    total: all matches
    next: the next part's URL, None at the end
    """

    members: tuple[Member, ...]
    total: int
    next: str | None


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
class AssignmentProgressAnswer:
    """The progress of a course's students with an assignment.

    counts: the number of students in each state
    students: a part of the matching students
    total: all of them
    next: the next part's URL, None at the end
    """

    assignment: str
    counts: Mapping[str, int]
    students: tuple[ProgressLine, ...]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True)
class CourseSubmissionsAnswer:
    """A page of a course's submissions, the latest first.

    next: the URL of the next page; None on the last
    """

    submissions: tuple[CourseSubmission, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class StudentWorkAnswer:
    """A student's work on one assignment.

    due_at, closes_at: for this student, with the extension; None for no limit
    """

    title: str
    due_at: datetime | None
    closes_at: datetime | None
    grade: StudentGradeAnswer


@dataclass(frozen=True, slots=True)
class StudentAnswer:
    """A student in a course, with all assignments. total: the points; most: the most points possible."""

    member: Member
    work: tuple[StudentWorkAnswer, ...]
    total: float
    most: float


def graded_student(assignments: tuple[Assignment, ...], line: Line) -> GradedStudentAnswer:
    """A row of the gradebook. assignments: its columns."""
    member = line.member
    cells = zip(assignments, line.cells, strict=True)
    return GradedStudentAnswer(
        member.person_id, member.name, member.email, member.section, line.total, line.most,
        tuple(_grade(assignment, cell) for assignment, cell in cells),
    )  # fmt: skip


def student_answer(student: Student) -> StudentAnswer:
    """A student's points and deadlines."""
    work = tuple(map(_work, student.work))
    return StudentAnswer(student.member, work, student.total, student.most)


def _work(work: Work) -> StudentWorkAnswer:
    due_at, closes_at = work.deadlines.due_at, work.deadlines.closes_at
    return StudentWorkAnswer(work.assignment.title, due_at, closes_at, _grade(work.assignment, work.cell))


def _grade(assignment: Assignment, cell: Cell) -> StudentGradeAnswer:
    grade = cell.grade
    return StudentGradeAnswer(
        assignment.slug, grade.points, grade.computed, grade.score, grade.excused, grade.held, grade.extended,
        grade.late_days, None if grade.counted is None else grade.counted.entry.public_id, cell.tries,
    )  # fmt: skip
