"""The output of a kernel. A limit keeps endless printing from filling the disk."""

from __future__ import annotations

MAX_PRINTED = 16 * 1024
_MAX_CALLS = 8 * 1024


class Printer:
    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._left = MAX_PRINTED
        self._calls = 0
        self.dropped = 0

    @property
    def full(self) -> bool:
        return self._left <= 0 or self._calls >= _MAX_CALLS

    def write(self, text: str) -> None:
        """Add text, cut at the limit."""
        self._calls += 1
        self._pieces.append(text[: self._left])
        self._left -= len(text)

    def text(self) -> str:
        ending = f"\n... and {self.dropped:,} more calls of printf" if self.dropped else ""
        return "".join(self._pieces) + ending
