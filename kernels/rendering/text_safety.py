"""Text from a hostile source, made safe for a terminal. It can't move the cursor, or colour or reorder a line."""

from __future__ import annotations

import unicodedata

_TAB = 4
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def safe(text: str) -> str:
    """One line, with tabs as blanks and control, format and unassigned characters escaped."""
    if text.isprintable():
        return text  # true for nearly all text, and a page has much of it
    return "".join(_spelled(char) if _is_unsafe(char) else char for char in text.expandtabs(_TAB))


def safe_lines(text: str) -> list[str]:
    return [safe(line) for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]


def width(text: str) -> int:
    """The columns of the text on a terminal."""
    return sum(_columns(char) for char in text)


def cut(text: str, columns: int) -> str:
    """The text, shortened with `...` to that many columns."""
    if width(text) <= columns:
        return text
    kept, used = [], 3
    for char in text:
        used += _columns(char)
        if used > columns:
            break
        kept.append(char)
    return "".join(kept) + "..."


def split_columns(text: str, columns: int) -> list[str]:
    """The text in rows of at most so many columns; one empty row for an empty text."""
    rows, used = [""], 0
    for char in text:
        if used + _columns(char) > columns:
            rows.append("")
            used = 0
        rows[-1] += char
        used += _columns(char)
    return rows


def _is_unsafe(char: str) -> bool:
    return not (" " <= char <= "~") and unicodedata.category(char) in _UNSAFE


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode() if ord(char) > 0xFF else f"\\x{ord(char):02x}"


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
