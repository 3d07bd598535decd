"""Comments on submissions: read, written, removed and settled. Each function checks the rights itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import case, func, select, update
from sqlalchemy.orm import Session, joinedload

from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Assignment, Course, Membership
from server.courses.service import CourseError, hold_active_course, is_staff
from server.submissions.models import Submission
from server.submissions.service import reader_role
from server.talk.asker import unquoted
from server.talk.models import LONGEST_COMMENT, Comment, RegradeRequest
from server.talk.questions import answers_in
from server.teams.credit import belongs_to, is_for
from server.text import storable


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
    def answer(self) -> str:
        """What course staff wrote, without quoted lines."""
        return "\n\n".join(filter(None, (unquoted(each.text) for each in self.comments if each.by_staff)))

    @property
    def answered(self) -> bool:
        """Whether course staff wrote to a student's question."""
        return len({each.by_staff for each in self.comments}) > 1

    @property
    def new(self) -> bool:
        """Whether course staff wrote something that the owner hasn't seen."""
        return self.first.news_since is not None


@dataclass(frozen=True, slots=True)
class Asked:
    """What was said about a submission.

    comments: their number; new: threads with a comment that the owner hasn't seen
    request: the state of the newest regrade request: open, granted or refused; None for none
    """

    comments: int
    new: int
    request: str | None


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
        .options(joinedload(Comment.author), joinedload(Comment.answerer))
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


_OF_SUBMISSION = Comment.submission_id == Submission.id
_GRANTED = RegradeRequest.granted
ASKED = (
    select(func.count()).where(_OF_SUBMISSION, Comment.removed_at.is_(None)).scalar_subquery(),
    select(func.count()).where(_OF_SUBMISSION, Comment.news_since.is_not(None)).scalar_subquery(),
    select(case((_GRANTED.is_(None), "open"), (_GRANTED.is_(True), "granted"), else_="refused"))
    .where(RegradeRequest.submission_id == Submission.id)
    .order_by(RegradeRequest.id.desc())
    .limit(1)
    .scalar_subquery(),
)
"""In a query of submissions, the columns of `Asked`."""


def news_in(session: Session, person_id: int, course_id: int, limit: int) -> list[News]:
    """A person's submissions of a course with comments that the person hasn't seen, the newest first."""
    since = func.max(Comment.news_since)
    query = (
        select(Submission.public_id, Assignment.title, since)
        .join(Submission, Submission.id == Comment.submission_id)
        .join(Submission.assignment)
        .where(Comment.news_since.is_not(None), belongs_to(person_id), Assignment.course_id == course_id)
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
            belongs_to(person_id),
            Membership.person_id == person_id,
            Membership.dropped_at.is_(None),
        )
        .group_by(Course.slug)
    )
    return {row.slug: row.number for row in session.execute(query)}


MOST_COMMENTS = 200
"""On one submission, so that its page stays readable."""


def write_comment(
    session: Session,
    submission: Submission,
    author: Person | None,
    text: str,
    *,
    line: int | None = None,
    thread: int | None = None,
    now: datetime | None = None,
) -> Comment:
    """Store a comment; raises CourseError.

    author: None for the command line
    line: the line that a new thread is about; None for the whole submission
    thread: the ID of the thread to reply to; None for a new one
    """
    moment = now or datetime.now(UTC)
    written = _checked(text)
    hold_active_course(session, submission.assignment.course_id)
    staff = _writes_as_staff(session, submission, author)
    first = None if thread is None else _thread(session, submission, thread)
    if first is None and line is not None and not 1 <= line <= lines_of(submission):
        raise CourseError(f"The source has no line {line}. Its last line is {lines_of(submission)}.", ["line"])
    if _number(session, submission) >= MOST_COMMENTS:
        raise CourseError(f"This submission has {MOST_COMMENTS} comments, so it takes no more.")
    made = Comment(
        submission_id=submission.id, thread_id=None if first is None else first.id,
        line=line if first is None else None, author_id=None if author is None else author.id, by_staff=staff,
        text=written, created_at=moment,
    )  # fmt: skip
    session.add(made)
    session.flush()
    top = first or made
    if staff and not _has_answerer(session, submission, top):
        top.answerer_id = made.author_id
    _update_thread(top, made, owner=author is not None and is_for(session, submission, author.id))
    if staff:
        _note(session, author, "written", submission, made, moment)
    return made


