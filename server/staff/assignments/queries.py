"""A course's assignments, as course staff see them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.courses.models import Assignment, Course, Extension, Role
from server.courses.service import assignments_for
from server.staff.assignments.exercise_update import is_judged
from server.submissions.models import Submission


@dataclass(frozen=True, slots=True)
class Line:
    """An assignment in the list.

    students: how many students submitted; refused: whether workers of this version refuse its submissions
    """

    assignment: Assignment
    students: int
    submissions: int
    extensions: int
    refused: bool


def lines(session: Session, course: Course) -> list[Line]:
    """All assignments of a course, with few queries."""
    found = assignments_for(session, course.id, Role.INSTRUCTOR)
    numbers = [one.id for one in found]
    counted = select(Submission.assignment_id, func.count(), func.count(Submission.person_id.distinct())).where(
        Submission.assignment_id.in_(numbers)
    )
    handed_in = {
        number: (every, people) for number, every, people in session.execute(counted.group_by(Submission.assignment_id))
    }
    granted = select(Extension.assignment_id, func.count()).where(Extension.assignment_id.in_(numbers))
    extended = dict(session.execute(granted.group_by(Extension.assignment_id)).all())
    return [
        Line(
            one, handed_in.get(one.id, (0, 0))[1], handed_in.get(one.id, (0, 0))[0],
            extended.get(one.id, 0), not is_judged(one.exercise),
        )
        for one in found
    ]  # fmt: skip
