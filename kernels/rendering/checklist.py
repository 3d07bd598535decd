"""The checklist as text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from kernels.evidence import ChecklistRow, State
from kernels.rendering.text_safety import safe
from kernels.rendering.text_style import Style

_DIM, _RED, _GREEN, _YELLOW = "2", "31;1", "32;1", "33;1"
_MARKS = {State.YES: "yes", State.PARTLY: "partly", State.NO: "no", State.NOT_NEEDED: "not needed"}
_PAINTS = {State.YES: _GREEN, State.PARTLY: _YELLOW, State.NO: _RED, State.NOT_NEEDED: _DIM}


def checklist_text(rows: Sequence[ChecklistRow], style: Style, *, advice: bool = True) -> list[str]:
    """Each optimisation with its state and the numbers behind it, and if wanted, with advice."""
    columns = max((len(row.title) for row in rows), default=0)
    states = max((len(_MARKS[row.state]) for row in rows), default=0)
    indent = columns + states + 6
    out = []
    for row in rows:
        texts = [safe(row.evidence)]
        if advice:
            texts += [safe(row.advice), f"Up to {row.gain:.2f} times faster." if row.gain and row.gain > 1.005 else ""]
        body = textwrap.wrap(" ".join(filter(None, texts)), max(20, style.width - indent))
        mark = style.paint(f"{_MARKS[row.state]:<{states}}", _PAINTS[row.state])
        out.append(f"  {row.title:<{columns}}  {mark}  {body[0] if body else ''}".rstrip())
        out += [" " * indent + line for line in body[1:]]
    return out
