"""Correct a student's grade: other points, an excuse, or held until it is released."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.acts.act import Act, Target
from server.acts.by_file import StudentFile
from server.acts.field import Asked, store, stored
from server.assignments.extensions import Reason
from server.assignments.settings import MOST_POINTS
from server.courses.models import Assignment, Correction, Role
from server.courses.service import CourseError
from server.fields import Range
from server.grades.losses import students
from server.roster.service import membership_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A change of a student's grade. A missing field stays unchanged.

    score: the points instead of the computed ones; None to use the computed ones again
    excused: whether the assignment doesn't count for the student; an excused student has no `score`
    held: whether the student doesn't see the points yet
    reason: for course staff only; needed with `score` or an excuse
    """

    score: Annotated[float | None, Range(0, MOST_POINTS), Asked(
        "Points", "Regrades and late penalties don’t change them. Empty: the computed points count.",
        json="override", option="POINTS",
    )] = None  # fmt: skip
    excused: Annotated[bool, Asked("Excused", "The assignment doesn’t count in the student’s total.")] = False
    held: Annotated[bool, Asked("Hold back", "The student sees verdicts, but no points until you clear this.")] = False
    reason: Reason = ""

    @property
    def changes_nothing(self) -> bool:
        return self.score is None and not self.excused and not self.held


def decision_of(session: Session, on: Target) -> Decision:
    """The present decision about a student's grade."""
    found = session.get(Correction, (on.assignment.id, on.person))
    return Decision() if found is None else stored(Decision, found)


def _wrong(_session: Session, _on: Target, given: Decision) -> dict[str, str]:
    found: dict[str, str] = {}
    if given.score is not None and given.excused:
        found["score"] = "An excused student has no points. Leave this empty, or don’t excuse the student."
    if (given.score is not None or given.excused) and not given.reason:
        found["reason"] = "Enter a reason."
    return found


def _correct(session: Session, on: Target, actor: Person | None, given: Decision) -> bool:
    """Replace the decision about a student's grade; False if it is the present one. Raises CourseError."""
    now, assignment = datetime.now(UTC), on.assignment
    if membership_of(session, on.course, on.person).role is not Role.STUDENT:
        raise CourseError("Only students have grades.")
    was = decision_of(session, on)
    if given.changes_nothing:
        given = Decision()
    if given == was:
        return False
    found = session.get(Correction, (assignment.id, on.person))
    if given.changes_nothing:
        session.delete(found)
    else:
        if found is None:
            found = Correction(assignment_id=assignment.id, person_id=on.person)
        store(given, found)
        found.corrected_by, found.corrected_at = None if actor is None else actor.id, now
        session.add(found)
    session.flush()
    return True


CORRECTION = Act(asks=Decision, do=_correct, audit="grades.corrected", present=decision_of, wrong=_wrong, lowers=True)


def _decisions(session: Session, assignment: Assignment) -> dict[int, Decision]:
    """The decisions about all students, also empty ones: so that an export can undo a later import."""
    query = select(Correction).where(Correction.assignment_id == assignment.id)
    none = dict.fromkeys(session.scalars(students(assignment)), Decision())
    return none | {one.person_id: stored(Decision, one) for one in session.scalars(query)}


CORRECTIONS_FILE = StudentFile("corrections", CORRECTION, _decisions)
