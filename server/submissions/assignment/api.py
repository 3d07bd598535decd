"""The API of assignments."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from flask import Blueprint, Response, jsonify

from server.accounts.identity import person_asking
from server.courses.models import Assignment, Counts
from server.courses.service import visible_assignments
from server.http.operation import Moment, operation
from server.http.site import site
from server.submissions.allowance import Allowance, allowances

assignments = Blueprint("assignments", __name__)


@dataclass(frozen=True, slots=True)
class AssignmentAnswer:
    """An assignment for you, with your extensions.

    id: COURSE/ASSIGNMENT, to submit with
    device_class: the GPU that measures it; "" for none
    open: whether it takes submissions now
    due_at: None for no deadline; closes_at: until when late submissions are possible, None for no end
    late_percent_per_day: the late penalty, in % of the points for each day started after `due_at`
    counts: which submission counts: the best, the last, or your chosen one
    attempts: your attempts in all; None if unlimited
    attempts_left: your attempts left; None if unlimited
    min_interval_seconds: between two submissions; checks_per_hour: your free checks per hour
    checks_left: your free checks left now
    page: the path of its page
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
    attempts_left: int | None
    min_interval_seconds: int
    checks_per_hour: int
    checks_left: int
    page: str


@dataclass(frozen=True, slots=True)
class AssignmentsAnswer:
    """Your assignments, by deadline."""

    assignments: tuple[AssignmentAnswer, ...]


@assignments.get("/assignments")
@operation(AssignmentsAnswer)
def listed() -> Response:
    """List the assignments of your active courses, with your deadlines and limits."""
    person = person_asking().id
    now = datetime.now(UTC)
    with site().readers.begin() as session:
        found = visible_assignments(session, person, now)
        mine = allowances(session, found, person, now)
        answers = tuple(_answer(each, mine[each.id], now) for each in found)
    return jsonify(asdict(AssignmentsAnswer(answers)))


def _answer(assignment: Assignment, mine: Allowance, now: datetime) -> AssignmentAnswer:
    deadlines = mine.deadlines
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
        attempts=mine.attempts,
        attempts_left=mine.left,
        min_interval_seconds=assignment.min_interval_seconds,
        checks_per_hour=mine.checks,
        checks_left=max(0, mine.checks - mine.checked),
        page=f"/courses/{course.slug}/{assignment.slug}/",
    )


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
