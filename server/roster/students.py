"""One student for course staff: submissions, grades, late days, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import LONGEST_NOTE, Accommodation, Assignment, Extension, StaffNote
from server.courses.service import CourseError
from server.grades.grade import LateDays, late_days_at
from server.grades.gradebook import Cell, gradebook
from server.roster.service import Member
from server.submissions.counted_submission import Deadlines, due_for


@dataclass(frozen=True, slots=True)
class Work:
    """A student's work on one assignment. deadlines: the student's own; extension: None for none."""

    assignment: Assignment
    deadlines: Deadlines
    extension: Extension | None
    cell: Cell


@dataclass(frozen=True, slots=True)
class Student:
    """A student's points and extensions, by assignment.

    most: the most points possible, as in the gradebook
    late_days: None for a course without assignments
    more_time: in all assignments; None for none
    """

    member: Member
    work: tuple[Work, ...]
    total: float
    most: float
    late_days: LateDays | None
    more_time: Accommodation | None


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
    more_time = session.get(Accommodation, (course_id, member.person_id))
    work = tuple(
        Work(each, due_for(each, granted.get(each.id), more_time), granted.get(each.id), cell)
        for each, cell in zip(book.assignments, line.cells, strict=True)
    )
    days = late_days_at(session, book.assignments, member.person_id, datetime.now(UTC))
    return Student(member, work, line.total, line.most, next(iter(days.values()), None), more_time)


def read_notes(session: Session, course_id: int, person_id: int) -> Sequence[StaffNote]:
    """All notes about a student, the newest first."""
    query = (
        select(StaffNote)
        .where(StaffNote.course_id == course_id, StaffNote.person_id == person_id)
        .options(joinedload(StaffNote.author))
        .order_by(StaffNote.id.desc())
    )
    return session.scalars(query).all()


def add_staff_note(
    session: Session, course_id: int, person_id: int, author: Person | None, text: str, now: datetime | None = None
) -> StaffNote:
    """Add a note; raises CourseError."""
    written = text.strip()
    if not written:
        raise CourseError("Enter a note.")
    if len(written) > LONGEST_NOTE:
        raise CourseError(f"This note is too long. The limit is {LONGEST_NOTE:,} characters.")
    moment = now or datetime.now(UTC)
    made = StaffNote(
        course_id=course_id, person_id=person_id, author_id=None if author is None else author.id, text=written,
        created_at=moment,
    )  # fmt: skip
    session.add(made)
    session.flush()
    note(session, author, "member.note_added", f"person {person_id}", now=moment, course_id=course_id)
    return made


def remove_staff_note(session: Session, course_id: int, person_id: int, number: int, actor: Person | None) -> bool:
    """Remove a note about a person; False if there is none."""
    found = session.get(StaffNote, number)
    if found is None or (found.course_id, found.person_id) != (course_id, person_id):
        return False
    session.delete(found)
    session.flush()
    note(session, actor, "member.note_removed", f"person {person_id}", course_id=course_id)
    return True
