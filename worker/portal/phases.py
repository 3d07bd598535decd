"""How far a submission is, in words."""

from __future__ import annotations

from kernels.text_safety import safe
from kernels.text_style import Style
from worker.portal.answers import Step, Submission

_DOING = {"compile": "compiling", "check": "checking", "measure": "measuring"}
_PASSED = {"done", "failed", "not_run"}
_BAR = 12


def phase(found: Submission) -> str:
    """What is being done, or awaited; without seconds, so that it changes only when that does."""
    if found.state == "cancelled":
        return "taken back"
    if found.over:
        return "graded"
    doing = [_DOING.get(step.name, safe(step.name)) for step in found.steps if step.state == "running"]
    if doing:
        # a worker compiles and checks in one go
        return " and ".join(doing)
    begun = any(step.state in _PASSED for step in found.steps)
    return f"waiting {'to be measured' if begun else 'in the queue'}{_place(found)}"


def bar(found: Submission, style: Style) -> str:
    """How much of the way is behind it: `[####--------]`."""
    if not found.steps:
        return ""
    part = sum(_passed(step) for step in found.steps) / len(found.steps)
    full = round(_BAR * part)
    done, left = ("█", "░") if style.unicode else ("#", "-")
    return f"[{done * full}{left * (_BAR - full)}]"


def _passed(step: Step) -> float:
    return 1.0 if step.state in _PASSED else 0.5 if step.state == "running" else 0.0


def _place(found: Submission) -> str:
    if not found.position or found.wait is None:
        return ""
    text = f", number {found.position:,}"
    if found.wait.seconds is not None and found.wait.seconds >= 1:
        return f"{text}, about {duration(found.wait.seconds)}"
    return f"{text}. {safe(found.wait.reason[:200])}" if found.wait.reason else text


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
