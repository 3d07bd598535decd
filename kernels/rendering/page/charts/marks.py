"""How the series of a plot differ: in colour, in dashes and in the shape of their marks.

A print without colour can be read too. Colours are classes of a group, and its shapes have the group's colour.
"""

from __future__ import annotations

import math

from markupsafe import Markup

from kernels.rendering.page.charts import svg

COLOURS = ("#0b6cad", "#b9490f", "#0d7a58", "#9c4488", "#776712", "#5a55b8")
"""On a white picture. The page has the same in tokens.css, and others for its dark scheme."""

HEAT = ("#f2f7fc", "#dfebf7", "#c8dcf0", "#a1cae3", "#6eafd7", "#4694c8", "#2170b3", "#0d509a", "#083069")
"""From low to high: one colour that gets darker, so that a grey print keeps the order."""

LIGHT_UNTIL = 5
"""The last step of HEAT with dark words on it."""

_MARKS, _OUTLINES = 12, 8
_DASHES = ("", "7 4", "2 3", "9 3 2 3")
_STYLE = (
    ".chart{font:13px 'Open Sans',system-ui,sans-serif;background:#fff;color:#1e2125;fill:currentColor}"
    ".chart text{fill:#575c63;font-variant-numeric:tabular-nums}"
    ".chart .strong,.chart .on-light{fill:#1e2125}.chart .strong{font-weight:600}.chart .on-dark{fill:#fff}"
    ".chart .grid{stroke:#dcd8d1;fill:none}.chart .equal{stroke:#575c63;stroke-dasharray:5 4;fill:none}"
    ".chart .roof{stroke:#575c63;stroke-width:2;fill:none}.chart .second{stroke-dasharray:6 5}"
    ".chart .faint{opacity:.45}.chart .none{fill:#f1efeb;stroke:#dcd8d1}"
    ".chart .best{fill:none;stroke:#b9490f;stroke-width:3}.chart .over{stroke:#1e2125;stroke-width:1.5;fill:none}"
    ".chart .halo{stroke:#fff;stroke-width:3px;paint-order:stroke}.chart .in{color:#fff}"
    ".chart .frame{fill:none;stroke:#dcd8d1}.chart .hollow{fill:#fff}"
)


def group(number: int, name: str, body: str, *, faint: bool = False, kind: str = "series") -> str:
    """What belongs to a series, in its colour. The page's script hides it by its number."""
    look = f"{kind} c{number % len(COLOURS)}{' faint' if faint else ''}"
    return f'<g class="{look}" data-series="{number}" data-name="{svg.words(name)}">{body}</g>'


def joined(number: int, points: list[tuple[float, float]], width: int = 2) -> str:
    dashes = _DASHES[_nth(number, len(_DASHES))]
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{svg.path(points)}" fill="none" stroke="currentColor" stroke-width="{width}"{dashed}/>'


def whisker(*ends: tuple[float, float]) -> str:
    return f'<polyline class="whisker" points="{svg.path(ends)}" fill="none" stroke="currentColor" stroke-width="1.5"/>'


def mark(number: int, x: float, y: float, size: float = 1.0) -> str:
    """A disc, a square, a triangle and a diamond, each also hollow, and four other shapes."""
    shape = _nth(number, _MARKS)
    hollow = shape in range(4, 8)
    look = 'class="hollow" stroke="currentColor" stroke-width="1.8"' if hollow else 'fill="currentColor"'
    s = size * (0.85 if hollow else 1)
    if shape % 4 == 0 and shape < _OUTLINES:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{4.5 * s:.1f}" {look}/>'
    if shape % 4 == 1 and shape < _OUTLINES:
        corner, side = 4 * s, 8 * s
        return f'<rect x="{x - corner:.1f}" y="{y - corner:.1f}" width="{side:.1f}" height="{side:.1f}" {look}/>'
    corners = _CORNERS[shape % 4 - 2 if shape < _OUTLINES else shape - 6]
    points = svg.path([(x + s * across, y + s * down) for across, down in corners])
    return f'<polygon points="{points}" {look}/>'


def spot(text: str, x: float, y: float, body: str) -> str:
    """A point with its text, which browsers show for the mouse; the page's script also for the keyboard."""
    return f'<g class="spot" data-at="{x:.1f} {y:.1f}"><title>{svg.words(text)}</title>{body}</g>'


def standalone(chart: Markup) -> str:
    """The chart as an SVG file of its own, on white."""
    colours = "".join(f".c{n}{{color:{colour}}}" for n, colour in enumerate(COLOURS))
    colours += "".join(f".h{n}{{fill:{colour}}}" for n, colour in enumerate(HEAT))
    head, _, rest = str(chart).partition(">")
    box = head.partition('viewBox="0 0 ')[2].partition('"')[0].split()
    head = head.replace("<svg", f'<svg xmlns="http://www.w3.org/2000/svg" width="{box[0]}" height="{box[1]}"', 1)
    ground = f'<rect width="{box[0]}" height="{box[1]}" fill="#fff"/>'
    return f"{head}><style>{_STYLE}{colours}</style>{ground}{rest}\n"


def _nth(number: int, looks: int) -> int:
    """Which of several looks a series has; series of one colour and one look are far apart."""
    return (number + number // _MARKS) % looks


def _star() -> list[tuple[float, float]]:
    turns = [(math.pi * (step / 5 - 0.5), 6.5 if step % 2 == 0 else 2.8) for step in range(10)]
    return [(radius * math.cos(turn), radius * math.sin(turn)) for turn, radius in turns]


_PLUS = [(-1.6, -5.5), (1.6, -5.5), (1.6, -1.6), (5.5, -1.6), (5.5, 1.6), (1.6, 1.6),
         (1.6, 5.5), (-1.6, 5.5), (-1.6, 1.6), (-5.5, 1.6), (-5.5, -1.6), (-1.6, -1.6)]  # fmt: skip
_CORNERS: tuple[list[tuple[float, float]], ...] = (
    [(0, -5.5), (5, 4), (-5, 4)],
    [(0, -6), (6, 0), (0, 6), (-6, 0)],
    [(0, 5.5), (5, -4), (-5, -4)],
    _PLUS,
    [(0.71 * (x - y), 0.71 * (x + y)) for x, y in _PLUS],
    _star(),
)
"""Triangle and diamond, which may be hollow, then a triangle on its point, plus, cross and star."""
