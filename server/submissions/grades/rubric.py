"""The points by a rubric, as the page of the submission that counts shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from server.courses.rubric import Criterion, criteria_of
from server.submissions.grades.grade import Grade, rubric_grades_of
from server.submissions.models import Submission


@dataclass(frozen=True, slots=True)
class SheetLine:
    """A criterion with what course staff gave. points: None if it isn't graded yet."""

    criterion: Criterion
    points: float | None
    words: str


@dataclass(frozen=True, slots=True)
class RubricSheet:
    """A student's rubric.

    kernel: the points for the kernel alone; kernel_most: the most for it
    graded_at: None if it isn't graded yet
    read: the public ID of an earlier submission that the points were given for; "" for this one
    """

    lines: tuple[SheetLine, ...]
    grade: Grade
    kernel: float
    kernel_most: float
    graded_at: datetime | None
    read: str


def sheet_of(session: Session, submission: Submission, grade: Grade, *, as_staff: bool) -> RubricSheet | None:
    """The rubric on a submission's page; None if another submission counts, or if the grade is held.

    grade: of the submission's owner
    """
    found = grade.counted
    if not grade.rubric_most or found is None or found.entry.submission_id != submission.id:
        return None
    if grade.held and not as_staff:
        return None
    assignment = submission.assignment
    given = rubric_grades_of(session, [assignment], submission.person_id).get(assignment.id)
    points, words = ({}, {}) if given is None else (given.points, given.words)
    read = None if given is None else session.get_one(Submission, given.submission_id)
    return RubricSheet(
        tuple(
            SheetLine(each, _counted(each, points), words.get(each.key, "")) for each in criteria_of(assignment.rubric)
        ),
        grade,
        found.points,
        assignment.points,
        None if given is None else given.graded_at,
        "" if read is None or read.id == submission.id else read.public_id,
    )


def _counted(criterion: Criterion, points: Mapping[str, float]) -> float | None:
    return min(points[criterion.key], criterion.most) if criterion.key in points else None
