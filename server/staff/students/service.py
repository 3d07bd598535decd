"""Add and remove notes about students. The audit records both, without the text."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import LONGEST_NOTE, StaffNote
from server.courses.service import CourseError


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
