"""The answer with a page around a part that never changes."""

from __future__ import annotations

from flask import Response

from server.fixed_part import MARK, FixedPart


class PageAround(Response):
    """The part replaces MARK in the page."""

    def __init__(self, page: str, part: FixedPart) -> None:
        before, after = (text.encode() for text in page.split(MARK))
        self._around, self._part = (before, after), part
        super().__init__([before, part.content, after], mimetype="text/html")

    def gzipped(self) -> bytes:
        return self._part.gzipped(*self._around)
