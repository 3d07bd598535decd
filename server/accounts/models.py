"""People and their credentials: identities elsewhere, browser sessions, one-time links, API tokens."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Integer, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.accounts.random_names import draw_name
from server.database.base import Base, BigId, choice


class MailKind(StrEnum):
    """What an e-mail is about. ACCESS: a link for a password that someone asked for; TEST: nothing."""

    ANSWERS = "answers"
    RESULTS = "results"
    DEADLINES = "deadlines"
    ACCESS = "access"
    TEST = "test"


CHOSEN_MAILS = (MailKind.ANSWERS, MailKind.RESULTS, MailKind.DEADLINES)
"""The kinds that people can turn off."""


class Person(Base):
    """A person with an account.

    email: in small letters, for comparison
    password: an Argon2 hash; None until the person sets one
    admin: an operator, who may do in every course what an instructor may
    creates_courses: whether the person may create courses in the portal, as operators may
    pseudonym: shown on leaderboards instead of the name; None for the random `made_name`
    shows_name: whether leaderboards show the name itself, once `proven_at` is known
    listed: whether other students see the person's lines on leaderboards; copied to them
    proven_at: since when staff vouch that the email is this person's: they created the account or sent its link. None
        for an account that was made with an enrolment code
    time_zone: for this person's times, such as "Europe/Vienna"; "" for the course's
    mails_off: the kinds of e-mail that the person doesn't want, with a space between two
    erased_at: when the personal data was removed; the row stays, so that counts stay correct
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
    creates_courses: Mapped[bool] = mapped_column(default=False)
    pseudonym: Mapped[str | None] = mapped_column(String(40), unique=True)
    made_name: Mapped[str] = mapped_column(String(40), unique=True, default=draw_name)
    shows_name: Mapped[bool] = mapped_column(default=False)
    listed: Mapped[bool] = mapped_column(default=True)
    proven_at: Mapped[datetime | None]
    time_zone: Mapped[str] = mapped_column(String(64), default="")
    mails_off: Mapped[str] = mapped_column(String(100), default="")


class Identity(Base):
    """A person's account at an identity provider. The provider never gives the same subject to another person.

    email: as the provider named it last
    """

    __tablename__ = "identities"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), index=True)
    issuer: Mapped[str] = mapped_column(String(500))
    subject: Mapped[str] = mapped_column(String(255))
    email: Mapped[str] = mapped_column(String(254), default="")
    created_at: Mapped[datetime]
    used_at: Mapped[datetime]

    person: Mapped[Person] = relationship()


class LinkPurpose(StrEnum):
    INVITATION = "invitation"
    RESET = "reset"


class OneTimeLink(Base):
    """A link that works once. The database keeps only its hash.

    created_by: the staff member who created it, or the person who asked for it; None on the command line
    by_mail: whether Tilelab sends it. Then no one knows it until then
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
    by_mail: Mapped[bool] = mapped_column(default=False)

    person: Mapped[Person] = relationship(foreign_keys=[person_id])


class DeviceLogin(Base):
    """A command line that waits until a person confirms its code in a browser.

    digest: of the secret with which it asks; code: for the person to type
    host: as the command line calls its machine
    asked_at: when it last got an answer
    person_id: who decided; None until then. scopes: as of a token; "" until then, and if refused
    """

    __tablename__ = "device_logins"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    code: Mapped[str] = mapped_column(String(8), unique=True)
    host: Mapped[str] = mapped_column(String(60))
    expires_at: Mapped[datetime]
    asked_at: Mapped[datetime | None]
    person_id: Mapped[int | None] = mapped_column(ForeignKey("people.id"), index=True)
    scopes: Mapped[str] = mapped_column(String(60), default="")


class BrowserSession(Base):
    """A signed-in browser. The cookie holds a random token; the database keeps its hash.

    user_agent: as the browser calls itself, so that its owner recognises it
    identity_id: with which the person signed in; None for a password
    provider_session: the provider's own name for this session
    viewing_id, viewing_course_id: the student as whom course staff look at a course; None for themselves
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
    viewing_id: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    # The table of courses is in a package above this one.
    viewing_course_id: Mapped[int | None] = mapped_column(BigId)
    identity_id: Mapped[int | None] = mapped_column(ForeignKey("identities.id"), index=True)
    provider_session: Mapped[str | None] = mapped_column(String(255))

    person: Mapped[Person] = relationship(foreign_keys=[person_id])


class RateCount(Base):
    """How often an action happened in a window of time, for its limit.

    subject: the person or address that is limited, such as "person 17" or a hashed address
    window: the number of the window since 1970
    """

    __tablename__ = "rate_counts"

    subject: Mapped[str] = mapped_column(String(120), primary_key=True)
    action: Mapped[str] = mapped_column(String(40), primary_key=True)
    window: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    count: Mapped[int] = mapped_column(Integer)


class Scope(StrEnum):
    """What a token allows, within its owner's rights."""

    READ = "read"
    SUBMIT = "submit"
    STAFF = "staff"


class ApiToken(Base):
    """A program's credential. Only a hash is kept, so the database reveals no token.

    digest: SHA-256 of the token, which is random enough to need no salt
    scopes: their names, with a space between two
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
    scopes: Mapped[str] = mapped_column(String(60), default=" ".join(Scope))

    person: Mapped[Person] = relationship()

    @property
    def allows(self) -> tuple[Scope, ...]:
        return scopes_in(self.scopes)


def scopes_in(names: str) -> tuple[Scope, ...]:
    """The scopes of a token by its column."""
    return tuple(Scope(name) for name in names.split())
