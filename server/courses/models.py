"""Courses, memberships and assignments."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.accounts.models import Person
from server.database.base import Base, BigId, choice
from server.grading.models import Exercise


class Role(StrEnum):
    """What someone is in a course."""

    STUDENT = "student"
    ASSISTANT = "assistant"
    INSTRUCTOR = "instructor"


class Course(Base):
    """One term of a course. slug: its name in addresses."""

    __tablename__ = "courses"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    slug: Mapped[str] = mapped_column(String(60), unique=True)
    title: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    archived_at: Mapped[datetime | None]


class Membership(Base):
    """Who is in a course, as what."""

    __tablename__ = "memberships"
    __table_args__ = (UniqueConstraint("course_id", "person_id"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), index=True)
    role: Mapped[Role] = mapped_column(choice(Role))
    created_at: Mapped[datetime]

    course: Mapped[Course] = relationship()
    person: Mapped[Person] = relationship()


class Assignment(Base):
    """An exercise set in a course.

    slug: its name in addresses, within the course
    device_class: what it is measured on; "" where it is checked only
    arch: what it is compiled for
    tile: None for the exercise's own
    """

    __tablename__ = "assignments"
    __table_args__ = (
        UniqueConstraint("course_id", "slug"),
        CheckConstraint("points >= 0", name="points_not_negative"),
        CheckConstraint("due_at IS NULL OR opens_at IS NULL OR opens_at < due_at", name="opens_before_due"),
        CheckConstraint("tile IS NULL OR tile BETWEEN 1 AND 1024", name="tile_in_range"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id"))
    exercise_digest: Mapped[str] = mapped_column(ForeignKey("exercises.digest"))
    slug: Mapped[str] = mapped_column(String(60))
    title: Mapped[str] = mapped_column(String(200))
    device_class: Mapped[str] = mapped_column(String(48), default="")
    arch: Mapped[str] = mapped_column(String(16))
    tile: Mapped[int | None]
    points: Mapped[float] = mapped_column(default=0.0)
    opens_at: Mapped[datetime | None]
    due_at: Mapped[datetime | None]
    created_at: Mapped[datetime]

    course: Mapped[Course] = relationship()
    exercise: Mapped[Exercise] = relationship()
