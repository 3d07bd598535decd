"""The rule for titles of courses and assignments, which are also in the subjects of e-mails."""

from __future__ import annotations

import re

from server.text import composed

LONGEST_TITLE = 200
_ENCODED = re.compile(r"=\?[^?]*\?[bq]\?", re.IGNORECASE)
"""How e-mail headers encode text (RFC 2047). A mail program would show something else than the title."""


def title_line(text: str) -> str:
    """The title with single spaces and composed letters; it may still be invalid."""
    return composed(" ".join(text.split()), LONGEST_TITLE)


def title_mistake(line: str) -> str:
    """What is wrong with a title; "" for a valid one."""
    if not line or len(line) > LONGEST_TITLE or not line.isprintable():
        return f"The title must be one line of 1 to {LONGEST_TITLE} printable characters."
    if _ENCODED.search(line):
        return "The title contains “=?”, which begins encoded text in an e-mail. Remove it."
    return ""
