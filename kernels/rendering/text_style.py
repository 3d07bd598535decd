from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BOLD, DIM = "1", "2"
RED, GREEN, YELLOW = "31;1", "32;1", "33;1"
_NO_BREAK = "\N{NO-BREAK SPACE}"
_TOGETHER = re.compile(r"(?<=\b[Ll]ine) (?=\d)|(?<=\b[Ll]ines) (?=\d)|(?<=\d) (?=x \d)|(?<=\d x) (?=\d)")
"""Blanks that never end a line: `line 10`, `16 x 16`."""


@dataclass(frozen=True, slots=True)
class Style:
    """The terminal's abilities: colour, columns, and characters beyond ASCII."""

    colour: bool = False
    width: int = 80
    unicode: bool = False

    def paint(self, text: str, code: str) -> str:
        """The text in a colour, if the terminal has colour and the code isn't empty."""
        return f"\033[{code}m{text}\033[0m" if self.colour and text and code else text

    def wrap(self, text: str, indent: str = "", further: str | None = None) -> list[str]:
        """The text as lines of that width. No line ends at a hyphen, as in `--device` or 16-wide.

        further: the indent of all lines after the first; None for the same
        """
        lines = textwrap.wrap(
            _TOGETHER.sub(_NO_BREAK, text),
            self.width,
            initial_indent=indent,
            subsequent_indent=indent if further is None else further,
            break_on_hyphens=False,
        )
        return [line.replace(_NO_BREAK, " ") for line in lines]

    def joined(self, parts: Iterable[Sequence[str]]) -> str:
        """The parts that have lines, with an empty line between two, in the terminal's characters."""
        text = "\n\n".join("\n".join(part) for part in parts if part)
        return text if self.unicode else text.encode("ascii", "backslashreplace").decode()
