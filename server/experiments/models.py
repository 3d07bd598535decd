"""The table of experiments."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from server.database.base import Base, BigId


class Experiment(Base):
    """A set of jobs that course staff started. plan: the requested runs."""

    __tablename__ = "experiments"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    course_id: Mapped[int | None] = mapped_column(ForeignKey("courses.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"))
    name: Mapped[str] = mapped_column(String(200))
    plan: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
