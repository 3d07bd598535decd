"""Our key, with which platforms recognise us."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime
from typing import Any

from joserfc import jwt
from joserfc.jwk import RSAKey
from sqlalchemy import select
from sqlalchemy.orm import Session

from server.lti.models import LtiKey

_VALID_SECONDS = 300
_BITS = 2048


def our_key(session: Session) -> RSAKey:
    """The key that signs, made at its first use. Two that are made at once are both valid."""
    newest = select(LtiKey).order_by(LtiKey.created_at.desc(), LtiKey.id.desc()).limit(1)
    known = session.scalar(newest)
    if known is None:
        made = RSAKey.generate_key(_BITS, {"kid": secrets.token_urlsafe(8), "use": "sig", "alg": "RS256"})
        known = LtiKey(private=dict(made.as_dict(private=True)), created_at=datetime.now(UTC))
        session.add(known)
        session.flush()
    return RSAKey.import_key(known.private)


def public_keys(session: Session) -> dict[str, Any]:
    """What platforms check our signatures with."""
    our_key(session)
    found = [RSAKey.import_key(each.private) for each in session.scalars(select(LtiKey).order_by(LtiKey.id))]
    return {"keys": [key.as_dict(private=False) for key in found]}


def signed(key: RSAKey, said: dict[str, Any]) -> str:
    """A token that is valid for a few minutes, and different from all others."""
    now = int(time.time())
    times = {"iat": now, "exp": now + _VALID_SECONDS}
    return jwt.encode(
        {"alg": "RS256", "kid": key.kid or "", "typ": "JWT"}, {**said, **times}, key, algorithms=["RS256"]
    )
