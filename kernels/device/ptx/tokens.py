from __future__ import annotations

import re
from bisect import bisect_right

from kernels.device.ptx.module import Malformed

MAX_TEXT = 16 * 1024 * 1024
MAX_TOKENS = 2_000_000

_TOKEN = re.compile(
    r"""
    (?P<asm>//\ (?:begin|end)\ inline\ asm\b[^\n]*)
  | (?P<skip>[ \t\r\f\v]+|//[^\n]*|/\*.*?\*/|\n)
  | (?P<string>"[^"\n]*")
  | (?P<float>0[fF][0-9a-fA-F]{8}(?![0-9a-fA-F])|0[dD][0-9a-fA-F]{16}
      |[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+))
  | (?P<number>0[xX][0-9a-fA-F]+U?|[0-9]+U?)
  | (?P<word>\.(?:reg|param|local|shared|global|const)(?=\.)|[.%$_a-zA-Z@][\w.$%]*(?:::[\w.$]+)*)
  | (?P<mark>[-{}()\[\],;:=|!+<>@*&~])
    """,
    re.VERBOSE | re.DOTALL,
)


class Tokens:
    """The tokens of one text, taken from the front."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_TEXT:
            raise Malformed("the compiled kernel is too large")
        self._tokens, self._inline = _cut(text)
        self._at = 0

    @property
    def left(self) -> bool:
        return self._at < len(self._tokens)

    @property
    def place(self) -> int:
        return self._at

    def skip(self, place: int, mark: str) -> None:
        """Go back to a place, and then behind the next mark."""
        self._at = place
        while not self.accept(mark):
            self.next()

    def inner_labels(self) -> dict[int, list[str]]:
        """Return the labels between inner braces, up to the closing brace of those around this place.

        Each list is under the place after its opening brace.
        """
        found: dict[int, list[str]] = {}
        opened: list[int] = []
        for place in range(self._at, len(self._tokens) - 1):
            kind, text = self._tokens[place]
            if kind == "mark" and text == "{":
                opened.append(place + 1)
            elif kind == "mark" and text == "}":
                if not opened:
                    break
                opened.pop()
            elif kind == "word" and opened and self._tokens[place + 1] == ("mark", ":"):
                found.setdefault(opened[-1], []).append(text)
        return found

    def in_assembly(self, place: int) -> bool:
        """Whether a place is in inline assembly, by the compiler's comments around it."""
        return bool(bisect_right(self._inline, place) % 2)

    def peek(self) -> str:
        return self._tokens[self._at][1] if self.left else ""

    def kind(self) -> str:
        return self._tokens[self._at][0] if self.left else ""

    def next(self) -> str:
        if not self.left:
            raise Malformed("the text ends in the middle of a declaration")
        self._at += 1
        return self._tokens[self._at - 1][1]

    def expect(self, mark: str) -> None:
        found = self.next()
        if found != mark:
            raise Malformed(f"expected {mark!r}, found {found[:40]!r}")

    def accept(self, mark: str) -> bool:
        if self.peek() == mark and self.kind() != "string":
            self._at += 1
            return True
        return False

    def integer(self) -> int:
        negative = self.accept("-")
        text = self.next().rstrip("U")
        try:
            value = int(text, 16 if text[:2] in {"0x", "0X"} else 10)
        except ValueError:
            raise Malformed(f"expected a number, found {text[:40]!r}") from None
        return -value if negative else value


def _cut(text: str) -> tuple[list[tuple[str, str]], list[int]]:
    """Return pairs of kind and text, without blanks and comments, and where inline assembly begins and ends."""
    tokens: list[tuple[str, str]] = []
    inline: list[int] = []
    position = 0
    match = _TOKEN.match
    while position < len(text):
        found = match(text, position)
        if found is None:
            raise Malformed(f"unexpected character {text[position]!r}")
        kind = found.lastgroup or ""
        if kind == "asm":
            # A comment inside of the assembly may look like one of these.
            if found.group().startswith("// begin") != len(inline) % 2:
                inline.append(len(tokens))
        elif kind != "skip":
            tokens.append((kind, found.group()))
            if len(tokens) > MAX_TOKENS:
                raise Malformed("the compiled kernel is too large")
        position = found.end()
    return tokens, inline
