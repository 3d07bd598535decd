"""Correct a student's grade: other points, an excuse, or held until it is released."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Assignment, Correction, Role
from server.courses.service import CourseError, hold_course
from server.fields import Text
from server.staff.acts.act import Act, Asked
from server.staff.assignments.assignment_settings import MOST_POINTS
from server.staff.assignments.service import LONGEST_REASON
from server.staff.roster.service import membership_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A change of a student's grade. A missing field stays unchanged.

    score: the points instead of the computed ones; None to use the computed ones again
    excused: whether the assignment doesn't count for the student; an excused student has no `score`
    held: whether the student doesn't see the points yet
    reason: for course staff only; needed with `score` or an excuse
    """

    score: Annotated[float | None, Asked(json="override", argument="POINTS")] = None
    excused: bool = False
    held: bool = False
    reason: Annotated[
        str, Text(longest=LONGEST_REASON), Asked(help="Reason, for course staff only; not in the audit.")
    ] = ""

    @property
    def changes_nothing(self) -> bool:
        return self.score is None and not self.excused and not self.held


def decision_of(session: Session, assignment: Assignment, person_id: int) -> Decision:
    """The present decision about a student's grade."""
    found = session.get(Correction, (assignment.id, person_id), populate_existing=True)
    if found is None:
        return Decision()
    return Decision(score=found.score, excused=found.excused, held=found.held, reason=found.reason)


def wrong_decision(given: Decision) -> dict[str, str]:
    """Mistakes by field."""
    found: dict[str, str] = {}
    if given.score is not None and not 0 <= given.score <= MOST_POINTS:
        found["score"] = f"Points must be between 0 and {MOST_POINTS:,.0f}."
    elif given.score is not None and given.excused:
        found["score"] = "An excused student has no points. Leave this empty, or don’t excuse the student."
    if (given.score is not None or given.excused) and not given.reason:
        found["reason"] = "Enter a reason."
    elif len(given.reason) > LONGEST_REASON:
        found["reason"] = f"The reason is too long. The limit is {LONGEST_REASON} characters."
    return found


def correct(
    session: Session,
    assignment: Assignment,
    actor: Person | None,
    person_id: int,
    given: Decision,
    now: datetime | None = None,
) -> bool:
    """Replace the decision about a student's grade; False if it is the present one. Raises CourseError.

    The audit leaves the reason out: it may mention an illness.
    """
    moment = now or datetime.now(UTC)
    wrong = wrong_decision(given)
    if wrong:
        raise CourseError(next(iter(wrong.values())))
    hold_course(session, assignment.course_id)
    if membership_of(session, assignment.course, person_id).role is not Role.STUDENT:
        raise CourseError("Only students have grades.")
    was = decision_of(session, assignment, person_id)
    if given.changes_nothing:
        given = Decision()
    if given == was:
        return False
    found = session.get(Correction, (assignment.id, person_id))
    if given.changes_nothing:
        session.delete(found)
    else:
        if found is None:
            found = Correction(assignment_id=assignment.id, person_id=person_id)
        for name, value in asdict(given).items():
            setattr(found, name, value)
        found.corrected_by, found.corrected_at = None if actor is None else actor.id, moment
        session.add(found)
    session.flush()
    note(
        session, actor, "grades.corrected", f"assignment {assignment.course.slug}/{assignment.slug}", now=moment,
        course_id=assignment.course_id, person=person_id, **_changed(was, given),
    )  # fmt: skip
    return True


def _changed(was: Decision, now: Decision) -> dict[str, list[Any]]:
    pairs = ((name, getattr(was, name), getattr(now, name)) for name in ("score", "excused", "held"))
    return {name: [old, new] for name, old, new in pairs if old != new}


CORRECTION = Act(
    asks=Decision, present=decision_of, wrong=wrong_decision, do=correct, lowers=frozenset({"score", "excused"})
)
