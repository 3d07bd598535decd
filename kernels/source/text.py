"""A small reader of C++ text: tokens, preprocessor lines and comments, each with its first line.

The reader serves good messages, not safety, because the compiler runs in a sandbox. It never fails. Text that isn't C++
still becomes tokens of some kind.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto


class Kind(Enum):
    """The kind of a token."""

    NAME = auto()
    NUMBER = auto()
    STRING = auto()
    CHARACTER = auto()
    PUNCTUATION = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """One token. glued: whether it directly follows the previous token. start: its position in `spliced` text."""

    kind: Kind
    text: str
    line: int
    glued: bool
    start: int = 0


@dataclass(frozen=True, slots=True)
class Directive:
    """One preprocessor line: in `#include <stdio.h>`, `name` is `include`, and `tokens` is the rest."""

    line: int
    name: str
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment; `text` has no slashes and stars, and `end` is its last line."""

    line: int
    text: str
    whole_line: bool  # a `//` comment
    end: int


Item = Token | Directive | Comment

_PATTERN = re.compile(
    r"""
      (?P<newline>\n)
    | (?P<blank>[^\S\n]+)
    | (?P<line_comment>//[^\n]*)
    | (?P<block_comment>/\*.*?(?:\*/|\Z))
    | (?P<raw>(?:u8|[uUL])?R"(?P<fence>[^\s()\\"]{0,16})\(.*?(?:\)(?P=fence)"|\Z))
    | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"?)
    | (?P<number>\.?[0-9](?:[eEpP][+-]|'\w|[\w.])*)
    | (?P<name>[^\W\d][\w$]*|\$[\w$]*)
    | (?P<character>'(?:\\.|[^'\\\n])*'?)
    | (?P<punctuation><<<|%:|::|&&|\|\||==|!=|<=|>=|->|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS = {
    "raw": Kind.STRING,
    "string": Kind.STRING,
    "number": Kind.NUMBER,
    "name": Kind.NAME,
    "character": Kind.CHARACTER,
    "punctuation": Kind.PUNCTUATION,
}


_SHIFT = re.compile(r"([<>]) \1")
_QUOTED = {"line_comment", "block_comment", "raw", "string", "character"}


class _Lines:
    """Text without line splices, and the physical line of each position."""

    def __init__(self, text: str) -> None:
        pieces = text.split("\\\n")
        self.text = spliced(text)
        breaks = []
        position = 0
        for piece in pieces:
            breaks += [position + match.end() for match in re.finditer("\n", piece)]
            position += len(piece)
            breaks.append(position)
        self._breaks = breaks[:-1]

    def line(self, position: int) -> int:
        """The physical line, counted from 1."""
        return bisect_right(self._breaks, position) + 1

    def column(self, position: int) -> int:
        """The column in the physical line, counted from 1."""
        before = bisect_right(self._breaks, position)
        return position - (self._breaks[before - 1] if before else 0) + 1


def spliced(text: str) -> str:
    """The text as the compiler reads it: a backslash at a line's end joins the next line."""
    return text.replace("\\\n", "")


class Places:
    """The positions of tokens in a file: lines and columns, counted from 1."""

    def __init__(self, text: str) -> None:
        self._lines = _Lines(text)

    def column(self, token: Token) -> int:
        return self._lines.column(token.start)

    def end(self, token: Token) -> tuple[int, int]:
        """The line and column just after the token."""
        last = token.start + len(token.text) - 1
        return self._lines.line(last), self._lines.column(last) + 1


def scan(text: str) -> list[Item]:
    """Every token, directive and comment in order. Lines must end in single newline characters."""
    lines = _Lines(text)
    items: list[Item] = []
    directive: list[Token] | None = None
    at_start, glued = True, False
    for match in _PATTERN.finditer(lines.text):
        kind = match.lastgroup or ""
        line = lines.line(match.start())
        if kind == "newline":
            if directive is not None:
                items.append(_directive(directive))
            directive, at_start, glued = None, True, False
        elif kind in _KINDS:
            token = Token(_KINDS[kind], match.group(), line, glued, match.start())
            if directive is not None:
                directive.append(token)
            elif at_start and token.text in {"#", "%:"}:
                directive = [token]
            else:
                items.append(token)
            at_start, glued = False, True
        else:
            glued = False
            if kind != "blank":
                items.append(_comment(match.group(), line, lines.line(match.end() - 1)))
    if directive is not None:
        items.append(_directive(directive))
    return items


def other_characters(text: str) -> Iterator[tuple[int, int, str]]:
    """Line, column and text of each character beyond ASCII outside comments and quotes."""
    if text.isascii():
        return
    lines = _Lines(text)
    for match in _PATTERN.finditer(lines.text):
        if match.lastgroup not in _QUOTED and not match.group().isascii():
            for place, character in enumerate(match.group(), match.start()):
                if not character.isascii():
                    yield lines.line(place), lines.column(place), character


def _directive(tokens: list[Token]) -> Directive:
    """A directive from its tokens, which begin with the mark."""
    name = tokens[1].text if len(tokens) > 1 else ""
    return Directive(tokens[0].line, name, tuple(tokens[2:]))


def _comment(text: str, line: int, end: int) -> Comment:
    whole_line = text.startswith("//")
    return Comment(line, text[2:] if whole_line else text[2:].removesuffix("*/"), whole_line, end)


def code_texts(text: str) -> Iterator[str]:
    """Yield the text of each token, without comments."""
    for item in scan(text):
        if isinstance(item, Token):
            yield item.text
        elif isinstance(item, Directive):
            yield from (token.text for token in item.tokens)


def code_of(texts: Iterable[str]) -> str:
    """Tokens with a space around each, but none inside a shift."""
    return _SHIFT.sub(r"\1\1", f" {' '.join(texts)} ")


def closing(tokens: list[Token], start: int) -> int:
    """The index after the bracket that closes the bracket at `start`, or the end of the tokens."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    opener, closer = tokens[start].text, pairs[tokens[start].text]
    depth = 0
    for index in range(start, len(tokens)):
        text = tokens[index].text
        if text == opener:
            depth += 1
        elif text == closer:
            depth -= 1
            if depth == 0:
                return index + 1
    return len(tokens)


def split_at_commas(tokens: list[Token]) -> Iterator[list[Token]]:
    """The parts between commas outside all brackets; nothing for no tokens."""
    if not tokens:
        return
    part: list[Token] = []
    depth = 0
    for token in tokens:
        text = token.text
        if text == "," and depth <= 0:
            yield part
            part = []
            continue
        part.append(token)
        if text in {"(", "[", "{", "<"}:
            depth += 1
        elif text in {")", "]", "}", ">"}:
            depth -= 1
    yield part
