"""Small pieces of SVG. Colours come from the page's style by class; what a picture shows also stands in its words."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from markupsafe import Markup

from kernels.rendering.text_safety import safe


def figure(identity: str, title: str, description: str, body: str, width: int, height: int) -> Markup:
    """A picture that names itself to those who cannot see it."""
    return Markup(  # noqa: S704 - made of escaped parts
        f'<svg class="chart" viewBox="0 0 {width} {height}" role="img"'
        f' aria-labelledby="{identity}-title {identity}-text">'
        f'<title id="{identity}-title">{words(title)}</title><desc id="{identity}-text">{words(description)}</desc>'
        f"{body}</svg>"
    )


def bar(share: float, mark: float | None = None, *, bad: bool = False) -> Markup:
    """A bar as long as its share of the room, with a mark where it should end; the number stands beside it as text."""
    length, kind = 100 * min(1.0, max(0.0, share)), "value bad" if bad else "value"
    tick = ""
    if mark is not None:
        tick = f'<rect class="mark" x="{_number(98 * min(1.0, mark))}" width="2" height="8"/>'
    return Markup(  # noqa: S704 - made of numbers
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="room" width="100" height="8"/><rect class="{kind}" width="{_number(length)}" height="8"/>{tick}'
        "</svg>"
    )


def text(x: float, y: float, content: str, *, kind: str = "", anchor: str = "start") -> str:
    """Words at a place."""
    look = f' class="{kind}"' if kind else ""
    return f'<text x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}"{look}>{words(content)}</text>'


def line(kind: str, *points: tuple[float, float]) -> str:
    """A line through places."""
    return f'<polyline class="{kind}" points="{path(points)}"/>'


def area(kind: str, points: Sequence[tuple[float, float]]) -> str:
    """The surface within places."""
    return f'<polygon class="{kind}" points="{path(points)}"/>'


def dot(kind: str, x: float, y: float, radius: float = 5) -> str:
    """A round mark."""
    return f'<circle class="{kind}" cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}"/>'


def path(points: Sequence[tuple[float, float]]) -> str:
    """Places as the attribute `points` wants them."""
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def words(content: str) -> str:
    """Text made safe for a picture."""
    return escape(safe(content))


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
