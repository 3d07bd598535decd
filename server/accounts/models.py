"""People, and what they come in with: browser sessions, one-time links, API tokens."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Integer, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.accounts.made_names import draw_name
from server.database.base import Base, BigId, choice


class Person(Base):
    """One who may sign in.

    email: in small letters, as it is compared
    password: an Argon2 hash; None for one who has set none yet
    admin: runs the whole server, and may in every course what an instructor may
    pseudonym: what the boards show instead of the name; None for `made_name`, which was drawn by chance
    shows_name: whether the boards show the name itself, once `proven_at` is known
    proven_at: since when the staff stand for it that the account is with whom its email belongs to: they made it, or
        handed out the link that was followed; None for one that somebody made with a code, for whichever email they
        typed
    time_zone: in which this person reads times, such as "Europe/Vienna"; "" for the course's
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
    admin: Mapped[bool] = mapped_column(default=False)
    pseudonym: Mapped[str | None] = mapped_column(String(40), unique=True)
    made_name: Mapped[str] = mapped_column(String(40), unique=True, default=draw_name)
    shows_name: Mapped[bool] = mapped_column(default=False)
    proven_at: Mapped[datetime | None]
    time_zone: Mapped[str] = mapped_column(String(64), default="")


class LinkPurpose(StrEnum):
    """What a one-time link lets its holder do: set a password, for the first time or anew."""

    INVITATION = "invitation"
    RESET = "reset"


class OneTimeLink(Base):
    """A link that works once. Kept as a hash, as tokens are.

    created_by: who of the staff handed it out; None for the command line
    """

    __tablename__ = "one_time_links"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), index=True)
    purpose: Mapped[LinkPurpose] = mapped_column(choice(LinkPurpose))
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    created_by: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]

    person: Mapped[Person] = relationship(foreign_keys=[person_id])


class BrowserSession(Base):
    """Someone signed in with a browser. The cookie holds a random token, of which the hash is kept.

    user_agent: as the browser called itself, so that its owner knows which one it is
    """

    __tablename__ = "browser_sessions"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), index=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    user_agent: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    used_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]

    person: Mapped[Person] = relationship()


class RateCount(Base):
    """How often something was done in a stretch of time, for its limit.

    subject: who or what is limited, such as "person 17" or a hashed address
    window: the number of the stretch since 1970
    """

    __tablename__ = "rate_counts"

    subject: Mapped[str] = mapped_column(String(120), primary_key=True)
    action: Mapped[str] = mapped_column(String(40), primary_key=True)
    window: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    count: Mapped[int] = mapped_column(Integer)


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
