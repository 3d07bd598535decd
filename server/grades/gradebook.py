"""The gradebook: a row for each student, a column for each assignment, with the points that count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy import Select, bindparam, exists, func, select
from sqlalchemy.orm import Session

from kernels.csv_tables import written
from kernels.wording import rounded_points
from server.courses.models import Assignment, Correction, Membership, Role
from server.courses.service import assignments_for
from server.fields import Text
from server.grades.grade import Decisions, Grade, grades
from server.grades.points import NOT_GRADED
from server.roster.service import SEARCHED, Member, Wanted, roster
from server.submissions.models import Mode, Submission
from server.teams.credit import credited
from server.teams.deadlines import team_deadlines

BEFORE, TOTAL, WHY, LAST = ("email", "name", "section"), "total", "why", "student_id"
COLUMNS = frozenset({*BEFORE, TOTAL, WHY, LAST})
"""The columns that aren't assignments. No assignment may have one of these short names."""


@dataclass(frozen=True, slots=True)
class GradesCriteria:
    """Which students of a gradebook.

    text: a part of a name, an email or a student ID
    dropped: yes to include dropped students
    """

    text: SEARCHED = ""
    section: SEARCHED = ""
    dropped: Annotated[str, Text("yes|no")] = "no"

    @property
    def students(self) -> Wanted:
        return Wanted(self.text, Role.STUDENT, self.section, "all" if self.dropped == "yes" else "here")


@dataclass(frozen=True, slots=True)
class Cell:
    """A student's result for an assignment.

    tries: all submissions and checks; submitted: without the checks
    closes_at: when it closes for the student or the team; None for never
    """

    grade: Grade
    tries: int
    submitted: int = 0
    closes_at: datetime | None = None

    @property
    def points(self) -> float:
        return self.grade.points or 0.0

    def missed(self, now: datetime) -> bool:
        """Whether the assignment closed for the student, who submitted nothing."""
        grade = self.grade
        closed = self.closes_at is not None and self.closes_at < now
        return closed and not self.submitted and grade.points is None and not grade.excused

    @property
    def shown(self) -> str:
        """The points; a word if there are none."""
        grade = self.grade
        if grade.excused:
            return "excused"
        if grade.points is not None:
            return rounded_points(grade.points)
        return "nothing yet" if self.tries else "–"

    @property
    def marks(self) -> tuple[str, ...]:
        """A word for everything that course staff or lateness changed. The grade's page says more."""
        grade = self.grade
        marks = {
            "set": grade.score is not None and not grade.excused,
            "late": bool(grade.late_days) and not grade.excused,
            "extended": grade.extended,
            "held": grade.held,
        }
        return tuple(word for word, applies in marks.items() if applies)


@dataclass(frozen=True, slots=True)
class Line:
    """A student's row. most: the most points possible, without assignments that the student is excused from."""

    member: Member
    cells: tuple[Cell, ...]
    most: float

    @property
    def total(self) -> float:
        """The sum of the points."""
        return sum((cell.points for cell in self.cells), 0.0)


@dataclass(frozen=True, slots=True)
class Gradebook:
    """The whole gradebook, in the order of the roster."""

    assignments: tuple[Assignment, ...]
    lines: tuple[Line, ...]

    @property
    def most(self) -> float:
        """The most points possible."""
        return sum(assignment.most_points for assignment in self.assignments)


def gradebook(
    session: Session, course_id: int, members: Sequence[Member] | None = None, slugs: Sequence[str] | None = None
) -> Gradebook:
    """Build the gradebook, with a few queries and one for each assignment.

    Leaves out assignments that students can't see, unless one of them has submitted.

    members: only the rows of these; None for all present students
    slugs: only the columns of these assignments; None for all but practice
    """
    shown = roster(session, course_id, GradesCriteria().students) if members is None else members
    people = _people(course_id, shown)
    assignments = _columns(session, course_id, slugs)
    tries = _tries(session, assignments, people)
    worth = grades(session, assignments, people)
    nothing = {one.id: Grade(closes_at=Decisions().deadlines(one).closes_at) for one in assignments}
    in_teams = team_deadlines(session, assignments)

    def cell(one: Assignment, person: int) -> Cell:
        grade = worth[one.id].get(person, nothing[one.id])
        shared = in_teams.get((one.id, person))
        closes_at = grade.closes_at if shared is None else shared.closes_at
        return Cell(grade, *tries.get(one.id, {}).get(person, (0, 0)), closes_at)

    lines = (_line(member, assignments, [cell(one, member.person_id) for one in assignments]) for member in shown)
    return Gradebook(tuple(assignments), tuple(lines))


def points_of(
    session: Session, course_id: int, members: Sequence[Member], slugs: Sequence[str] | None = None
) -> Mapping[int, float]:
    """The sum of each member's points, by the person's ID. slugs: only of these assignments; None for all."""
    assignments = _columns(session, course_id, slugs)
    worth = grades(session, assignments, _people(course_id, members))
    totals = dict.fromkeys((one.person_id for one in members), 0.0)
    for column in worth.values():
        for person, grade in column.items():
            totals[person] += grade.points or 0.0
    return totals


