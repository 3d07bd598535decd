"""Extensions: more time or attempts for single students."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from server.accounts.models import Person
from server.acts.act import Act, Nothing, Target
from server.acts.by_file import StudentFile
from server.acts.field import Asked, store, stored
from server.courses.models import Assignment, Extension, Role
from server.courses.service import CourseError
from server.fields import Range, Text
from server.roster.service import membership_of

Reason = Annotated[str, Text(longest=500), Asked(
    "Reason", "Only course staff see it. The student and the audit don’t.", private=True,
    help="Reason, for course staff only; not in the audit.",
)]  # fmt: skip
"""Private, because it may mention an illness."""


# fmt: off
@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """An extension, which replaces the student's present one.

    due_at, closes_at: instead of the assignment's times, with their zone; None for the assignment's
    extra_attempts: in addition to the assignment's
    reason: for course staff only
    """

    due_at: Annotated[datetime | None, Asked(
        "Due", form="extended_due_at",
        option="--due", help="Deadline instead of the assignment's.",
    )] = None
    closes_at: Annotated[datetime | None, Asked(
        "Closes", "Empty: as for the other students, but never before the due time.", form="extended_closes_at",
        option="--closes", help="Closing time instead of the assignment's.",
    )] = None
    extra_attempts: Annotated[int, Range(0, 1_000), Asked(
        "Extra attempts",
        option="--attempts", help="Additional attempts.  [default: 0]",
    )] = 0
    reason: Reason = ""
# fmt: on


def extensions(session: Session, assignment: Assignment) -> Sequence[Extension]:
    """An assignment's extensions, by the students' names."""
    query = select(Extension).where(Extension.assignment_id == assignment.id)
    found = session.scalars(query.options(joinedload(Extension.person))).all()
    return sorted(found, key=lambda one: (one.person.name.casefold(), one.person.email))


def _wrong(_session: Session, on: Target, given: Grant) -> dict[str, str]:
    """Mistakes by field, also for an extension that gives the student nothing."""
    assignment = on.assignment
    found: dict[str, str] = {}
    for name, word in (("due_at", "becomes due"), ("closes_at", "closes")):
        mine, usual = getattr(given, name), getattr(assignment, name)
        if mine is not None and usual is None:
            found[name] = f"The assignment never {word}. Leave this empty."
        elif mine is not None and mine <= usual:
            found[name] = f"The assignment itself {word} then or later. Enter a later time, or leave this empty."
    due = max((one for one in (given.due_at, assignment.due_at) if one is not None), default=None)
    if given.closes_at is not None and due is not None and due > given.closes_at:
        found.setdefault("closes_at", "The closing time can’t be before the due time.")
    if given.extra_attempts and assignment.attempts is None:
        found["extra_attempts"] = "The assignment has unlimited attempts. Leave this empty."
    if given.due_at is None and given.closes_at is None and not given.extra_attempts:
        found.setdefault("due_at", "Enter a later time or extra attempts.")
    return found


def _grant(session: Session, on: Target, actor: Person | None, given: Grant) -> list[Extension]:
    """Grant students an extension, which replaces their earlier ones; raises CourseError."""
    granted = []
    for person in on.people:
        if membership_of(session, on.course, person).role is not Role.STUDENT:
            raise CourseError("Only students have extensions. Staff can submit at any time.", ["person"])
        found = session.get(Extension, (on.assignment.id, person))
        if found is None:
            found = Extension(assignment_id=on.assignment.id, person_id=person)
        store(given, found)
        found.granted_by, found.created_at = None if actor is None else actor.id, datetime.now(UTC)
        session.add(found)
        session.flush()
        granted.append(found)
    return granted


def _withdraw(session: Session, on: Target, actor: Person | None, _: Nothing) -> bool:
    """Remove a student's extension; False if there was none."""
    found = session.get(Extension, (on.assignment.id, on.person))
    if found is None:
        return False
    session.delete(found)
    session.flush()
    return True


EXTENSION = Act(asks=Grant, do=_grant, audit="extension.granted", wrong=_wrong, lowers=True)
EXTENSIONS_FILE = StudentFile(
    "extensions",
    EXTENSION,
    lambda session, assignment: {one.person_id: stored(Grant, one) for one in extensions(session, assignment)},
)
WITHDRAWAL = Act(asks=Nothing, do=_withdraw, audit="extension.withdrawn", lowers=True)
