"""What a person hasn't seen: comments, answers, changed verdicts and announcements.

Each part is new until its owner opens the page that shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from sqlalchemy import Select, func, select, update
from sqlalchemy.orm import Session

from server.courses.models import Assignment, Course, Membership
from server.submissions.models import Submission
from server.talk.announcements import unseen_announcements
from server.talk.models import Announcement, Comment, ExtensionRequest, RegradeRequest
from server.teams.credit import belongs_to


@dataclass(frozen=True, slots=True)
class NewsLine:
    """One thing that is new. what: in a few words; where: the assignment or the announcement's title."""

    what: str
    where: str
    course: str
    since: datetime
    address: str


def number_of_news(session: Session, person_id: int, now: datetime) -> int:
    """How much is new for a person, in one statement: every page asks for it."""
    parts = [
        _comments(person_id, Comment.id),
        _verdicts(person_id, Submission.id),
        _extensions(person_id, ExtensionRequest.id),
        unseen_announcements(person_id, now, Announcement.id),
    ]
    counted = [select(func.count()).select_from(part.subquery()).scalar_subquery() for part in parts]
    total = counted[0] + counted[1] + counted[2] + counted[3]
    return session.scalar(select(total)) or 0


def news_of(session: Session, person_id: int, now: datetime, limit: int) -> list[NewsLine]:
    """What is new for a person, the newest first."""
    return sorted(_lines(session, person_id, now, limit), key=attrgetter("since"), reverse=True)[:limit]


def mark_seen_extensions(session: Session, person_id: int, assignment_id: int, now: datetime) -> None:
    """Note that the student saw the answers to requests for an assignment."""
    seen = update(ExtensionRequest).where(
        ExtensionRequest.person_id == person_id, ExtensionRequest.assignment_id == assignment_id,
        ExtensionRequest.news_since <= now,
    )  # fmt: skip
    session.execute(seen.values(news_since=None))


def _lines(session: Session, person_id: int, now: datetime, limit: int) -> Iterator[NewsLine]:
    place = (Assignment.title, Course.slug)
    since = func.max(Comment.news_since)
    comments = _comments(person_id, Submission.public_id, *place, since, func.count())
    found = session.execute(comments.group_by(Submission.public_id, *place).order_by(since.desc()).limit(limit))
    for name, title, course, at, number in found:
        yield NewsLine(
            "New comment" if number == 1 else f"{number} new comments",
            title,
            course,
            at,
            f"/submissions/{name}/comments",
        )
    answered = (
        select(func.max(RegradeRequest.answered_at))
        .where(RegradeRequest.submission_id == Submission.id)
        .scalar_subquery()
    )
    verdicts = _verdicts(person_id, Submission.public_id, *place, Submission.news_since, answered)
    for name, title, course, at, answer in session.execute(
        verdicts.order_by(Submission.news_since.desc()).limit(limit)
    ):
        what = "Answer to your regrade request" if answer == at else "New verdict after a regrade"
        yield NewsLine(what, title, course, at, f"/submissions/{name}")
    extensions = _extensions(person_id, Assignment.slug, *place, ExtensionRequest.news_since)
    for slug, title, course, at in session.execute(extensions.limit(limit)):
        yield NewsLine("Answer to your extension request", title, course, at, f"/courses/{course}/{slug}/extension")
    announcements = unseen_announcements(person_id, now, Announcement.title, Course.slug, Announcement.created_at)
    for title, course, at in session.execute(announcements.order_by(Announcement.id.desc()).limit(limit)):
        yield NewsLine("Announcement", title, course, at, f"/courses/{course}/announcements")


def _comments(person_id: int, *columns: Any) -> Select[*tuple[Any, ...]]:
    """Threads with a comment that their owner, or the owner's team, hasn't seen."""
    query = select(*columns).select_from(Comment).join(Comment.submission)
    return _of_member(query.where(Comment.news_since.is_not(None), belongs_to(person_id)), person_id)


def _verdicts(person_id: int, *columns: Any) -> Select[*tuple[Any, ...]]:
    query = select(*columns).select_from(Submission)
    return _of_member(query.where(Submission.news_since.is_not(None), Submission.person_id == person_id), person_id)


def _extensions(person_id: int, *columns: Any) -> Select[*tuple[Any, ...]]:
    query = select(*columns).select_from(ExtensionRequest).join(ExtensionRequest.assignment)
    mine = query.where(ExtensionRequest.news_since.is_not(None), ExtensionRequest.person_id == person_id)
    return _in_course(mine, person_id)


def _of_member(query: Select[*tuple[Any, ...]], person_id: int) -> Select[*tuple[Any, ...]]:
    return _in_course(query.join(Submission.assignment), person_id)


def _in_course(query: Select[*tuple[Any, ...]], person_id: int) -> Select[*tuple[Any, ...]]:
    return (
        query.join(Course, Course.id == Assignment.course_id)
        .join(Membership, Membership.course_id == Course.id)
        .where(Membership.person_id == person_id, Membership.dropped_at.is_(None))
    )
