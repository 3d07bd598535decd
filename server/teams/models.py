"""Tables of teams and their members."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.accounts.models import Person
from server.courses.models import Assignment
from server.database.base import Base, BigId

LONGEST_NAME = 60

_PRESENT = text("left_at IS NULL")


class Team(Base):
    """Students who submit together to one assignment. Its members don't change once it has submitted.

    When course staff change such a team, its present members get a new row, and the old one keeps its submissions.

    name: for course staff; unique among the teams with present members
    code: with which a student joins it
    """

    __tablename__ = "teams"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"), index=True)
    name: Mapped[str] = mapped_column(String(LONGEST_NAME))
    code: Mapped[str] = mapped_column(String(40), unique=True)
    created_at: Mapped[datetime]

    assignment: Mapped[Assignment] = relationship()


class TeamMember(Base):
    """A student in a team.

    assignment_id: the team's, so that the database refuses a second present team
    left_at: when course staff moved the student; the team's earlier submissions still count
    """

    __tablename__ = "team_members"
    __table_args__ = (
        Index(None, "person_id", "assignment_id"),
        Index(
            "uq_team_members_present", "assignment_id", "person_id", unique=True, postgresql_where=_PRESENT,
            sqlite_where=_PRESENT,
        ),
    )  # fmt: skip

    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id"), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), primary_key=True)
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"))
    joined_at: Mapped[datetime]
    left_at: Mapped[datetime | None]

    team: Mapped[Team] = relationship()
    person: Mapped[Person] = relationship()
