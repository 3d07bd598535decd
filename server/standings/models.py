"""Standings: the best result of each person, by assignment and device class."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from server.database.base import Base


class Standing(Base):
    """One person's best on one board, written in the transaction that records the result.

    before_freeze: two boards are kept: this one as it is, and as it was when the assignment's board was frozen
    score: by the exercise's metric, turned so that more is better
    reached_at: when the submission was accepted; of two that are equal the earlier stands first
    """

    __tablename__ = "standings"
    __table_args__ = (
        Index(
            "ix_standings_board",
            "assignment_id",
            "device_class",
            "before_freeze",
            "score",
            "reached_at",
            "person_id",
        ),
    )

    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"), primary_key=True)
    device_class: Mapped[str] = mapped_column(String(48), primary_key=True)
    before_freeze: Mapped[bool] = mapped_column(primary_key=True, default=False)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), index=True)
    score: Mapped[float]
    reached_at: Mapped[datetime]
