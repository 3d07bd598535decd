from __future__ import annotations

import textwrap
from collections.abc import Sequence

from kernels.evidence import ChecklistRow, State
from kernels.rendering.text_safety import safe
from kernels.rendering.text_style import DIM, GREEN, RED, YELLOW, Style

STATES = {
    State.YES: ("good", "✓", "yes"),
    State.PARTLY: ("fair", "◐", "partly"),
    State.NO: ("poor", "✗", "no"),
    State.NOT_NEEDED: ("none", "–", "not needed"),
}
"""The kind, sign and word of each state."""
_PAINTS = {"good": GREEN, "fair": YELLOW, "poor": RED, "none": DIM}


def checklist_text(rows: Sequence[ChecklistRow], style: Style, *, advice: bool = True) -> list[str]:
    """Each optimisation with its state and the numbers behind it, and if wanted, with advice."""
    columns = max((len(row.title) for row in rows), default=0)
    states = max((len(STATES[row.state][-1]) for row in rows), default=0)
    indent = columns + states + 6
    out = []
    for row in rows:
        texts = [safe(row.evidence)]
        if advice:
            texts += [safe(row.advice), f"Up to {row.gain:.2f} times faster." if row.gain and row.gain > 1.005 else ""]
        body = textwrap.wrap(" ".join(filter(None, texts)), max(20, style.width - indent))
        kind, _, word = STATES[row.state]
        mark = style.paint(f"{word:<{states}}", _PAINTS[kind])
        out.append(f"  {row.title:<{columns}}  {mark}  {body[0] if body else ''}".rstrip())
        out += [" " * indent + line for line in body[1:]]
    return out
