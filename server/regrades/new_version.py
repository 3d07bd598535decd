"""Give an assignment another published version of the course's own exercise, after a preview of what changes."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.exercise import ExerciseError
from server.accounts.models import Person
from server.assignments.exercise_update import check_tile, update_exercise
from server.courses.models import Assignment, Exercise
from server.courses.service import CourseError, hold_course
from server.exercises.service import find_own, version_of
from server.exercises.stored import keep, kept_content
from server.regrades.staging import find_staged, stage
from server.submissions.models import Submission


def use_version(
    session: Session, assignment: Assignment, number: int, actor: Person | None, now: datetime | None = None
) -> bool:
    """Give an assignment this version, or stage a regrade by it if verdicts may change.

    return: whether a regrade is staged

    raise (CourseError): there is no such version, or a regrade is staged already
    """
    hold_course(session, assignment.course_id)
    session.refresh(assignment)
    row = _version(session, assignment, number)
    try:
        content = kept_content(session, row)
    except ExerciseError as error:
        raise CourseError(str(error)) from error
    check_tile(assignment, content)
    if find_staged(session, assignment) is not None:
        raise CourseError("A regrade of this assignment is staged. Apply or drop it first.")
    submitted = select(Submission.id).where(Submission.assignment_id == assignment.id).limit(1)
    if content.exercise.digest == assignment.exercise.digest or session.scalar(submitted) is None:
        update_exercise(session, assignment, actor, content=content, now=now)
        return False
    # Another judge may have read the stored row.
    row = keep(session, content, assignment.course_id, now or datetime.now(UTC))
    stage(session, assignment, actor, None, f"Version {number} of the exercise", now, row)
    return True


def _version(session: Session, assignment: Assignment, number: int) -> Exercise:
    present = assignment.exercise
    own = None if present.course_id is None else find_own(session, present.course_id, present.name)
    row = None if own is None else version_of(own, number)
    if row is None or row.number is None:
        raise CourseError(f"The exercise {present.name} has no published version {number}.")
    if row.number == present.number:
        raise CourseError(f"The assignment has version {number} already.")
    return row
