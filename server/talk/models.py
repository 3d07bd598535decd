"""Tables of announcements, comments on submissions, regrade requests and extension requests."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.accounts.models import Person
from server.courses.models import Assignment
from server.database.base import Base, BigId
from server.submissions.models import Submission

LONGEST_TITLE = 200
LONGEST_COMMENT = 4_000
LONGEST_REQUEST = 2_000

_WAITS = text("waits_since IS NOT NULL")
_OPEN = text("answered_at IS NULL")
_NEWS = text("news_since IS NOT NULL")


class Announcement(Base):
    """A text by course staff for everyone who sees the course or one of its assignments.

    assignment_id: None for the whole course
    author_id: None for the command line
    text: Markdown
    changed_at: None if it never changed
    withdrawn_at: since then, only course staff see it
    """

    __tablename__ = "announcements"
    __table_args__ = (Index(None, "course_id", "id"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id"))
    assignment_id: Mapped[int | None] = mapped_column(ForeignKey("assignments.id"))
    author_id: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    title: Mapped[str] = mapped_column(String(LONGEST_TITLE))
    text: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]
    changed_at: Mapped[datetime | None]
    withdrawn_at: Mapped[datetime | None]

    assignment: Mapped[Assignment | None] = relationship()
    author: Mapped[Person | None] = relationship()


class SeenAnnouncement(Base):
    """When a person first saw an announcement."""

    __tablename__ = "seen_announcements"
    __table_args__ = (Index(None, "person_id"),)

    announcement_id: Mapped[int] = mapped_column(ForeignKey("announcements.id"), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), primary_key=True)
    seen_at: Mapped[datetime]


class Comment(Base):
    """A text by a submission's owner or by course staff about the submission, or about one of its lines.

    The first comment begins a thread. Its state is the thread's.

    thread_id: the first comment of its thread; None for the first one
    line: of the first comment; None for the whole submission
    author_id: None for the command line
    by_staff: whether the author was course staff when writing it
    text: plain text; "" for a removed comment
    waits_since: since when the thread waits for an answer of course staff
    news_since: since when the thread has a comment of course staff that the owner hasn't seen
    answerer_id: who of course staff answers the thread; None for nobody
    """

    __tablename__ = "comments"
    __table_args__ = (
        CheckConstraint("line IS NULL OR (line > 0 AND thread_id IS NULL)", name="line_of_thread"),
        Index(None, "submission_id", "id"),
        Index(None, "thread_id"),
        Index("ix_comments_waiting", "waits_since", postgresql_where=_WAITS, sqlite_where=_WAITS),
        Index("ix_comments_news", "submission_id", postgresql_where=_NEWS, sqlite_where=_NEWS),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id"))
    thread_id: Mapped[int | None] = mapped_column(ForeignKey("comments.id"))
    line: Mapped[int | None]
    author_id: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    by_staff: Mapped[bool]
    text: Mapped[str] = mapped_column(String(LONGEST_COMMENT))
    created_at: Mapped[datetime]
    removed_at: Mapped[datetime | None]
    waits_since: Mapped[datetime | None]
    news_since: Mapped[datetime | None]
    answerer_id: Mapped[int | None] = mapped_column(ForeignKey("people.id"))

    submission: Mapped[Submission] = relationship()
    author: Mapped[Person | None] = relationship(foreign_keys=[author_id])
    answerer: Mapped[Person | None] = relationship(foreign_keys=[answerer_id])


class SavedComment(Base):
    """A comment that course staff use again at other submissions.

    assignment_id: None for all assignments of the course
    """

    __tablename__ = "saved_comments"
    __table_args__ = (Index(None, "course_id", "id"), Index(None, "assignment_id"))

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id"))
    assignment_id: Mapped[int | None] = mapped_column(ForeignKey("assignments.id"))
    text: Mapped[str] = mapped_column(String(LONGEST_COMMENT))


class RegradeRequest(Base):
    """A student's request that course staff look at the grade of a submission again.

    granted: None while the request is open
    answer: for the student
    answered_by: None for the command line
    """

    __tablename__ = "regrade_requests"
    __table_args__ = (
        CheckConstraint("(granted IS NULL) = (answered_at IS NULL)", name="answered_once"),
        Index("uq_regrade_requests_open", "submission_id", unique=True, postgresql_where=_OPEN, sqlite_where=_OPEN),
        Index(None, "submission_id", "id"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id"))
    reason: Mapped[str] = mapped_column(String(LONGEST_REQUEST))
    created_at: Mapped[datetime]
    granted: Mapped[bool | None]
    answer: Mapped[str] = mapped_column(String(LONGEST_REQUEST), default="")
    answered_by: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    answered_at: Mapped[datetime | None]

    submission: Mapped[Submission] = relationship()
    answerer: Mapped[Person | None] = relationship()


class ExtensionRequest(Base):
    """A student's request for more time for an assignment.

    wanted_at: the deadline that the student asks for
    granted, answer, answered_by: as of a regrade request
    news_since: since when it has an answer that the student hasn't seen
    """

    __tablename__ = "extension_requests"
    __table_args__ = (
        CheckConstraint("(granted IS NULL) = (answered_at IS NULL)", name="answered_once"),
        Index(
            "uq_extension_requests_open",
            "assignment_id",
            "person_id",
            unique=True,
            postgresql_where=_OPEN,
            sqlite_where=_OPEN,
        ),
        Index(None, "assignment_id", "person_id", "id"),
        Index(None, "person_id"),
        Index("ix_extension_requests_news", "person_id", postgresql_where=_NEWS, sqlite_where=_NEWS),
        # Withdrawn requests are deleted. An answer from an old page must not meet another request.
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"))
    wanted_at: Mapped[datetime]
    reason: Mapped[str] = mapped_column(String(LONGEST_REQUEST))
    created_at: Mapped[datetime]
    granted: Mapped[bool | None]
    answer: Mapped[str] = mapped_column(String(LONGEST_REQUEST), default="")
    answered_by: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    answered_at: Mapped[datetime | None]
    news_since: Mapped[datetime | None]

    assignment: Mapped[Assignment] = relationship()
    person: Mapped[Person] = relationship(foreign_keys=[person_id])
    answerer: Mapped[Person | None] = relationship(foreign_keys=[answered_by])
