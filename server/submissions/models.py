"""Tables of submissions, staged regrades, points by a rubric, exact copies and looked-at pairs."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Assignment, Exercise, HintStep
from server.database.base import Base, BigId, choice
from server.grading.models import NO_SOURCE, Job, Source
from server.submissions.hints import FAULTLESS, NEVER_RUN, Hints

LONGEST_REASON = 500
_NEWS = text("news_since IS NOT NULL")
REMOVED = "Source and findings were removed: the course ended, or the account was erased."


class Mode(StrEnum):
    """A free check, or a submission that counts."""

    CHECK = "check"
    RANK = "rank"


class Submission(Base):
    """One source by one person for one assignment, submitted or checked.

    public_id: its ID in addresses; random, so it doesn't reveal how many there are
    device_class: the GPU that measures it; "" for none
    idempotency_key: from the client; a repeated request with the same key is one submission
    request_digest: SHA-256 of the request with that key; a different request with it is refused
    chosen_at: when its owner last chose that this one counts
    judged_job_id: the job that gave the verdict, see server.submissions.verdicts; None before the first verdict
    verdict: of that job, copied so that an index finds it
    late_days: how many days of the course's late days cover this submission
    news_since: since when it has a verdict of a regrade, or an answer, that its owner hasn't seen
    finding_shown_at, edit_shown_at: when its student asked for these hints; None without asking
    team_id: the team that it counts for, see server.teams; None for its author only
    team_due_at: the latest deadline of the team's members when it was submitted; None for none
    """

    __tablename__ = "submissions"
    __table_args__ = (
        UniqueConstraint("person_id", "idempotency_key"),
        CheckConstraint("(idempotency_key IS NULL) = (request_digest IS NULL)", name="key_with_digest"),
        Index(None, "assignment_id", "person_id", "created_at"),
        Index(None, "assignment_id", "created_at"),
        Index("ix_submissions_news", "person_id", postgresql_where=_NEWS, sqlite_where=_NEWS),
        Index("ix_submissions_outcome", "assignment_id", "person_id", "mode", "verdict", "created_at"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    public_id: Mapped[str] = mapped_column(String(32), unique=True)
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), index=True)
    source_digest: Mapped[str] = mapped_column(ForeignKey("sources.digest"), index=True)
    mode: Mapped[Mode] = mapped_column(choice(Mode))
    device_class: Mapped[str] = mapped_column(String(48), default="")
    idempotency_key: Mapped[str | None] = mapped_column(String(200))
    request_digest: Mapped[str | None] = mapped_column(String(64))
    created_at: Mapped[datetime]
    chosen_at: Mapped[datetime | None]
    # Jobs refer to submissions too. So this key is checked at commit, and ignored when tables are sorted for creation.
    judged_job_id: Mapped[int | None] = mapped_column(
        ForeignKey("jobs.id", use_alter=True, deferrable=True, initially="DEFERRED"), index=True
    )
    verdict: Mapped[Verdict | None] = mapped_column(choice(Verdict, constrained=False))
    late_days: Mapped[int] = mapped_column(default=0)
    news_since: Mapped[datetime | None]
    finding_shown_at: Mapped[datetime | None]
    edit_shown_at: Mapped[datetime | None]
    team_id: Mapped[int | None] = mapped_column(ForeignKey("teams.id"), index=True)
    team_due_at: Mapped[datetime | None]

    assignment: Mapped[Assignment] = relationship()
    person: Mapped[Person] = relationship()
    source: Mapped[Source] = relationship()
    judged_job: Mapped[Job | None] = relationship(foreign_keys=judged_job_id, viewonly=True)

    @property
    def removed(self) -> str:
        """Why it has neither source nor findings any more; "" if it has them."""
        return REMOVED if self.source_digest == NO_SOURCE else ""

    def hints(self, *, staff: bool = False) -> Hints:
        """What its student sees of its mistake; course staff see all of it."""
        first = self.assignment.first_hint
        if staff or self.removed or self.edit_shown_at or self.verdict in FAULTLESS:
            return Hints(first, HintStep.EDIT)
        asked = self.finding_shown_at or self.verdict in NEVER_RUN
        return Hints(first, HintStep.FINDING if asked and first is HintStep.QUESTION else first)


class StagedRegrade(Base):
    """A regrade of one assignment that changes nothing until course staff apply it.

    It is deleted when it is applied or dropped; see server.regrades.staging.

    started_by: None for the command line
    filter: which submissions, in words; "" for all
    exercise_id: the version that applying gives the assignment; None for its present one
    """

    __tablename__ = "staged_regrades"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"), unique=True)
    started_by: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    started_at: Mapped[datetime]
    filter: Mapped[str] = mapped_column(Text, default="")
    exercise_id: Mapped[int | None] = mapped_column(ForeignKey("exercises.id"))

    assignment: Mapped[Assignment] = relationship()
    exercise: Mapped[Exercise | None] = relationship()


class RubricGrade(Base):
    """What course staff gave one student by an assignment's rubric. Regrades don't change it.

    submission_id: the submission that they read; the points stay if another one counts later
    points, words, items, adjustment, reason: see server.grades.criteria.Given
    graded_by: None for the command line
    """

    __tablename__ = "rubric_grades"
    __table_args__ = (UniqueConstraint("assignment_id", "person_id"), Index(None, "person_id"))

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"))
    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id"), index=True)
    points: Mapped[dict[str, Any]]
    words: Mapped[dict[str, Any]]
    items: Mapped[list[str]] = mapped_column(default=list)
    adjustment: Mapped[float] = mapped_column(default=0.0)
    reason: Mapped[str] = mapped_column(String(LONGEST_REASON), default="")
    graded_by: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    graded_at: Mapped[datetime]


class GradingShare(Base):
    """Who grades one student by an assignment's rubric.

    grader_id: whose share the student is in; None for unassigned
    claimed_by: who has the student's submission open, until `claimed_until`
    """

    __tablename__ = "grading_shares"
    __table_args__ = (Index(None, "person_id"),)

    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), primary_key=True)
    grader_id: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    claimed_by: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    claimed_until: Mapped[datetime | None]


class ExactCopy(Base):
    """A student's first submission of a file that another student submitted before, without the unchanged starter.

    of_id: the first submission of the file
    """

    __tablename__ = "exact_copies"
    __table_args__ = (Index(None, "of_id"), Index(None, "assignment_id"))

    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    of_id: Mapped[int] = mapped_column(ForeignKey("submissions.id"))
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"))


class LookedAtPair(Base):
    """Two similar submissions of two students that course staff looked at and found fine.

    left_id: the submission with the lower ID
    note: for course staff only
    looked_by: None for the command line
    """

    __tablename__ = "looked_at_pairs"
    __table_args__ = (CheckConstraint("left_id < right_id", name="left_is_lower"), Index(None, "right_id"))

    left_id: Mapped[int] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    right_id: Mapped[int] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    note: Mapped[str] = mapped_column(String(500), default="")
    looked_by: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    looked_at: Mapped[datetime]

    staff: Mapped[Person | None] = relationship()
