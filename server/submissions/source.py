"""A submission's source from the form or the API, with its digest. Its size is tested."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from server.courses.models import SOURCE_BYTES


class UnusableSource(ValueError):
    """The source is empty or too large. size: its bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(f"a source must have 1 to {SOURCE_BYTES:,} bytes, not {size:,}")
        self.size = size


@dataclass(frozen=True, slots=True)
class SubmittedSource:
    """The bytes with their SHA-256."""

    content: bytes
    digest: str


def read_source(given: str | bytes) -> SubmittedSource:
    """Read a source; compute its digest.

    raise (UnusableSource, UnicodeEncodeError): the latter for half a character (a lone surrogate)
    """
    content = given.encode() if isinstance(given, str) else given
    if not 0 < len(content) <= SOURCE_BYTES:
        raise UnusableSource(len(content))
    return SubmittedSource(content, hashlib.sha256(content).hexdigest())
