"""Submissions and the sources in them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.accounts.models import Person
from server.courses.models import Assignment
from server.database.base import Base, BigId, choice
from server.grading.models import Job, Source


class Mode(StrEnum):
    """What a submission is for: checked only, or for the ranking too."""

    CHECK = "check"
    RANK = "rank"


class Submission(Base):
    """One source by one person for one assignment.

    public_id: its name in addresses, which tells nothing about how many there are
    device_class: what it is to be measured on; "" for nothing
    idempotency_key: what a client may send along so that a request made twice is one submission
    chosen_at: when its owner last said that this one counts
    request_digest: SHA-256 of what was asked with that key, so that another request with it is refused
    judged_job_id: the job that its verdict is from, see server.submissions.verdicts; None before there is one
    """

    __tablename__ = "submissions"
    __table_args__ = (
        UniqueConstraint("person_id", "idempotency_key"),
        CheckConstraint("(idempotency_key IS NULL) = (request_digest IS NULL)", name="key_with_digest"),
        Index(None, "assignment_id", "person_id", "created_at"),
        Index(None, "assignment_id", "created_at"),
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
    # Jobs name their submission, too: the key is looked at once a transaction ends, and left out of the tables' order.
    judged_job_id: Mapped[int | None] = mapped_column(
        ForeignKey("jobs.id", use_alter=True, deferrable=True, initially="DEFERRED")
    )

    assignment: Mapped[Assignment] = relationship()
    person: Mapped[Person] = relationship()
    source: Mapped[Source] = relationship()
    judged_job: Mapped[Job | None] = relationship(foreign_keys=judged_job_id, viewonly=True)
