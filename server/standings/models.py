"""Standings: the best result of each person, by assignment and device class."""

from __future__ import annotations

import secrets
from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from server.database.base import Base


def _order(*columns: str) -> Index:
    name = "board" if columns[0] == "score" else columns[0]
    return Index(f"ix_standings_{name}", "assignment_id", "device_class", "before_freeze", *columns)


class Standing(Base):
    """One person's best on one board, written in the transaction that records the result.

    What a line of the board shows is copied here from the result: a board is read, and put in order, from one table.

    device_class: "" for the board of what is checked only, on which a right kernel stands and no speed
    before_freeze: two boards are kept: this one as it is, and as it was when the assignment's board was frozen
    score: by the exercise's metric, turned so that more is better; 0 where nothing is measured
    low, high: the 95 % interval of the score
    reached_at: when the submission was accepted; of two that are equal the earlier stands first. Where nothing is
        measured, when the first right one was accepted
    lot: drawn by chance when the line was made; it decides between lines that are equal. A person's number would tell
        students who is who: a roster is read in the order of its emails
    cublas_share, occupancy, tile: 0 where there is none
    bound: the modelled speed of light, turned as the score is; only where nothing is measured
    """

    __tablename__ = "standings"
    __table_args__ = (
        _order("score", "reached_at", "lot"),
        _order("reached_at", "lot"),
        _order("cublas_share", "lot"),
        _order("occupancy", "lot"),
    )

    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"), primary_key=True)
    device_class: Mapped[str] = mapped_column(String(48), primary_key=True)
    before_freeze: Mapped[bool] = mapped_column(primary_key=True, default=False)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), index=True)
    score: Mapped[float]
    low: Mapped[float] = mapped_column(default=0.0)
    high: Mapped[float] = mapped_column(default=0.0)
    reached_at: Mapped[datetime]
    lot: Mapped[int] = mapped_column(BigInteger, default=lambda: secrets.randbits(62))
    cublas_share: Mapped[float] = mapped_column(default=0.0)
    occupancy: Mapped[float] = mapped_column(default=0.0)
    tile: Mapped[int] = mapped_column(default=0)
    launch: Mapped[str] = mapped_column(String(80), default="")
    bound: Mapped[float] = mapped_column(default=0.0)


class StandingCount(Base):
    """How many stand on a board with about the same score: a place is the sum of those above, however many they are.

    bucket: see server.standings.ranks
    """

    __tablename__ = "standing_counts"

    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"), primary_key=True)
    device_class: Mapped[str] = mapped_column(String(48), primary_key=True)
    before_freeze: Mapped[bool] = mapped_column(primary_key=True)
    bucket: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    count: Mapped[int]
