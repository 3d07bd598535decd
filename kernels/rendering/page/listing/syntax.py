"""The source cut into coloured pieces, such as comments and CUDA keywords. It colours text and parses nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_WORDS = (
    "__global__|__device__|__shared__|__constant__|__restrict__|__launch_bounds__|__syncthreads\\w*|__syncwarp|"
    "threadIdx|blockIdx|blockDim|gridDim|atomic[A-Z]\\w*|__shfl\\w*"
)
_KEYWORDS = (
    "alignas|auto|bool|break|case|char|const|constexpr|continue|default|do|double|else|extern|float|for|half|if|"
    "inline|int|long|return|short|signed|sizeof|static|struct|switch|template|typename|unsigned|using|void|volatile|"
    "while"
)
# An unclosed comment or string ends with the file or line. So no alternative is tried twice at one place.
_PIECES = re.compile(
    rf"(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))|(?P<text>\"(?:\\[^\n]|[^\"\\\n])*\"?)"
    rf"|(?P<cuda>\b(?:{_WORDS})\b)|(?P<keyword>\b(?:{_KEYWORDS})\b)|(?P<rule>^[ \t]*\#[ \t]*\w+)",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text of one line; `kind` is "" for plain text."""

    kind: str
    text: str


def coloured(source: str) -> list[list[Piece]]:
    lines: list[list[Piece]] = [[]]
    for piece in _pieces(source.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")):
        first, *more = piece.text.split("\n")
        if first:
            lines[-1].append(Piece(piece.kind, first))
        lines.extend([Piece(piece.kind, text)] if text else [] for text in more)
    return lines


def _pieces(source: str) -> Iterator[Piece]:
    end = 0
    for match in _PIECES.finditer(source):
        if match.start() > end:
            yield Piece("", source[end : match.start()])
        yield Piece(match.lastgroup or "", match[0])
        end = match.end()
    yield Piece("", source[end:])
