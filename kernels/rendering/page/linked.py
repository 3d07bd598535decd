"""Sentences and formulas as markup.

`line 12` in a sentence leads to that line of the listing, and pieces of code look like code.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from kernels.rendering.text_safety import safe

_POWER = re.compile(r"\^(\d+|\w)")
_PRODUCT = re.compile(r"(?<=[\w)]) x (?=[\w(])")
_MINUS = re.compile(r" - ")


def typeset(formula: str) -> Markup:
    """The formula with powers raised and signs of their own."""
    text = str(escape(safe(formula)))
    text = _PRODUCT.sub(" × ", text)
    text = _MINUS.sub(" − ", text)  # noqa: RUF001 - a minus sign is meant
    return Markup(_POWER.sub(r"<sup>\1</sup>", text))  # noqa: S704 - escaped above, only sup is added


_CODE = re.compile(r"`([^`]{1,200})`")
_TIMES = re.compile(r"(?<=\d) x (?=\d)")
_LINE = re.compile(r"\b([Ll]ine) (\d{1,6})\b")


def linked(text: str, last: int, line: int | None = None) -> Markup:
    """The sentence with its links.

    last: line of the source; what lies beyond it is no link
    line: one that has to be named, at the end where the sentence does not
    """
    if line is not None and str(line) not in {match[2] for match in _LINE.finditer(text)}:
        text = f"{text} (line {line})"
    text = _TIMES.sub("\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}", text)
    shown = _CODE.sub(r"<code>\1</code>", str(escape(safe(text))))
    return Markup(_LINE.sub(lambda match: _link(match, last), shown))  # noqa: S704 - escaped above


def _link(match: re.Match[str], last: int) -> str:
    number = int(match[2])
    return (
        f'<a class="to" href="#L{number}">{match[1]}\N{NO-BREAK SPACE}{number}</a>'
        if 1 <= number <= last
        else match[0]
    )
