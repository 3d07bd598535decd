"""The Jinja environment of an analysis. It escapes HTML and characters that would reorder text."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kernels.rendering.page import numbers
from kernels.rendering.page.links import linked, typeset
from kernels.rendering.text_safety import safe

_TEMPLATES = Path(__file__).parent / "templates"
_NUMBERS = (
    "count", "short", "ratio", "percent", "milliseconds", "gflops", "times", "size", "departure",
)  # fmt: skip


@cache
def environment() -> Environment:
    """The environment, created once per process."""
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
    return made


def _shown(value: object) -> object:
    """Escape control and bidi characters in every text except Markup."""
    return safe(value) if isinstance(value, str) and not isinstance(value, Markup) else value
