"""Text that people typed, text that is stored, and numbers as people type them."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Literal

_LONGEST_NUMBER = 40
_THOUSANDS = re.compile(r"[1-9]\d{0,2},\d{3}")
_MOST_MADE_ONE = 4
"""Characters that can become one, such as an Omega with three marks."""


def composed(text: str, longest: int, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """The text with marks composed; cut off if clearly longer than `longest`, so that the caller can refuse it.

    Sorting a letter's marks takes quadratic time, so this composes no more than can be stored.
    """
    return unicodedata.normalize(form, text[: _MOST_MADE_ONE * longest + 1])


def storable(text: str) -> str:
    """The text without what some database can't store: PostgreSQL has no NUL, UTF-8 no lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def typed_number(value: float, separator: str = "") -> str:
    """A number with the digits that a person typed, such as "7.5" or "10". separator: of thousands, "" or ","."""
    return f"{value:{separator}.15g}"


def printable(text: str) -> str:
    """A searchable text: one line, without characters that no database stores."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def read_number(text: str) -> float:
    """A number that a person typed; raises ValueError. A comma is a decimal point, unless it may separate thousands."""
    if _THOUSANDS.fullmatch(text):
        raise ValueError(f"This number is ambiguous. Write {text.replace(',', '')} or {text.replace(',', '.')}.")
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"“{text[:_LONGEST_NUMBER]}” is not a number.")
    return value


def read_yes(text: str) -> bool:
    """Yes or no, also as spreadsheets write it; raises ValueError."""
    found = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}.get(text.casefold())
    if found is None:
        raise ValueError(f"“{text[:_LONGEST_NUMBER]}” is neither yes nor no.")
    return found


def read_whole(text: str) -> int:
    """A whole number that a person typed; raises ValueError."""
    if not (text.isascii() and text.removeprefix("-").isdigit()) or len(text) > 12:
        raise ValueError(f"“{text[:_LONGEST_NUMBER]}” is not a whole number.")
    return int(text)
