"""The late days of a course: how many a student has left, and how many a late submission spends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.courses.models import Assignment, Extension
from server.submissions.allowance import costs, extensions_of
from server.submissions.counted_submission import due_for, late_days
from server.submissions.models import Submission
from server.submissions.refusals import SpendsLateDays


@dataclass(frozen=True, slots=True)
class LateDays:
    """A student's late days at a moment.

    given: by the course; spent: in all its assignments
    here: how many of these cover this assignment
    late: how many days late a submission is now; 0 if that costs no points
    """

    given: int
    spent: int
    here: int
    late: int

    @property
    def left(self) -> int:
        return max(0, self.given - self.spent)

    @property
    def needed(self) -> int:
        """How many late days a submission spends now, once the student confirms."""
        return min(self.left, max(0, self.late - self.here))

    def covered(self, confirmed: int | None) -> int:
        """How many days of a submission are covered.

        confirmed: how many late days it may spend; 0 for the late penalty, None if the student wasn't asked

        raise (SpendsLateDays): it would spend more than the student confirmed
        """
        if self.needed and (confirmed is None or 0 < confirmed < self.needed):
            raise SpendsLateDays(self.needed, self.left)
        return min(self.late, self.here + (self.needed if confirmed else 0))


def late_days_of(session: Session, assignment: Assignment, person: int, now: datetime) -> LateDays:
    """A student's late days at one assignment."""
    return late_days_at(session, [assignment], person, now)[assignment.id]


def late_days_at(
    session: Session, assignments: Sequence[Assignment], person: int, now: datetime
) -> Mapping[int, LateDays]:
    """A student's late days at several assignments, by ID. Needs no more queries than one assignment.

    Submissions that use no attempt spend nothing. A later deadline gives late days back.
    """
    query = (
        select(Assignment, Submission.created_at, Submission.late_days)
        .join(Submission, Submission.assignment_id == Assignment.id)
        .where(
            Assignment.course_id.in_({one.course_id for one in assignments}),
            Submission.person_id == person,
            Submission.late_days > 0,
            costs(),
        )
    )
    covered = session.execute(query).all()
    known = {one.id for one in assignments} | {row[0].id for row in covered}
    extensions = extensions_of(session, known, person)
    spent: dict[int, dict[int, int]] = defaultdict(dict)
    for one, created_at, days in covered:
        there = spent[one.course_id]
        there[one.id] = max(there.get(one.id, 0), min(days, _late(one, extensions.get(one.id), created_at)))
    return {
        one.id: LateDays(
            one.course.late_days,
            sum(spent[one.course_id].values()),
            spent[one.course_id].get(one.id, 0),
            _late(one, extensions.get(one.id), now),
        )
        for one in assignments
    }


def _late(assignment: Assignment, extension: Extension | None, moment: datetime) -> int:
    if not assignment.late_percent_per_day:
        return 0
    return late_days(moment, due_for(assignment, extension))
