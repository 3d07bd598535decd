"""Sentences and formulas as markup.

`line 12` and `lines 20 and 25` in a sentence become links to the listing, and code in backquotes looks like code.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from kernels.rendering.text_safety import safe

_POWER = re.compile(r"\^(\d+|\w)")
_PRODUCT = re.compile(r"(?<=[\w)]) x (?=[\w(])")
_MINUS = re.compile(r" - ")


def typeset(formula: str) -> Markup:
    text = str(escape(safe(formula)))
    text = _PRODUCT.sub(" × ", text)
    text = _MINUS.sub(" − ", text)  # noqa: RUF001 - a minus sign is meant
    return Markup(_POWER.sub(r"<sup>\1</sup>", text))  # noqa: S704 - escaped above, only sup is added


_CODE = re.compile(r"`([^`]{1,200})`")
_SHORT = 24
"""The longest code that stays on one line. It fits on a phone."""
_TIMES = re.compile(r"(?<=\d) x (?=\d)")
_LINE = re.compile(r"\b([Ll]ine) (\d{1,6})\b|\b([Ll]ines) (\d{1,6}(?:, \d{1,6})*(?: and \d{1,6})?)\b")
_NUMBER = re.compile(r"\d+")


def linked(text: str, last: int, line: int | None = None) -> Markup:
    """The sentence with its links.

    last: the last line of the source; lines after it get no link
    line: a line to add at the end if the sentence doesn't name it
    """
    named = " ".join(match[0] for match in _LINE.finditer(text))
    if line is not None and str(line) not in _NUMBER.findall(named):
        text = f"{text} (line {line})"
    text = _TIMES.sub("\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}", text)
    shown = _CODE.sub(_code, str(escape(safe(text))))
    return Markup(_LINE.sub(lambda match: _links(match, last), shown))  # noqa: S704 - escaped above


def _code(match: re.Match[str]) -> str:
    is_long = len(Markup(match[1]).unescape()) > _SHORT  # noqa: S704 - escaped by the caller
    start = '<code class="long">' if is_long else "<code>"
    return f"{start}{match[1]}</code>"


def _links(match: re.Match[str], last: int) -> str:
    """`line 12` as one link, or `lines 20 and 25` with a link for each number."""
    if match[3]:
        return f"{match[3]} {_NUMBER.sub(lambda number: _link(int(number[0]), number[0], last), match[4])}"
    text = f"{match[1]}\N{NO-BREAK SPACE}{match[2]}" if 1 <= int(match[2]) <= last else match[0]
    return _link(int(match[2]), text, last)


def _link(line: int, text: str, last: int) -> str:
    return f'<a class="to" href="#L{line}">{text}</a>' if 1 <= line <= last else text
