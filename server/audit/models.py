"""The audit log's table."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from server.database.base import Base, BigId

AREAS = (
    "access", "admin", "announcement", "assignment", "comment", "course", "exercise", "experiment", "extension",
    "grades", "identity", "invitation", "job", "lti", "member", "password", "person", "regrade", "request", "reset",
    "roster", "submission", "team", "token", "worker",
)  # fmt: skip
"""Areas of the audit log: the first words of actions."""


class AuditEvent(Base):
    """An entry of the audit log.

    actor_id: the person; None for the system or the command line
    action: such as "job.retried"
    subject: for example "job 17"
    course_id: the course; None for an action outside courses
    """

    __tablename__ = "audit_events"
    __table_args__ = (Index(None, "course_id", "id"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    at: Mapped[datetime] = mapped_column(index=True)
    actor_id: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    action: Mapped[str] = mapped_column(String(60))
    subject: Mapped[str] = mapped_column(String(200), index=True)
    detail: Mapped[dict[str, Any]]
    course_id: Mapped[int | None] = mapped_column(ForeignKey("courses.id"))
