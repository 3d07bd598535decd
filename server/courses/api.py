"""What there is to hand in, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from flask import Blueprint, Response, jsonify
from sqlalchemy import select
from sqlalchemy.orm import Session

from server.courses.counting import attempts_for, due_for
from server.courses.models import Assignment, Counts, Extension
from server.courses.service import visible_assignments
from server.web.identity import person_asking
from server.web.operation import Moment, operation
from server.web.site import site

assignments = Blueprint("assignments", __name__)


@dataclass(frozen=True, slots=True)
class AssignmentAnswer:
    """An assignment as it is for you, extensions included.

    id: as it is named when something is handed in
    device_class: what it is measured on; "" where it is checked only
    open: whether something can be handed in now
    due_at: None where it is never late; closes_at: the last moment for late ones, None where there is none
    late_percent_per_day: of the points, lost for each day begun after `due_at`
    counts: which submission is graded: the best, the last, or the one that you chose
    attempts: how many submissions for the ranking you have in all; None for any number
    min_interval_seconds: between two submissions; checks_per_hour: how many may be checked only
    page: the address of its page
    """

    id: str
    course: str
    title: str
    exercise: str
    device_class: str
    points: float
    open: bool
    opens_at: Moment | None
    due_at: Moment | None
    closes_at: Moment | None
    late_percent_per_day: float
    counts: Counts
    attempts: int | None
    min_interval_seconds: int
    checks_per_hour: int
    page: str


@dataclass(frozen=True, slots=True)
class AssignmentsAnswer:
    """What there is to hand in, what is due first before the others."""

    assignments: tuple[AssignmentAnswer, ...]


@assignments.get("/assignments")
@operation(AssignmentsAnswer)
def listed() -> Response:
    """The assignments of your courses that go on, with your deadlines and limits."""
    person = person_asking().id
    now = datetime.now(UTC)
    with site().readers.begin() as session:
        found = visible_assignments(session, person, now)
        extensions = _extensions(session, person)
        answers = tuple(_answer(each, extensions.get(each.id), now) for each in found)
    return jsonify(asdict(AssignmentsAnswer(answers)))


def _extensions(session: Session, person: int) -> Mapping[int, Extension]:
    rows = session.scalars(select(Extension).where(Extension.person_id == person))
    return {row.assignment_id: row for row in rows}


def _answer(assignment: Assignment, extension: Extension | None, now: datetime) -> AssignmentAnswer:
    deadlines = due_for(assignment, extension)
    opened = assignment.opens_at is None or assignment.opens_at <= now
    course = assignment.course
    return AssignmentAnswer(
        id=f"{course.slug}/{assignment.slug}",
        course=course.title,
        title=assignment.title,
        exercise=assignment.exercise.name,
        device_class=assignment.device_class,
        points=assignment.points,
        open=opened and not deadlines.closed(now),
        opens_at=_moment(assignment.opens_at),
        due_at=_moment(deadlines.due_at),
        closes_at=_moment(deadlines.closes_at),
        late_percent_per_day=assignment.late_percent_per_day,
        counts=assignment.counts,
        attempts=attempts_for(assignment, extension),
        min_interval_seconds=assignment.min_interval_seconds,
        checks_per_hour=assignment.checks_per_hour,
        page=f"/courses/{course.slug}/{assignment.slug}/",
    )


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
