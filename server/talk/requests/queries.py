"""Regrade requests of a submission or a course."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session, joinedload

from server.courses.models import Assignment
from server.submissions.models import Submission
from server.talk.models import RegradeRequest


def requests_for(session: Session, submission_id: int) -> Sequence[RegradeRequest]:
    """The requests for a submission, the newest first."""
    query = select(RegradeRequest).where(RegradeRequest.submission_id == submission_id)
    return session.scalars(query.options(joinedload(RegradeRequest.answerer)).order_by(RegradeRequest.id.desc())).all()


def request_state(session: Session, submission_id: int) -> str:
    """The state of a submission's newest request: open, granted or refused; "" for none."""
    newest = next(iter(requests_for(session, submission_id)), None)
    if newest is None:
        return ""
    return "open" if newest.granted is None else "granted" if newest.granted else "refused"


def requests_in(
    session: Session, course_id: int, limit: int, *, answered: bool = False
) -> tuple[Sequence[RegradeRequest], int]:
    """The open requests of a course, the oldest first, or the newest answered ones; and how many there are."""
    found = (
        select(RegradeRequest)
        .join(RegradeRequest.submission)
        .join(Submission.assignment)
        .where(*_of(course_id, answered=answered))
    )
    newest = RegradeRequest.id.desc() if answered else RegradeRequest.id
    rows = session.scalars(
        found.options(
            joinedload(RegradeRequest.submission).joinedload(Submission.assignment),
            joinedload(RegradeRequest.submission).joinedload(Submission.person),
            joinedload(RegradeRequest.answerer),
        )
        .order_by(newest)
        .limit(limit)
    ).all()
    return rows, count_requests(session, course_id, answered=answered)


def count_requests(session: Session, course_id: int, *, answered: bool = False) -> int:
    """How many open or answered requests a course has."""
    query = select(func.count()).select_from(RegradeRequest).join(RegradeRequest.submission)
    return session.scalar(query.join(Submission.assignment).where(*_of(course_id, answered=answered))) or 0


def _of(course_id: int, *, answered: bool) -> tuple[ColumnElement[bool], ...]:
    at = RegradeRequest.answered_at
    return Assignment.course_id == course_id, at.is_not(None) if answered else at.is_(None)


def find_request(session: Session, course_id: int, number: int) -> RegradeRequest | None:
    """A request of this course; None for none."""
    return session.scalar(
        select(RegradeRequest)
        .join(RegradeRequest.submission)
        .join(Submission.assignment)
        .where(RegradeRequest.id == number, Assignment.course_id == course_id)
    )
