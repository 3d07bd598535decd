"""The tables of experiments and their points."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, Integer, LargeBinary, String, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Assignment, Course, Exercise
from server.database.base import Base, BigId, choice

RESULT_BYTES = 64 * 2**10

_OPEN = text("verdict IS NULL")
_FAILED = text("verdict = 'system_error'")


class ExperimentState(StrEnum):
    """The state of an experiment. It is `running` until each point has a verdict, or until someone cancels it."""

    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


class Experiment(Base):
    """An experiment with its kernels.

    public_id: its ID in addresses
    plan: `definition`, as the experiment's file would have it, and `kernels`, the text of each by name
    exercise_id: the version that every point uses; None in rows of a version that ran no experiments
    points: how many it has; begun: how many have a row in `experiment_points`; ended: how many have a verdict
    tunes: whether it is a search, whose points follow from its results; `points` is its budget
    pauses: whether no point starts in the hours before a deadline of the course
    assignment_id: whose quota it uses; None for an experiment without a quota
    submission_id: the submission that it varies; None for one from a file
    shared_at: since when the class sees it; None if it doesn't
    pinned_id: the assignment whose page links to it
    """

    __tablename__ = "experiments"
    __table_args__ = (
        CheckConstraint("ended <= begun AND begun <= points", name="counts_ordered"),
        CheckConstraint("(ended_at IS NOT NULL) = (state IN ('done', 'cancelled'))", name="ended_when_over"),
        CheckConstraint("pinned_id IS NULL OR shared_at IS NOT NULL", name="pinned_is_shared"),
        Index(None, "course_id", "id"),
        Index(None, "assignment_id", "person_id", "created_at"),
        Index(
            "ix_experiments_running", "id",
            postgresql_where=text("state = 'running'"), sqlite_where=text("state = 'running'"),
        ),
    )  # fmt: skip

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    public_id: Mapped[str] = mapped_column(String(32), unique=True)
    course_id: Mapped[int | None] = mapped_column(ForeignKey("courses.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    plan: Mapped[dict[str, Any]] = mapped_column(deferred=True)
    state: Mapped[ExperimentState] = mapped_column(choice(ExperimentState), default=ExperimentState.RUNNING)
    exercise_id: Mapped[int | None] = mapped_column(ForeignKey("exercises.id"))
    device_class: Mapped[str] = mapped_column(String(48), default="")
    arch: Mapped[str] = mapped_column(String(16), default="")
    points: Mapped[int] = mapped_column(Integer, default=0)
    begun: Mapped[int] = mapped_column(Integer, default=0)
    ended: Mapped[int] = mapped_column(Integer, default=0)
    tunes: Mapped[bool] = mapped_column(default=False)
    pauses: Mapped[bool] = mapped_column(default=False)
    assignment_id: Mapped[int | None] = mapped_column(ForeignKey("assignments.id"))
    submission_id: Mapped[int | None] = mapped_column(ForeignKey("submissions.id"), index=True)
    shared_at: Mapped[datetime | None]
    pinned_id: Mapped[int | None] = mapped_column(ForeignKey("assignments.id"), index=True)
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]

    course: Mapped[Course | None] = relationship()
    person: Mapped[Person] = relationship()
    exercise: Mapped[Exercise | None] = relationship()
    assignment: Mapped[Assignment | None] = relationship(foreign_keys=assignment_id)
    pinned: Mapped[Assignment | None] = relationship(foreign_keys=pinned_id)


class ExperimentSubmission(Base):
    """A kernel of an experiment that is a submission. kernel: its name in the experiment."""

    __tablename__ = "experiment_submissions"

    experiment_id: Mapped[int] = mapped_column(ForeignKey("experiments.id"), primary_key=True)
    kernel: Mapped[str] = mapped_column(String(200), primary_key=True)
    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id"), index=True)


class ExperimentPoint(Base):
    """A point that has begun. Its values and its text follow from the experiment's plan.

    number: its place in the experiment, from 0
    variant: SHA-256 of what it compiles; points that differ in sizes alone have the same
    job_id: grades it; None for a point that is rejected without a run, or that waits to begin again
    result: kernels.experiment.result.PointResult, as compressed JSON; None while it has no verdict
    """

    __tablename__ = "experiment_points"
    __table_args__ = (
        CheckConstraint("(verdict IS NULL) = (result IS NULL)", name="verdict_with_result"),
        CheckConstraint(f"result IS NULL OR length(result) <= {RESULT_BYTES}", name="result_bounded"),
        Index(None, "experiment_id", "variant"),
        Index(
            "ix_experiment_points_open", "experiment_id", "number",
            postgresql_where=_OPEN, sqlite_where=_OPEN,
        ),
        Index(
            "ix_experiment_points_failed", "experiment_id",
            postgresql_where=_FAILED, sqlite_where=_FAILED,
        ),
    )  # fmt: skip

    experiment_id: Mapped[int] = mapped_column(ForeignKey("experiments.id"), primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True)
    variant: Mapped[str] = mapped_column(String(64))
    job_id: Mapped[int | None] = mapped_column(ForeignKey("jobs.id"), unique=True)
    verdict: Mapped[Verdict | None] = mapped_column(choice(Verdict, constrained=False))
    tile: Mapped[int | None]
    result: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
