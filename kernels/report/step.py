"""What to do next, with the lines that show why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Step:
    """The next step after a result.

    text: with placeholders, as in `Verdict.advice`
    marks: lines besides the finding's own, each with what it does wrong
    """

    text: str
    marks: Mapping[int, str] = field(default_factory=dict)
