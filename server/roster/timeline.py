"""Everything that happened to one student in a course, by time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.audit.models import AuditEvent
from server.courses.models import Accommodation, Assignment, Course, Extension, Role
from server.courses.service import assignments_for
from server.submissions.counted_submission import due_for
from server.submissions.models import Mode, RubricGrade, Submission
from server.talk.models import Comment, ExtensionRequest, RegradeRequest
from server.teams.credit import belongs_to

MOST_ATTEMPTS = 1_000
"""The newest submissions and checks that a timeline has."""

_DECISIONS = {
    "grades.corrected": "Grade changed", "extension.granted": "Extension", "extension.withdrawn": "Extension removed",
    "extension.for_all": "More time in all assignments changed",
}  # fmt: skip


class Kind(StrEnum):
    """What happened. The values are CSS classes."""

    ACCEPTED = "accepted"
    FAILED = "failed"
    CHECK_ACCEPTED = "check-accepted"
    CHECK_FAILED = "check-failed"
    UNGRADED = "ungraded"
    QUESTION = "question"
    COMMENT = "comment"
    REQUEST = "request"
    GRADE = "grade"
    EXTENSION = "extension"


@dataclass(frozen=True, slots=True)
class Event:
    """Something at one moment. link: the path of its page."""

    at: datetime
    kind: Kind
    words: str
    link: str


@dataclass(frozen=True, slots=True)
class Lane:
    """What happened at one assignment, the earliest first. due_at: for this student; first_due_at: for all others."""

    assignment: Assignment
    events: tuple[Event, ...]
    due_at: datetime | None
    first_due_at: datetime | None


def read_timeline(session: Session, course_id: int, person_id: int) -> list[Lane]:
    """Read a student's timeline, with few queries."""
    assignments = assignments_for(session, course_id, Role.INSTRUCTOR)
    numbers = [one.id for one in assignments]
    extensions = {
        one.assignment_id: one
        for one in session.scalars(
            select(Extension).where(Extension.person_id == person_id, Extension.assignment_id.in_(numbers))
        )
    }
    more_time = session.get(Accommodation, (course_id, person_id))
    events: dict[int, list[Event]] = {number: [] for number in numbers}
    for read in (_attempts, _comments, _regrade_requests, _extension_requests, _rubric):
        for number, event in read(session, numbers, person_id):
            events[number].append(event)
    for number, event in _decisions(session, assignments, course_id, person_id):
        events[number].append(event)
    return [
        Lane(
            one,
            tuple(sorted(events[one.id], key=lambda event: event.at)),
            due_for(one, extensions.get(one.id), more_time).due_at,
            one.due_at,
        )
        for one in assignments
    ]


def _attempts(session: Session, numbers: Sequence[int], person_id: int) -> Iterator[tuple[int, Event]]:
    query = (
        select(
            Submission.assignment_id, Submission.created_at, Submission.mode, Submission.verdict, Submission.public_id
        )
        .where(belongs_to(person_id), Submission.assignment_id.in_(numbers))
        .order_by(Submission.id.desc())
        .limit(MOST_ATTEMPTS)
    )
    for number, at, mode, verdict, public_id in session.execute(query):
        check = mode is Mode.CHECK
        what = "Check" if check else "Submission"
        if verdict is None:
            kind, words = Kind.UNGRADED, f"{what}: no verdict"
        else:
            passed = verdict.value == "accepted"
            passes = Kind.CHECK_ACCEPTED if check else Kind.ACCEPTED
            kind, words = passes if passed else Kind.CHECK_FAILED if check else Kind.FAILED, f"{what}: {verdict.words}"
        yield number, Event(at, kind, words, f"/submissions/{public_id}")


def _comments(session: Session, numbers: Sequence[int], person_id: int) -> Iterator[tuple[int, Event]]:
    query = (
        select(Submission.assignment_id, Submission.public_id, Comment.created_at, Comment.by_staff, Comment.line)
        .join(Submission, Submission.id == Comment.submission_id)
        .where(belongs_to(person_id), Submission.assignment_id.in_(numbers), Comment.removed_at.is_(None))
    )
    for number, public_id, at, by_staff, line in session.execute(query):
        kind, words = (Kind.COMMENT, "Comment of course staff") if by_staff else (Kind.QUESTION, "Question")
        yield number, Event(at, kind, f"{words}, line {line}" if line else words, f"/submissions/{public_id}/comments")


def _regrade_requests(session: Session, numbers: Sequence[int], person_id: int) -> Iterator[tuple[int, Event]]:
    query = (
        select(Submission.assignment_id, Submission.public_id, RegradeRequest.created_at)
        .join(Submission, Submission.id == RegradeRequest.submission_id)
        .where(belongs_to(person_id), Submission.assignment_id.in_(numbers))
    )
    for number, public_id, at in session.execute(query):
        yield number, Event(at, Kind.REQUEST, "Regrade request", f"/submissions/{public_id}")


def _extension_requests(session: Session, numbers: Sequence[int], person_id: int) -> Iterator[tuple[int, Event]]:
    query = (
        select(ExtensionRequest.assignment_id, ExtensionRequest.created_at, ExtensionRequest.id, Course.slug)
        .join(Assignment, Assignment.id == ExtensionRequest.assignment_id)
        .join(Course, Course.id == Assignment.course_id)
        .where(ExtensionRequest.person_id == person_id, ExtensionRequest.assignment_id.in_(numbers))
    )
    for number, at, request, slug in session.execute(query):
        yield number, Event(at, Kind.REQUEST, "Extension request", f"/staff/{slug}/extension-requests/{request}")


def _rubric(session: Session, numbers: Sequence[int], person_id: int) -> Iterator[tuple[int, Event]]:
    query = (
        select(RubricGrade.assignment_id, RubricGrade.graded_at, Submission.public_id)
        .join(Submission, Submission.id == RubricGrade.submission_id)
        .where(RubricGrade.person_id == person_id, RubricGrade.assignment_id.in_(numbers))
    )
    for number, at, public_id in session.execute(query):
        yield number, Event(at, Kind.GRADE, "Graded by the rubric", f"/submissions/{public_id}")


def _decisions(
    session: Session, assignments: Sequence[Assignment], course_id: int, person_id: int
) -> Iterator[tuple[int, Event]]:
    """Decisions of course staff about this student, also undone ones, which only the audit has."""
    by_subject = {f"assignment {one.name}": [one] for one in assignments}
    for_all = {f"course {one.course.slug}": [each for each in assignments if each.due_at] for one in assignments[:1]}
    by_subject |= for_all
    query = select(AuditEvent).where(
        AuditEvent.course_id == course_id,
        AuditEvent.action.in_(_DECISIONS),
        AuditEvent.subject.in_(by_subject),
        AuditEvent.detail["person"].as_integer() == person_id,
    )
    for entry in session.scalars(query):
        kind = Kind.GRADE if entry.action.startswith("grades.") else Kind.EXTENSION
        words = f"{_DECISIONS[entry.action]}{_changed_points(entry.detail)}"
        for one in by_subject[entry.subject]:
            page = f"students/{person_id}" if entry.subject in for_all else f"grades/{one.slug}/{person_id}"
            yield one.id, Event(entry.at, kind, words, f"/staff/{one.course.slug}/{page}")


def _changed_points(detail: Mapping[str, object]) -> str:
    score = detail.get("score")
    if not isinstance(score, list) or len(score) != 2:
        return ""
    before, after = ("none set" if each is None else f"{each:g}" for each in score)
    return f": {before} → {after}"
