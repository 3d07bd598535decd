"""What course staff see of one student."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from server.courses.models import Assignment, Extension, StaffNote
from server.staff.grades.gradebook import Cell, gradebook
from server.staff.roster.service import Member
from server.submissions.counted_submission import Deadlines, due_for
from server.submissions.grades.late_days import LateDays, late_days_at


@dataclass(frozen=True, slots=True)
class Work:
    """A student's work on one assignment. deadlines: with the student's extension; extension: None for none."""

    assignment: Assignment
    deadlines: Deadlines
    extension: Extension | None
    cell: Cell


@dataclass(frozen=True, slots=True)
class Student:
    """A student's points and extensions, by assignment.

    most: the most points possible, as in the gradebook
    late_days: None for a course without assignments
    """

    member: Member
    work: tuple[Work, ...]
    total: float
    most: float
    late_days: LateDays | None


def read_student(session: Session, course_id: int, member: Member) -> Student:
    """Read a student's points and extensions."""
    book = gradebook(session, course_id, [member])
    (line,) = book.lines
    granted = {
        one.assignment_id: one
        for one in session.scalars(
            select(Extension).where(
                Extension.person_id == member.person_id,
                Extension.assignment_id.in_([each.id for each in book.assignments]),
            )
        )
    }
    work = tuple(
        Work(each, due_for(each, granted.get(each.id)), granted.get(each.id), cell)
        for each, cell in zip(book.assignments, line.cells, strict=True)
    )
    days = late_days_at(session, book.assignments, member.person_id, datetime.now(UTC))
    return Student(member, work, line.total, line.most, next(iter(days.values()), None))


def read_notes(session: Session, course_id: int, person_id: int) -> Sequence[StaffNote]:
    """All notes about a student, the newest first."""
    query = (
        select(StaffNote)
        .where(StaffNote.course_id == course_id, StaffNote.person_id == person_id)
        .options(joinedload(StaffNote.author))
        .order_by(StaffNote.id.desc())
    )
    return session.scalars(query).all()
