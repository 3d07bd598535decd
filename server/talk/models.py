"""Tables of announcements."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.accounts.models import Person
from server.courses.models import Assignment
from server.database.base import Base, BigId

LONGEST_TITLE = 200


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
