"""Comments on submissions, for their owners and for course staff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, case, func, or_, select
from sqlalchemy.orm import Session, joinedload

from server.courses.models import Assignment, Course, Membership
from server.submissions.models import Submission
from server.talk.models import Comment


@dataclass(frozen=True, slots=True)
class Thread:
    """A comment with its replies, without removed ones. line: None for the whole submission."""

    first: Comment
    comments: Sequence[Comment]

    @property
    def line(self) -> int | None:
        return self.first.line

    @property
    def waits(self) -> bool:
        """Whether course staff should answer."""
        return self.first.waits_since is not None

    @property
    def new(self) -> bool:
        """Whether course staff wrote something that the owner hasn't seen."""
        return self.first.news_since is not None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many comments a submission has. new: threads with a comment that the owner hasn't seen."""

    comments: int
    new: int


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A thread that waits for course staff. last: its newest comment."""

    first: Comment
    last: Comment


@dataclass(frozen=True, slots=True)
class News:
    """A submission with comments that its owner hasn't seen."""

    public_id: str
    title: str
    since: datetime


def threads_of(session: Session, submission_id: int) -> list[Thread]:
    """The threads of a submission: first those about all of it, then by line."""
    query = (
        select(Comment)
        .where(Comment.submission_id == submission_id)
        .options(joinedload(Comment.author))
        .order_by(Comment.id)
    )
    firsts: dict[int, Comment] = {}
    comments: dict[int, list[Comment]] = {}
    for each in session.scalars(query):
        if each.thread_id is None:
            firsts[each.id] = each
        if each.removed_at is None:
            comments.setdefault(each.thread_id or each.id, []).append(each)
    found = [Thread(firsts[number], those) for number, those in comments.items()]
    return sorted(found, key=lambda thread: (thread.line or 0, thread.first.id))


def counts_of(session: Session, submission_id: int) -> Counts:
    """How many comments a submission has."""
    shown = func.count(case((Comment.removed_at.is_(None), 1)))
    query = select(shown, func.count(Comment.news_since)).where(Comment.submission_id == submission_id)
    comments, new = session.execute(query).one()
    return Counts(comments, new)


def open_questions(session: Session, course_id: int, limit: int) -> tuple[list[OpenQuestion], int]:
    """The threads of a course that wait for an answer, the longest waiting first, and how many there are."""
    waiting = select(Comment).where(*_waiting(course_id)).join(Comment.submission).join(Submission.assignment)
    found = session.scalars(
        waiting.options(
            joinedload(Comment.submission).joinedload(Submission.assignment),
            joinedload(Comment.submission).joinedload(Submission.person),
        )
        .order_by(Comment.waits_since, Comment.id)
        .limit(limit)
    ).all()
    last = _last_of(session, [each.id for each in found])
    return [OpenQuestion(each, last.get(each.id, each)) for each in found], count_open(session, course_id)


def count_open(session: Session, course_id: int) -> int:
    """How many questions of a course wait for an answer."""
    query = select(func.count()).select_from(Comment).join(Comment.submission).join(Submission.assignment)
    return session.scalar(query.where(*_waiting(course_id))) or 0


def news_in(session: Session, person_id: int, course_id: int, limit: int) -> list[News]:
    """A person's submissions of a course with comments that the person hasn't seen, the newest first."""
    since = func.max(Comment.news_since)
    query = (
        select(Submission.public_id, Assignment.title, since)
        .join(Submission, Submission.id == Comment.submission_id)
        .join(Submission.assignment)
        .where(Comment.news_since.is_not(None), Submission.person_id == person_id, Assignment.course_id == course_id)
        .group_by(Submission.public_id, Assignment.title)
        .order_by(since.desc())
        .limit(limit)
    )
    return [News(name, title, at) for name, title, at in session.execute(query) if at is not None]


def news_by_course(session: Session, person_id: int) -> Mapping[str, int]:
    """How many threads have comments that their owner hasn't seen, by the short name of the person's courses."""
    query = (
        select(Course.slug, func.count().label("number"))
        .select_from(Comment)
        .join(Submission, Submission.id == Comment.submission_id)
        .join(Submission.assignment)
        .join(Course, Course.id == Assignment.course_id)
        .join(Membership, Membership.course_id == Course.id)
        .where(
            Comment.news_since.is_not(None),
            Submission.person_id == person_id,
            Membership.person_id == person_id,
            Membership.dropped_at.is_(None),
        )
        .group_by(Course.slug)
    )
    return {row.slug: row.number for row in session.execute(query)}


def _waiting(course_id: int) -> tuple[ColumnElement[bool], ...]:
    return Comment.waits_since.is_not(None), Assignment.course_id == course_id


def _last_of(session: Session, threads: Sequence[int]) -> Mapping[int, Comment]:
    thread = func.coalesce(Comment.thread_id, Comment.id)
    newest = (
        select(func.max(Comment.id))
        .where(or_(Comment.id.in_(threads), Comment.thread_id.in_(threads)), Comment.removed_at.is_(None))
        .group_by(thread)
    )
    found = session.scalars(select(Comment).where(Comment.id.in_(newest)))
    return {each.thread_id or each.id: each for each in found}
