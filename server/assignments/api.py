"""The API of assignments, for members of a course and for its staff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, Response, jsonify

from server.accounts.identity import person_asking
from server.accounts.models import Scope
from server.acts.act import Target
from server.acts.by_api import change_by_json, done_answer, of_assignment, request_of
from server.assignments.extensions import EXTENSION, WITHDRAWAL, extensions
from server.assignments.practice import PRACTICE
from server.courses.models import Assignment, Counts, Extension, SpeedBy
from server.courses.service import visible_assignments
from server.courses.staff_api import (
    NAME,
    PERSON,
    REFUSES,
    REFUSES_CHANGE,
    DoneAnswer,
    assignment_here,
    lowering,
    read_as_staff,
    staff_api,
)
from server.grades.grade import Grade, LateDays, late_days_at, own_grades
from server.http.operation import operation
from server.http.site import site
from server.submissions.allowance import Allowance, allowances

assignments = Blueprint("assignments", __name__)

_SETTINGS = (
    "title", "device_class", "late_percent_per_day", "late_percent_most", "goals_percent", "speed_by", "speed_tiers",
    "counts", "min_interval_seconds",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GradeAnswer:
    """Your grade for an assignment.

    points: None if you are excused, or if course staff hold your points back
    why: the reasons for the points, such as "2 days late, 20 % a day"
    submission: the ID of the submission that counts; None for none
    """

    points: float | None
    why: tuple[str, ...]
    excused: bool
    held: bool
    submission: str | None


@dataclass(frozen=True, slots=True)
class AssignmentAnswer:
    """An assignment for you, with your extensions.

    id: COURSE/ASSIGNMENT, to submit with
    device_class: the GPU that measures it; "" for none
    open: whether it takes submissions now
    due_at: None for no deadline; closes_at: until when late submissions are possible, None for no end
    late_percent_per_day: the late penalty, in % of the points for each day started after `due_at`
    late_percent_most: the highest late penalty, in %
    goals_percent: the share of the points of an accepted kernel that misses a goal, in %
    speed_by: what the tiers for speed compare
    speed_tiers: the percentages of the points by speed, such as "0:60 2000:80"
    late_days_left: your late days left in this course
    late_days_needed: how many of them a submission spends now, if you confirm
    grade: None if nothing counts yet
    counts: which submission counts: the best, the last, or your chosen one
    attempts: your attempts in all; None if unlimited
    attempts_left: your attempts left; None if unlimited
    min_interval_seconds: between two submissions; checks_per_hour: your free checks per hour
    checks_left: your free checks left now
    page: the path of its page
    practice: whether it has no points, no deadline and no measured speeds, so that no gradebook has it
    """

    id: str
    course: str
    title: str
    exercise: str
    device_class: str
    points: float
    open: bool
    opens_at: datetime | None
    due_at: datetime | None
    closes_at: datetime | None
    late_percent_per_day: float
    late_percent_most: float
    goals_percent: float
    speed_by: SpeedBy | None
    speed_tiers: str
    late_days_left: int
    late_days_needed: int
    grade: GradeAnswer | None
    counts: Counts
    attempts: int | None
    attempts_left: int | None
    min_interval_seconds: int
    checks_per_hour: int
    checks_left: int
    page: str
    practice: bool


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
        grades = own_grades(session, found, person)
        days = late_days_at(session, found, person, now)
        answers = tuple(_assignment_answer(each, mine[each.id], grades[each.id], days[each.id], now) for each in found)
    return jsonify(AssignmentsAnswer(answers))


def _assignment_answer(
    assignment: Assignment, mine: Allowance, grade: Grade, days: LateDays, now: datetime
) -> AssignmentAnswer:
    deadlines = mine.deadlines
    opened = assignment.opens_at is None or assignment.opens_at <= now
    course = assignment.course
    return AssignmentAnswer(
        **{name: getattr(assignment, name) for name in _SETTINGS},
        id=f"{course.slug}/{assignment.slug}",
        course=course.title,
        exercise=assignment.exercise.name,
        points=assignment.most_points,
        open=opened and not deadlines.closed(now),
        opens_at=assignment.opens_at,
        due_at=deadlines.due_at,
        closes_at=deadlines.closes_at,
        late_days_left=days.left,
        late_days_needed=days.needed,
        grade=_grade_answer(grade),
        attempts=mine.attempts,
        attempts_left=mine.left,
        checks_per_hour=mine.checks,
        checks_left=max(0, mine.checks - mine.checked),
        page=f"/courses/{course.slug}/{assignment.slug}/",
        practice=assignment.practice,
    )


def _grade_answer(grade: Grade) -> GradeAnswer | None:
    # Without a submission, a decision that isn't released must not show.
    if grade.counted is None and (grade.held or (grade.points is None and not grade.excused)):
        return None
    return GradeAnswer(
        points=None if grade.held else grade.points,
        why=() if grade.held else grade.why,
        excused=grade.excuse_released,
        held=grade.held,
        submission=None if grade.counted is None else grade.counted.entry.public_id,
    )


_PATH: Mapping[str, Any] = {"course": NAME, "assignment": NAME}
_ALL = "/courses/<course>/assignments/<assignment>/extensions"
_ONE = f"{_ALL}/<int(max=9007199254740991):person>"
_ExtensionRequest = request_of(EXTENSION, "ExtensionRequest")
_PracticeRequest = request_of(PRACTICE, "PracticeRequest")
_WithdrawalRequest = request_of(WITHDRAWAL, "WithdrawalRequest")


@dataclass(frozen=True, slots=True)
class ExtensionAnswer:
    """A student's extension. due_at, closes_at: None for the assignment's own."""

    person: int
    name: str
    email: str
    due_at: datetime | None
    closes_at: datetime | None
    extra_attempts: int
    reason: str


@dataclass(frozen=True, slots=True)
class ExtensionsAnswer:
    """An assignment's extensions, by the students' names."""

    extensions: tuple[ExtensionAnswer, ...]


@dataclass(frozen=True, slots=True)
class PracticeAnswer:
    """The new assignments, by short name."""

    assignments: tuple[str, ...]


@staff_api.post("/courses/<course>/practice")
@operation(PracticeAnswer, path={"course": NAME}, takes=_PracticeRequest, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def add_practice(course: str) -> Response:
    """Add exercises that come with Tilelab as practice, as an instructor."""
    return change_by_json(
        PRACTICE,
        _PracticeRequest,
        course,
        lambda session, desk: Target(desk.course(session)),
        lambda _session, _on, made: PracticeAnswer(tuple(one.slug for one in made)),
    )


@staff_api.get(_ALL)
@operation(ExtensionsAnswer, path=_PATH, scope=Scope.STAFF, refuses=REFUSES)
def show_extensions(course: str, assignment: str) -> Response:
    """List an assignment's extensions, as course staff."""
    with read_as_staff(course) as (session, here):
        found = extensions(session, assignment_here(session, here.slug, assignment))
        answer = ExtensionsAnswer(tuple(map(_extension_answer, found)))
    return jsonify(answer)


@staff_api.post(_ONE)
@lowering(ExtensionAnswer, path={**_PATH, "person": PERSON}, takes=_ExtensionRequest)
def grant_extension(course: str, assignment: str, person: int) -> Response:
    """Give a student more time or attempts, as an instructor."""
    return change_by_json(
        EXTENSION,
        _ExtensionRequest,
        course,
        of_assignment(assignment, person),
        lambda _session, _on, made: _extension_answer(*made),
    )


@staff_api.post(f"{_ONE}/withdraw")
@lowering(DoneAnswer, path={**_PATH, "person": PERSON}, takes=_WithdrawalRequest)
def withdraw_extension(course: str, assignment: str, person: int) -> Response:
    """Remove a student's extension, as an instructor."""
    return change_by_json(WITHDRAWAL, _WithdrawalRequest, course, of_assignment(assignment, person), done_answer)


def _extension_answer(extension: Extension) -> ExtensionAnswer:
    student = extension.person
    return ExtensionAnswer(
        student.id, student.name, student.email, extension.due_at,
        extension.closes_at, extension.extra_attempts, extension.reason,
    )  # fmt: skip
