"""How templates of an analysis are read: everything is escaped, and told in characters that reorder nothing."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kernels.rendering.page import numbers
from kernels.rendering.page.linked import linked, typeset
from kernels.rendering.page.listing.marks import count_of, title_of
from kernels.rendering.text_safety import safe

_TEMPLATES = Path(__file__).parent / "templates"
_NUMBERS = (
    "count", "short", "ratio", "percent", "milliseconds", "gflops", "times", "size", "departure",
)  # fmt: skip


@cache
def environment() -> Environment:
    """Made once in each process."""
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters |= {name: getattr(numbers, name) for name in _NUMBERS}
    made.filters |= {"typeset": typeset, "linked": linked}
    made.filters |= {"finding_title": title_of, "finding_count": count_of}
    return made


def _shown(value: object) -> object:
    """Every text that goes into the page, unless it is markup of ours, with control and bidi characters spelled out."""
    return safe(value) if isinstance(value, str) and not isinstance(value, Markup) else value
