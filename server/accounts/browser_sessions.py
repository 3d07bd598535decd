"""Sessions of signed-in browsers: begin one, find it by its cookie, end it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, bindparam, delete, func, select, update
from sqlalchemy.orm import Session

from server.accounts.digest import digest_of
from server.accounts.models import BrowserSession, Identity, Person

LIFETIME = timedelta(days=14)
IDLE = timedelta(days=3)
_USE_NOTED_EVERY = timedelta(minutes=5)
KEPT = timedelta(days=30)
"""After a session ends, so that the browser is recognised when its owner returns."""

_LONGEST_USER_AGENT = 200


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A live session and its person.

    stale: whether to record its use again; not on every request, so that reading a page writes nothing
    viewing: the IDs of the student and the course, while course staff look at it as this student
    """

    session_id: int
    stale: bool
    viewing: tuple[int, int] | None
    person_id: int
    name: str
    email: str
    admin: bool
    creates_courses: bool
    time_zone: str


def begin(session: Session, person: Person, user_agent: str, identity: tuple[int, str] | None = None) -> str:
    """Sign the person in; returns the cookie's value. The database keeps only its hash.

    identity: with which the person signed in, and the provider's name for the session
    """
    now = datetime.now(UTC)
    # Delete sessions that ended long ago, except the first: it dates the account's first use.
    first = select(func.min(BrowserSession.id)).where(BrowserSession.person_id == person.id)
    over = (
        BrowserSession.person_id == person.id,
        BrowserSession.expires_at < now - KEPT,
        BrowserSession.id != first.scalar_subquery(),
    )
    session.execute(delete(BrowserSession).where(*over))
    token = secrets.token_urlsafe(32)
    shown = "".join(character for character in user_agent if character.isprintable())
    session.add(
        BrowserSession(
            person_id=person.id,
            digest=digest_of(token),
            user_agent=shown[:_LONGEST_USER_AGENT],
            created_at=now,
            used_at=now,
            expires_at=now + LIFETIME,
            identity_id=None if identity is None else identity[0],
            provider_session=None if identity is None else identity[1] or None,
        )
    )
    session.flush()
    return token


def find(session: Session, token: str, now: datetime | None = None) -> SignedIn | None:
    """The session of this cookie; None if it ended, expired or was idle for too long."""
    moment = now or datetime.now(UTC)
    given = {"digest": digest_of(token), "now": moment, "idle_since": moment - IDLE}
    row = session.connection().execute(_LIVE, given).one_or_none()
    if row is None:
        return None
    number, used_at, student, course, *person = row
    viewing = (student, course) if student is not None and course is not None else None
    return SignedIn(number, used_at < moment - _USE_NOTED_EVERY, viewing, *person)


# Each page needs it, so it is made once. Its columns after the session's are the last fields of SignedIn.
_LIVE = (
    select(
        BrowserSession.id, BrowserSession.used_at, BrowserSession.viewing_id, BrowserSession.viewing_course_id,
        Person.id, Person.name, Person.email, Person.admin, Person.creates_courses, Person.time_zone,
    )
    .join(BrowserSession.person)
    .where(
        BrowserSession.digest == bindparam("digest"),
        BrowserSession.ended_at.is_(None),
        BrowserSession.expires_at > bindparam("now"),
        BrowserSession.used_at > bindparam("idle_since"),
        Person.disabled_at.is_(None),
        Person.erased_at.is_(None),
    )
)  # fmt: skip


def view_as(session: Session, session_id: int, student: int | None, course: int | None) -> None:
    """Let this browser show the course as the student sees it; None ends that."""
    session.execute(
        update(BrowserSession)
        .where(BrowserSession.id == session_id)
        .values(viewing_id=student, viewing_course_id=course)
    )


def belonged_to(session: Session, person_id: int, token: str) -> bool:
    """Whether the person was ever signed in with this cookie, even if that session is over."""
    if not token:
        return False
    kept = select(BrowserSession.id).where(
        BrowserSession.digest == digest_of(token), BrowserSession.person_id == person_id
    )
    return session.scalar(kept) is not None


def note_use(session: Session, session_id: int) -> None:
    now = datetime.now(UTC)
    session.execute(
        update(BrowserSession).where(BrowserSession.id == session_id, BrowserSession.used_at < now).values(used_at=now)
    )


def live_sessions(session: Session, person_id: int) -> Sequence[BrowserSession]:
    """The person's live sessions, the latest used first."""
    now = datetime.now(UTC)
    return session.scalars(
        select(BrowserSession)
        .where(
            BrowserSession.person_id == person_id,
            BrowserSession.ended_at.is_(None),
            BrowserSession.expires_at > now,
            BrowserSession.used_at > now - IDLE,
        )
        .order_by(BrowserSession.used_at.desc(), BrowserSession.id.desc())
    ).all()


def end(session: Session, person_id: int, session_id: int) -> bool:
    """End a session of the person; False if it belongs to another person or ended before."""
    return end_where(session, BrowserSession.id == session_id, BrowserSession.person_id == person_id) > 0


def beginning(session: Session, session_id: int) -> tuple[int, str] | None:
    """The identity with which this session began, and the provider's name for it; None after a password."""
    kept = session.get_one(BrowserSession, session_id)
    return None if kept.identity_id is None else (kept.identity_id, kept.provider_session or "")


def close(session: Session, session_id: int) -> None:
    """End a session at its browser's request."""
    end_where(session, BrowserSession.id == session_id)


def end_all(session: Session, person_id: int, *, but: int | None = None) -> int:
    """End all sessions of the person, for example after a change of password. but: the session to keep."""
    theirs = BrowserSession.person_id == person_id
    return end_where(session, theirs, *([] if but is None else [BrowserSession.id != but]))


def end_where(session: Session, *which: ColumnElement[bool]) -> int:
    """End the live sessions for which the conditions hold, and return their number."""
    ended = session.execute(
        update(BrowserSession)
        .where(BrowserSession.ended_at.is_(None), *which)
        .values(ended_at=datetime.now(UTC))
        .returning(BrowserSession.id)
    )
    return len(ended.all())


def disconnect_identities(session: Session, person: Person, *which: ColumnElement[bool]) -> int:
    """Let the person's identities, or those for which the conditions hold, no longer open the account."""
    found = session.scalars(select(Identity.id).where(Identity.person_id == person.id, *which)).all()
    began = BrowserSession.identity_id.in_(found)
    end_where(session, began)
    session.execute(update(BrowserSession).where(began).values(identity_id=None))
    session.execute(delete(Identity).where(Identity.id.in_(found)))
    return len(found)