def remove_comment(
    session: Session, submission: Submission, number: int, actor: Person | None, now: datetime | None = None
) -> None:
    """Remove a comment, as its author or as course staff; raises CourseError."""
    moment = now or datetime.now(UTC)
    hold_active_course(session, submission.assignment.course_id)
    staff = _writes_as_staff(session, submission, actor)
    found = session.scalar(
        select(Comment).where(Comment.id == number, Comment.submission_id == submission.id).with_for_update(of=Comment)
    )
    if found is None or found.removed_at is not None:
        return
    if not staff and (actor is None or found.author_id != actor.id):
        raise CourseError("You can remove only your own comments.")
    found.text, found.removed_at = "", moment
    first = found if found.thread_id is None else session.get_one(Comment, found.thread_id)
    session.flush()
    _update_rest(session, first)
    if staff:
        _note(session, actor, "removed", submission, found, moment)


def settle(
    session: Session, submission: Submission, thread: int, actor: Person | None, now: datetime | None = None
) -> None:
    """Take a thread off the list of open questions, as course staff; raises CourseError."""
    moment = now or datetime.now(UTC)
    if not _writes_as_staff(session, submission, actor):
        raise CourseError("Only course staff can do this.")
    first = _thread(session, submission, thread)
    if first.waits_since is not None:
        first.waits_since = None
        _note(session, actor, "settled", submission, first, moment)


def mark_read(session: Session, submission_id: int, now: datetime) -> None:
    """Note that the owner saw the comments of course staff until now."""
    news = update(Comment).where(Comment.submission_id == submission_id, Comment.news_since <= now)
    session.execute(news.values(news_since=None))


def lines_of(submission: Submission) -> int:
    """How many lines the source has, as its listing numbers them."""
    text = submission.source.content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text.rstrip(b"\n").count(b"\n") + 1


def _checked(text: str) -> str:
    written = storable(text[: 2 * LONGEST_COMMENT]).replace("\r\n", "\n").strip()
    if not written:
        raise CourseError("Enter a text.", ["text"])
    if len(written) > LONGEST_COMMENT:
        raise CourseError(f"This text is too long. The limit is {LONGEST_COMMENT:,} characters.", ["text"])
    return written


def _writes_as_staff(session: Session, submission: Submission, person: Person | None) -> bool:
    if person is None:
        return True
    role = reader_role(session, person.id, submission)
    if role is None:
        raise CourseError("Only its owner and course staff can comment on a submission.")
    return is_staff(role)


def _thread(session: Session, submission: Submission, number: int) -> Comment:
    found = session.scalar(
        select(Comment)
        .where(Comment.id == number, Comment.submission_id == submission.id, Comment.thread_id.is_(None))
        .with_for_update(of=Comment)
    )
    if found is None:
        raise CourseError("This comment doesn’t exist any more. Reload the page.")
    return found


def _number(session: Session, submission: Submission) -> int:
    query = select(func.count()).select_from(Comment).where(Comment.submission_id == submission.id)
    return session.scalar(query) or 0


def _has_answerer(session: Session, submission: Submission, first: Comment) -> bool:
    answerer = first.answerer
    return answerer is not None and answers_in(session, answerer, submission.assignment.course_id)


def _update_thread(first: Comment, made: Comment, *, owner: bool) -> None:
    if made.by_staff:
        first.waits_since = None
        first.news_since = first.news_since if owner else made.created_at
    else:
        first.waits_since = first.waits_since or made.created_at


def _update_rest(session: Session, first: Comment) -> None:
    """The state of a thread after one of its comments was removed."""
    left = session.execute(
        select(Comment.by_staff)
        .where((Comment.id == first.id) | (Comment.thread_id == first.id), Comment.removed_at.is_(None))
        .order_by(Comment.id)
    ).scalars()
    sides = left.all()
    if not sides or sides[-1]:
        first.waits_since = None
    if True not in sides:
        first.news_since = None


def _note(
    session: Session, actor: Person | None, what: str, submission: Submission, which: Comment, now: datetime
) -> None:
    subject, course = f"submission {submission.public_id}", submission.assignment.course_id
    note(session, actor, f"comment.{what}", subject, now=now, course_id=course, comment=which.id)
