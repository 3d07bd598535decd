"""Signing in the command line: it shows a code, which a person confirms in a signed-in browser."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from enum import Enum, auto

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.orm import Session

from server.accounts.digest import digest_of
from server.accounts.models import DeviceLogin, Scope, scopes_in
from server.accounts.service import create_token, person_with_room
from server.audit.service import note

LIFETIME = timedelta(minutes=10)
INTERVAL = timedelta(seconds=5)
"""Between two questions of a command line."""
TOKEN_LIFETIME = timedelta(days=120)

# No vowels, so that no code is a word; a guess hits one of 25.6 billion.
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_CODE_LENGTH = 8
_LONGEST_HOST = 60
# So that the name can't pretend to be a sentence of the page.
_NOT_OF_HOSTS = re.compile(r"[^A-Za-z0-9._-]")


class Waits(Enum):
    """Why a command line gets no token. OVER: expired, used, or never there."""

    PENDING = auto()
    TOO_SOON = auto()
    REFUSED = auto()
    OVER = auto()


def begin(session: Session, host: str, now: datetime | None = None) -> tuple[str, str]:
    """The secret with which a command line asks, and the code for the person. Only the secret's hash is kept."""
    moment = now or datetime.now(UTC)
    session.execute(delete(DeviceLogin).where(DeviceLogin.expires_at <= moment))
    secret = secrets.token_urlsafe(32)
    code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH))
    called = _NOT_OF_HOSTS.sub("", host)[:_LONGEST_HOST] or "unknown"
    session.add(DeviceLogin(digest=digest_of(secret), code=code, host=called, expires_at=moment + LIFETIME))
    session.flush()
    return secret, code


def plain_code(typed: str) -> str:
    """The code in its stored form: without hyphens and spaces, in capitals."""
    return "".join(typed.upper().replace("-", " ").split())[: _CODE_LENGTH + 1]


def find_waiting(session: Session, code: str, now: datetime | None = None) -> DeviceLogin | None:
    """The undecided login with this code."""
    return session.scalar(select(DeviceLogin).where(*_undecided(code, now)))


def decide(session: Session, code: str, person_id: int, scopes: Collection[Scope], now: datetime | None = None) -> bool:
    """Let the command line act for the person within these scopes; without scopes, refuse it.

    Returns False if it is decided or expired.
    """
    decided = session.execute(
        update(DeviceLogin)
        .where(*_undecided(code, now))
        .values(person_id=person_id, scopes=" ".join(scope for scope in Scope if scope in scopes))
        .returning(DeviceLogin.id)
    )
    return decided.first() is not None


def token_for(session: Session, secret: str, now: datetime | None = None) -> str | Waits:
    """The token that a person allowed, once. Raises AccountError if the person has too many."""
    moment = now or datetime.now(UTC)
    login = session.scalar(select(DeviceLogin).where(DeviceLogin.digest == digest_of(secret)).with_for_update())
    if login is None or login.expires_at <= moment:
        return Waits.OVER
    if login.asked_at is not None and moment < login.asked_at + INTERVAL:
        return Waits.TOO_SOON
    login.asked_at = moment
    if login.person_id is None:
        return Waits.PENDING
    session.delete(login)
    if not login.scopes:
        return Waits.REFUSED
    person, present = person_with_room(session, login.person_id)
    if person.disabled_at is not None or person.erased_at is not None:
        return Waits.OVER
    made = create_token(
        session, person, _free_name(f"command line on {login.host}", {token.name for token in present}),
        lifetime=TOKEN_LIFETIME, scopes=scopes_in(login.scopes),
    )  # fmt: skip
    note(session, person, "token.created", f"person {person.id}")
    return made


def _undecided(code: str, now: datetime | None) -> tuple[ColumnElement[bool], ...]:
    return (
        DeviceLogin.code == code, DeviceLogin.person_id.is_(None), DeviceLogin.expires_at > (now or datetime.now(UTC)),
    )  # fmt: skip


def _free_name(name: str, taken: Collection[str]) -> str:
    numbered = (f"{name} {number}" for number in range(2, len(taken) + 3))
    return next(each for each in (name, *numbered) if each not in taken)
