"""Text that people typed, text that is stored, and numbers as people type them."""

from __future__ import annotations

import unicodedata
from typing import Literal

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
