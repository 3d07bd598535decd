"""How text for people may look."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """How text may look: colour, columns, and whether more than ASCII can be shown."""

    colour: bool = False
    width: int = 80
    unicode: bool = False

    def paint(self, text: str, code: str) -> str:
        """The text in a colour, where there is colour and a code for it."""
        return f"\033[{code}m{text}\033[0m" if self.colour and text and code else text
