"""Small pieces of SVG. The page's style gives colours by class; each picture also has a description in words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from html import escape

from markupsafe import Markup

from kernels.rendering.text_safety import safe

_WIDEST_LETTER = 9.0
"""Of a name; most are narrower."""


def figure(
    identity: str, title: str, description: str, body: str, width: int, height: int, kind: str = "chart"
) -> Markup:
    """A picture with a title and a description for screen readers. kind: its classes."""
    return Markup(  # noqa: S704 - made of escaped parts
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img"'
        f' aria-labelledby="{identity}-title {identity}-text">'
        f'<title id="{identity}-title">{words(title)}</title><desc id="{identity}-text">{words(description)}</desc>'
        f"{body}</svg>"
    )


def bar(share: float, mark: float | None = None, *, bad: bool = False) -> Markup:
    """A bar that fills its share of the room, with a mark at its ideal end. The text next to it has the number."""
    length, kind = 100 * min(1.0, max(0.0, share)), "value bad" if bad else "value"
    tick = ""
    if mark is not None:
        tick = f'<rect class="mark" x="{_number(98 * min(1.0, mark))}" width="2" height="8"/>'
    return Markup(  # noqa: S704 - made of numbers
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="room" width="100" height="8"/><rect class="{kind}" width="{_number(length)}" height="8"/>{tick}'
        "</svg>"
    )


def parts(shares: Sequence[tuple[str, float]]) -> Markup:
    """A bar in parts, one after the other. shares: the class and the share of each. The text next to it has numbers."""
    drawn, start = "", 0.0
    for kind, share in shares:
        drawn += f'<rect class="{words(kind)}" x="{_number(100 * start)}" width="{_number(100 * share)}" height="8"/>'
        start += share
    return Markup(  # noqa: S704 - made of numbers and escaped classes
        f'<svg class="bar parts" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg>'
    )


def text(x: float, y: float, content: str, *, kind: str = "", anchor: str = "start") -> str:
    look = f' class="{kind}"' if kind else ""
    return f'<text x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}"{look}>{words(content)}</text>'


def lines(texts: Iterable[str], top: int, width: int) -> tuple[str, int]:
    """Texts one below the other, in several lines if they are long, and where they end."""
    found = [part for each in texts for part in textwrap.wrap(each, int((width - 32) / _WIDEST_LETTER))]
    drawn = "".join(text(16, top + 16 * number, part) for number, part in enumerate(found, 1))
    return drawn, top + 16 * len(found) + (8 if found else 0)


def line(kind: str, *points: tuple[float, float]) -> str:
    return f'<polyline class="{kind}" points="{path(points)}"/>'


def area(kind: str, points: Sequence[tuple[float, float]]) -> str:
    return f'<polygon class="{kind}" points="{path(points)}"/>'


def dot(kind: str, x: float, y: float, radius: float = 5) -> str:
    return f'<circle class="{kind}" cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}"/>'


def path(points: Sequence[tuple[float, float]]) -> str:
    """Points in the format of the attribute `points`."""
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def words(content: str) -> str:
    return escape(safe(content))


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
