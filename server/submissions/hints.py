"""How much of a mistake a reader sees: an assignment may begin with a question, and its student asks for more."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.verdict import Verdict
from server.courses.models import HintStep

FAULTLESS = frozenset({None, Verdict.ACCEPTED, Verdict.SYSTEM_ERROR})
NEVER_RUN = frozenset({Verdict.REJECTED, Verdict.COMPILE_ERROR, Verdict.UNSUPPORTED})
"""The message and the line of such a mistake are never held back: any compiler shows them."""


@dataclass(frozen=True, slots=True)
class Hints:
    """What a reader sees. first: before the student asked; shown: now."""

    first: HintStep
    shown: HintStep

    @property
    def asks(self) -> bool:
        """Whether the result has a question."""
        return self.first is HintStep.QUESTION

    @property
    def following(self) -> HintStep | None:
        """What the student can ask for; None if nothing is hidden."""
        return {HintStep.QUESTION: HintStep.FINDING, HintStep.FINDING: HintStep.EDIT}.get(self.shown)
