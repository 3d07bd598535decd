"""Works for processes that can be ended."""

from __future__ import annotations

import re


def length(text: str) -> int:
    return len(text)


def search(text: str) -> bool:
    """A search that takes hours for twenty letters, and keeps the interpreter's lock."""
    return re.match(r"(a+)+b", text) is not None


def large(megabytes: int) -> int:
    return len(bytearray(megabytes * 2**20))


def unplain(text: str) -> object:
    return {text}
