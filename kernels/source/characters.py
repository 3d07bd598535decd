"""Characters copied from a page or a chat that no compiler can read."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from kernels.source.text import other_characters

_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\ufeff"
_INSTEAD = {
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4", "'"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    "\u00d7": "*", "\u22c5": "*", "\u00b7": "*", "\u00f7": "/", "\u2044": "/", "\u2215": "/", "\u2264": "<=",
    "\u2265": ">=", "\u2260": "!=", "\u2026": "...", "\u037e": ";", "\u2192": "->", "\u2217": "*",
    "\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl",
}  # fmt: skip
_LINE_ENDS = "\u2028\u2029"
_WIDE = range(0xFF01, 0xFF5F)
_NAMES = {
    "\u00a0": "a no-break space", "\u200b": "a zero-width space", "\ufeff": "a byte order mark",
    "\u201c": "a curly quotation mark", "\u201d": "a curly quotation mark", "\u2018": "a curly quotation mark",
    "\u2019": "a curly quotation mark", "\u2013": "an en dash", "\u2014": "an em dash", "\u2212": "a minus sign",
    "\u3000": "a full-width space",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OddCharacter:
    """An unreadable character outside comments and quotes; line and column count from 1."""

    line: int
    column: int
    character: str

    @property
    def problem(self) -> str:
        code = f"U+{ord(self.character):04X}"
        wide = ord(self.character) in _WIDE
        name = f"a full-width `{chr(ord(self.character) - 0xFEE0)}`" if wide else _NAMES.get(self.character)
        if name is None:
            known = unicodedata.name(self.character, "").lower()
            name = f"the character “{known}”" if known else "a character"
        return f"Line {self.line}, column {self.column} has {name} ({code}), which the compiler can't read."

    @property
    def sentence(self) -> str:
        """The character's name, its position, and its replacement."""
        return f"{self.problem} {_what_to_type(self.character)}"


@lru_cache(maxsize=4)
def odd_characters(text: str) -> Mapping[int, OddCharacter]:
    found: dict[int, OddCharacter] = {}
    for line, column, character in other_characters(text):
        found.setdefault(line, OddCharacter(line, column, character))
    return found


def replacement(character: str) -> str | None:
    """What a student means by this character; None if that isn't known."""
    if character in _SPACES:
        return " "
    if character in _LINE_ENDS:
        return "\n"
    if character in _INVISIBLE:
        return ""
    if ord(character) in _WIDE:
        return chr(ord(character) - 0xFEE0)
    return _INSTEAD.get(character)


def _what_to_type(character: str) -> str:
    instead = replacement(character)
    if instead is None:
        return "Names can contain the letters a to z, digits and `_`."
    if not instead.strip():
        return (
            "Type an ordinary space instead."
            if instead == " "
            else "It is invisible. Delete it, and type the text around it again."
        )
    return f"Type `{instead}` instead."
