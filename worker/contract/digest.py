"""By what two processes compare the code that they run."""

from __future__ import annotations

import hashlib


def digest(ptx: str) -> str:
    """SHA-256 of a PTX text: what was checked must be what is measured."""
    return hashlib.sha256(ptx.encode()).hexdigest()
