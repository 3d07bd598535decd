"""Tables as CSV that a spreadsheet may open: no cell of it is ever taken for a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_QUOTE = "'"


def written(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The whole table. Texts are defused; numbers are not, as they come from us."""
    to = io.StringIO()
    writer = csv.writer(to, lineterminator="\r\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([defused(cell) if isinstance(cell, str) else cell for cell in row])
    return to.getvalue()


def defused(text: str) -> str:
    """The text as a spreadsheet shows it and does not run it."""
    return f"{_QUOTE}{text}" if text.startswith(_FORMULA) else text


def as_typed(text: str) -> str:
    """A cell as it was before it was defused, so that what was exported can be read again."""
    return text[1:] if text.startswith(_QUOTE) and text[1:].startswith(_FORMULA) else text
