"""A kernel's PTX for readers: its instructions, each with the line of the file that it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernels.evidence import LONGEST_LINE, MOST_LINES, CodeLine

_FILE = re.compile(r'^[ \t]*+\.file[ \t]++(\d++)[ \t]++"([^"\n]*)"', re.MULTILINE)
_PLACE = re.compile(r"\s*\.loc\s+(\d+)\s+(\d{1,9})\b(?:.*\binlined_at\s+(\d+)\s+(\d{1,9})\b)?")


def ptx_listing(ptx: str, entry: str, file: str) -> tuple[CodeLine, ...]:
    """The kernel's body, at most MOST_LINES. file: the source's name in the PTX."""
    head = re.search(rf"\.entry\s++{re.escape(entry)}\(", ptx)
    if head is None:
        return ()
    _, _, body = ptx[head.end() :].partition("\n{\n")
    body, end, _ = body.partition("\n}")
    if not end:
        return ()
    own = {number for number, name in _FILE.findall(ptx) if name == file}
    lines = tuple(_lines(body, own))
    return lines[:MOST_LINES]


def _lines(body: str, own: set[str]) -> Iterator[CodeLine]:
    line: int | None = None
    for text in body.splitlines():
        if place := _PLACE.match(text):
            # Line 0 means that the compiler merged instructions of several lines.
            places = (place.group(1, 2), place.group(3, 4))
            line = next((int(number) for file, number in places if file in own and number != "0"), None)
        elif text.strip() and not text.lstrip().startswith("//"):
            yield CodeLine(text.strip().replace("\t", " ")[:LONGEST_LINE], line)
