"""Tables as CSV that any spreadsheet may open: none takes a cell, or a part of one, for a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

_QUOTE = "'"
# A spreadsheet of another language splits a line at other separators, whatever the quotes are. Some read the full-width
# and small forms of a sign as the sign.
# What stands between may hold no separator: else a long run of tabs would be tried from each of them.
_BEGINS = r"(?:^|[;|\t\r\n])(?:[^\S\t\r\n]|[\"\u200b\ufeff])*"
_SIGN = r"[=+\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]"
_FORMULA = re.compile(rf"({_BEGINS})(?={_QUOTE}*{_SIGN})")
_DEFUSED = re.compile(rf"({_BEGINS}){_QUOTE}(?={_QUOTE}*{_SIGN})")


def written(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The whole table. Texts are defused; numbers are not, as they come from us."""
    to = io.StringIO()
    writer = csv.writer(to, lineterminator="\r\n")
    for row in (header, *rows):
        writer.writerow([defused(cell) if isinstance(cell, str) else cell for cell in row])
    return to.getvalue()


def defused(text: str) -> str:
    """The text with a quote before whatever a spreadsheet could run."""
    return _FORMULA.sub(rf"\1{_QUOTE}", text)


def as_typed(text: str) -> str:
    """A cell as it was before it was defused, so that what was exported can be read again."""
    return _DEFUSED.sub(r"\1", text)
