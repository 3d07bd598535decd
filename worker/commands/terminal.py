"""Colours, width and characters of the terminal that shows a report."""

from __future__ import annotations

import os
import shutil
from typing import TextIO

from kernels.rendering.text_style import Style


def style_of(stream: TextIO) -> Style:
    """Colour only on a terminal and without NO_COLOR. ASCII if the encoding has no other characters."""
    terminal = stream.isatty()
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = shutil.get_terminal_size((80, 24)).columns if terminal else 80
    return Style(colour=colour, width=max(40, min(width, 100)), unicode=_takes_unicode(stream))


def _takes_unicode(stream: TextIO) -> bool:
    try:
        "│✓✗·".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
