"""People and their API tokens."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.database.base import Base, BigId


class Person(Base):
    """One who may sign in.

    email: in small letters, as it is compared
    password: an Argon2 hash; None for one who has set none yet
    erased_at: when everything that names the person was removed; the row stays, so that counts stay right
    """

    __tablename__ = "people"
    __table_args__ = (CheckConstraint("email = lower(email)", name="email_in_small_letters"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    email: Mapped[str] = mapped_column(String(254), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    password: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime]
    disabled_at: Mapped[datetime | None]
    erased_at: Mapped[datetime | None]


class ApiToken(Base):
    """What a program shows instead of a password. Kept as a hash: nobody can read a token out of the database.

    digest: SHA-256 of the token, which is random enough to need no salt
    """

    __tablename__ = "api_tokens"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), index=True)
    name: Mapped[str] = mapped_column(String(100))
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]

    person: Mapped[Person] = relationship()
