"""Our key, with which platforms recognise us."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Annotated, Any

from joserfc import jwt
from joserfc.jwk import RSAKey
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.acts.act import Act, Target
from server.acts.field import Asked
from server.audit.service import note
from server.courses.service import CourseError
from server.lti.models import LtiKey

_VALID_SECONDS = 300
_BITS = 2048
PUBLISHED = timedelta(days=1)
"""Before a new key signs, so that platforms that keep a copy of our keys have read it."""
KEPT = timedelta(days=7)
"""After the next key began to sign."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """How to replace our key.

    at_once: sign with the new key immediately, and no longer publish others; for a key that may be stolen
    """

    at_once: Annotated[bool, Asked(
        "The present key may be stolen", "Use the new key at once. Platforms that read our keys before may refuse us "
        "for some hours.", option="--at-once", help="Use the new key now: the present one may be stolen.",
    )] = False  # fmt: skip


def our_key(session: Session, now: datetime | None = None) -> RSAKey:
    """The key that signs, made at its first use. Two that are made at once are both valid."""
    keys = _keys(session)
    published = [each for each in keys if _signs_from(each) <= (now or datetime.now(UTC))]
    signs = (published or keys[-1:] or [_make(session, datetime.now(UTC))])[0]
    return RSAKey.import_key(signs.private)


def public_keys(session: Session, now: datetime | None = None) -> dict[str, Any]:
    """What platforms check our signatures with: keys that sign, that will, and that did lately."""
    our_key(session)
    moment, keys = now or datetime.now(UTC), _keys(session)
    ended = {old.id for new, old in pairwise(keys) if _signs_from(new) + KEPT <= moment}
    shown = [RSAKey.import_key(each.private) for each in reversed(keys) if each.id not in ended]
    return {"keys": [key.as_dict(private=False) for key in shown]}


def next_key_from(session: Session, now: datetime | None = None) -> datetime | None:
    """When a new key begins to sign; None if none waits."""
    keys = _keys(session)
    waits = len(keys) > 1 and _signs_from(keys[0]) > (now or datetime.now(UTC))
    return _signs_from(keys[0]) if waits else None


def _replace(session: Session, _on: Target, actor: Person | None, given: NewKey) -> bool:
    now = datetime.now(UTC)
    if given.at_once:
        session.execute(delete(LtiKey))
        _make(session, now)
    elif next_key_from(session, now) is not None:
        raise CourseError("A new key waits already. Wait until it signs, or replace a stolen key at once.")
    else:
        _make(session, now)
    note(session, actor, "lti.key_replaced", "platforms", at_once=given.at_once)
    return True


REPLACE = Act(asks=NewKey, do=_replace)


def _keys(session: Session) -> Sequence[LtiKey]:
    """The newest first."""
    return session.scalars(select(LtiKey).order_by(LtiKey.created_at.desc(), LtiKey.id.desc())).all()


def _signs_from(key: LtiKey) -> datetime:
    return key.created_at + PUBLISHED


def _make(session: Session, now: datetime) -> LtiKey:
    made = RSAKey.generate_key(_BITS, {"kid": secrets.token_urlsafe(8), "use": "sig", "alg": "RS256"})
    key = LtiKey(private=dict(made.as_dict(private=True)), created_at=now)
    session.add(key)
    session.flush()
    return key


def signed(key: RSAKey, said: dict[str, Any]) -> str:
    """A token that is valid for a few minutes, and different from all others."""
    now = int(time.time())
    times = {"iat": now, "exp": now + _VALID_SECONDS}
    return jwt.encode(
        {"alg": "RS256", "kid": key.kid or "", "typ": "JWT"}, {**said, **times}, key, algorithms=["RS256"]
    )
