"""Tables of leaderboards: the best result of each person, by assignment and device class."""

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
    """A line of a leaderboard: one person's best result, written in the transaction that records the result.

    The columns that a leaderboard shows are copied from the result, so one table is read and sorted.

    device_class: "" for a leaderboard without a GPU: accepted kernels, no speeds
    before_freeze: whether the line is on the frozen leaderboard, which is stored next to the live one
    score: by the exercise's metric, higher is better; 0 if nothing is measured
    low: the lower end of its 95 % interval; high: the upper end
    reached_at: when the kernel was submitted; the earlier of two equal lines comes first. If nothing is measured, when
        the first accepted kernel was submitted
    lot: a random number that orders equal lines. IDs of people would reveal who is who: rosters are imported
        in the order of emails
    cublas_share, occupancy, tile: 0 for none
    bound: the modelled speed of light, with the sign of a score; only if nothing is measured
    listed: whether other students see it, as its person chose
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
    listed: Mapped[bool] = mapped_column(default=True)


class StandingCount(Base):
    """The number of lines with about the same score. A rank is the sum of the listed lines above.

    bucket: see `server.standings.ranks`
    listed: how many of them other students see
    """

    __tablename__ = "standing_counts"

    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"), primary_key=True)
    device_class: Mapped[str] = mapped_column(String(48), primary_key=True)
    before_freeze: Mapped[bool] = mapped_column(primary_key=True)
    bucket: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    count: Mapped[int]
    listed: Mapped[int] = mapped_column(default=0)
