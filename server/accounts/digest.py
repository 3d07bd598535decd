"""What is kept of a secret that is random enough to need no salt: a token, the cookie of a session, a one-time link."""

from __future__ import annotations

import hashlib


def digest_of(secret: str) -> str:
    """Nobody can make the secret of it."""
    return hashlib.sha256(secret.encode()).hexdigest()
