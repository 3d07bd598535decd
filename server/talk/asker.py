"""What an announcement has of the student whose question it answers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from unicodedata import normalize

_SHORTEST_PART = 3
"""Letters of a part of a name that shows whose name it is."""
_SHORTEST_LINE = 12
"""Characters of a line that shows who wrote it."""


@dataclass(frozen=True, slots=True)
class Asker:
    """A student who asked. common: lines of code that all students got; comments: what the student wrote."""

    name: str
    email: str
    source: str
    common: Collection[str]
    comments: Collection[str]


def found_of(asker: Asker, text: str) -> list[str]:
    """The student's name, email, source and comments in a text, in words; of lines only the first."""
    plain, squeezed = normalize("NFC", text).casefold(), _squeezed(text)
    found = []
    if names := _names(asker.name, plain):
        found.append(f"the student’s name (“{names}”)")
    if asker.email.casefold() in plain:
        found.append("the student’s email")
    common = {_squeezed(line) for line in asker.common}
    if number := next(_lines_in(asker.source, squeezed, common), 0):
        found.append(f"line {number} of the student’s source")
    if any(next(_lines_in(each, squeezed), 0) for each in asker.comments):
        found.append("a line of the student’s comments")
    return found


def unquoted(text: str) -> str:
    """A text without the lines that it quotes."""
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(">")).strip()


def _names(name: str, text: str) -> str:
    """The parts of a name that are words of the text; of its code, only the whole name counts."""
    parts = re.findall(r"\w+", normalize("NFC", name).casefold())
    words = {word for piece in _prose(text) for word in re.findall(r"\w+", piece)}
    if among := [part for part in parts if len(part) >= _SHORTEST_PART and part in words]:
        return " ".join(among)
    whole = " ".join(parts)
    all_words = " ".join(re.findall(r"\w+", text if len(parts) > 1 else "\n".join(_prose(text))))
    return whole if parts and f" {whole} " in f" {all_words} " else ""


def _prose(text: str) -> Iterator[str]:
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            pieces = line.split("`")
            yield from pieces[::2]
            if len(pieces) % 2 == 0:
                yield pieces[-1]


def _lines_in(written: str, squeezed: str, common: Iterable[str] = ()) -> Iterator[int]:
    for number, line in enumerate(written.split("\n"), 1):
        plain = _squeezed(line)
        if len(line.strip()) >= _SHORTEST_LINE and plain not in common and plain in squeezed:
            yield number


def _squeezed(text: str) -> str:
    return "".join(normalize("NFC", text).casefold().split())
