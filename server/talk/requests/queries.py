"""Regrade requests of a submission or a course."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from server.courses.models import Assignment
from server.submissions.models import Submission
from server.talk.models import RegradeRequest


def requests_for(session: Session, submission_id: int) -> Sequence[RegradeRequest]:
    """The requests for a submission, the newest first."""
    query = select(RegradeRequest).where(RegradeRequest.submission_id == submission_id)
    return session.scalars(
        query.options(joinedload(RegradeRequest.answerer)).order_by(RegradeRequest.id.desc())
    ).all()


def requests_in(
    session: Session, course_id: int, limit: int, *, answered: bool = False
) -> tuple[Sequence[RegradeRequest], int]:
    """The open requests of a course, the oldest first, or the newest answered ones; and how many there are."""
    found = (
        select(RegradeRequest)
        .join(RegradeRequest.submission)
        .join(Submission.assignment)
        .where(
            Assignment.course_id == course_id,
            RegradeRequest.answered_at.is_not(None) if answered else RegradeRequest.answered_at.is_(None),
        )
    )
    number = session.scalar(select(func.count()).select_from(found.subquery())) or 0
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
    return rows, number


def find_request(session: Session, course_id: int, number: int) -> RegradeRequest | None:
    """A request of this course; None for none."""
    return session.scalar(
        select(RegradeRequest)
        .join(RegradeRequest.submission)
        .join(Submission.assignment)
        .where(RegradeRequest.id == number, Assignment.course_id == course_id)
    )
