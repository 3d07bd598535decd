"""Hashes of random secrets: tokens, session cookies, one-time links. They are random enough to need no salt."""

from __future__ import annotations

import hashlib


def digest_of(secret: str) -> str:
    """The secret's SHA-256 in hexadecimal digits."""
    return hashlib.sha256(secret.encode()).hexdigest()
