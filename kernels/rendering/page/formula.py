"""The course's formulas, typeset with what HTML has: N<sup>3</sup> / (16 × W)."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from kernels.rendering.text_safety import safe

_POWER = re.compile(r"\^(\d+|\w)")
_TIMES = re.compile(r"(?<=[\w)]) x (?=[\w(])")
_MINUS = re.compile(r" - ")


def typeset(formula: str) -> Markup:
    """The formula with powers raised and signs of their own."""
    text = str(escape(safe(formula)))
    text = _TIMES.sub(" × ", text)
    text = _MINUS.sub(" − ", text)  # noqa: RUF001 - a minus sign is meant
    return Markup(_POWER.sub(r"<sup>\1</sup>", text))  # noqa: S704 - escaped above, only sup is added
