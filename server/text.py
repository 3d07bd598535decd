"""Text that people typed, as it is kept and compared."""

from __future__ import annotations

import unicodedata
from typing import Literal

_MOST_MADE_ONE = 4
"""Characters that become one: an Omega with three marks."""


def composed(text: str, longest: int, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """The text with its marks joined to their letters; of one that is longer than `longest`, only enough to tell.

    Sorting a letter's marks takes time with the square of their number, so nothing is joined beyond what can be kept.
    """
    return unicodedata.normalize(form, text[: _MOST_MADE_ONE * longest + 1])