def grades_csv(book: Gradebook) -> str:
    """For a spreadsheet: a cell is empty if nothing counts, and 0 if the counted submission gets no points.

    An excused student has the word in place of the number. After the total comes why points aren't the full ones, in
    one column. The student ID is last, where programs expect new columns.
    """
    graded = [
        any(line.cells[place].grade.rubric is not None for line in book.lines) for place in range(len(book.assignments))
    ]
    header = [*BEFORE, *(assignment.slug for assignment in book.assignments), TOTAL, WHY, LAST]
    rows = (
        [
            line.member.email, line.member.name, line.member.section,
            *(_written(cell.grade) for cell in line.cells), number(line.total),
            "; ".join(_reasons(book, graded, line)), line.member.student_id,
        ]
        for line in book.lines
    )  # fmt: skip
    return written(header, rows)


PLAIN = {"moodle": ("Email address",), "canvas": ("Student", "SIS User ID", "Section")}
"""Forms of other platforms that need no IDs of theirs, with the first columns."""


def plain_csv(book: Gradebook, form: str) -> str:
    """The released grades in the form of a platform, with assignments by title.

    form: a key of PLAIN. Canvas finds students by their student IDs, so it gets only students with one.
    """
    cells = {"moodle": lambda one: [one.email], "canvas": lambda one: [one.name, one.student_id, one.section]}
    excused = {"canvas": "EX"}.get(form)
    rows = (
        [*cells[form](line.member), *(_released(cell.grade, excused) for cell in line.cells)]
        for line in book.lines
        if form != "canvas" or line.member.student_id
    )
    return written([*PLAIN[form], *(one.title for one in book.assignments)], rows)


def _reasons(book: Gradebook, graded: Sequence[bool], line: Line) -> Iterator[str]:
    """Why a student's points aren't the full ones, by assignment.

    graded: whether any student is graded by the assignment's rubric. If not, all lines would say so
    """
    for one, begun, cell in zip(book.assignments, graded, line.cells, strict=True):
        reasons = [why for why in cell.grade.why if begun or why != NOT_GRADED]
        if reasons and not cell.grade.excused:
            yield f"{one.slug}: {'; '.join(reasons)}"


def _released(grade: Grade, excused: str | None) -> float | int | str | None:
    return None if grade.held else excused if grade.excused else _written(grade)


def _people(course_id: int, members: Sequence[Member]) -> Select[int]:
    # Inlined: a course may have more people than a statement may have parameters.
    numbers = bindparam(
        None, [one.person_id for one in members], Membership.person_id.type, expanding=True, literal_execute=True
    )
    return select(Membership.person_id).where(Membership.course_id == course_id, Membership.person_id.in_(numbers))


def _columns(session: Session, course_id: int, slugs: Sequence[str] | None) -> list[Assignment]:
    """Assignments that students see or have submitted to. slugs: only these; None for all without practice."""
    every = assignments_for(session, course_id, Role.INSTRUCTOR)
    hidden = [one.id for one in every if not one.listed]
    students = select(Membership.person_id).where(Membership.course_id == course_id, Membership.role == Role.STUDENT)
    theirs = exists().where(Submission.assignment_id == Assignment.id, Submission.person_id.in_(students))
    used = set(session.scalars(select(Assignment.id).where(Assignment.id.in_(hidden), theirs)))
    shown = [one for one in every if one.listed or one.id in used]
    if slugs is not None:
        return [one for one in shown if one.slug in slugs]
    scored = _scored(session, [one.id for one in shown if one.practice])
    return [one for one in shown if not one.practice or one.id in scored]


def _scored(session: Session, practice: Sequence[int]) -> set[int]:
    """The practice for which course staff gave somebody points, which must not get lost."""
    if not practice:
        return set()
    query = select(Correction.assignment_id).where(Correction.assignment_id.in_(practice), Correction.score > 0)
    return set(session.scalars(query))


_Tries = Mapping[int, Mapping[int, tuple[int, int]]]
"""The number of submissions and checks, and of submissions, by assignment and person."""


def _tries(session: Session, assignments: Sequence[Assignment], people: Select[int]) -> _Tries:
    one = credited(assignments)
    submitted = func.count().filter(one.mode == Mode.RANK)
    query = (
        select(one.assignment_id, one.person_id, func.count(), submitted)
        .where(one.assignment_id.in_([each.id for each in assignments]), one.person_id.in_(people))
        .group_by(one.assignment_id, one.person_id)
    )
    found: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
    for assignment, person, *counts in session.execute(query):
        found[assignment][person] = (counts[0], counts[1])
    return found


def _line(member: Member, assignments: Sequence[Assignment], cells: Sequence[Cell]) -> Line:
    most = sum(one.most_points for one, cell in zip(assignments, cells, strict=True) if not cell.grade.excused)
    return Line(member, tuple(cells), most)


def _written(grade: Grade) -> float | int | str | None:
    if grade.excused:
        return "excused"
    return None if grade.points is None else number(grade.points)


def number(points: float) -> float | int:
    """The number with as few digits as needed: 10, 7.5, 3.33."""
    value = round(points, 2)
    return int(value) if value.is_integer() else value
