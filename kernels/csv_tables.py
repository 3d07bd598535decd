"""CSV tables that are safe in spreadsheets: no cell or part of a cell becomes a formula.

Nothing else in Tilelab writes CSV.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

_QUOTE = "'"
# Spreadsheets in other languages split lines at other separators, regardless of quotes. Some read a sign's full-width
# and small forms as the sign itself.
# The characters in between exclude separators; otherwise a long run of tabs would be tried from each tab.
_BEGINS = r"(?:^|[;|\t\r\n])(?:[^\S\t\r\n]|[\"\u00ad\u200b\u200e\u200f\u2060\ufeff])*"
_SIGN = r"[=+\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]"
_FORMULA = re.compile(rf"({_BEGINS})(?={_QUOTE}*{_SIGN})")
_DEFUSED = re.compile(rf"({_BEGINS}){_QUOTE}(?={_QUOTE}*{_SIGN})")


def written(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The whole table. Escapes texts, but not numbers, which Tilelab computes."""
    return "".join(lines(header, rows))


def lines(header: Iterable[object], rows: Iterable[Iterable[object]], line_end: str = "\r\n") -> Iterator[str]:
    """The parts of `written`: the header, then a row at a time."""
    to = io.StringIO()
    writer = csv.writer(to, lineterminator=line_end)
    for row in chain([header], rows):
        writer.writerow([defused(cell) if isinstance(cell, str) else cell for cell in row])
        yield to.getvalue()
        to.seek(0)
        to.truncate()


def defused(text: str) -> str:
    """The text with a quote before each part that a spreadsheet could execute."""
    return _FORMULA.sub(rf"\1{_QUOTE}", text)


def as_typed(text: str) -> str:
    """The text before it was escaped, so that an exported file can be imported again."""
    return _DEFUSED.sub(r"\1", text)
