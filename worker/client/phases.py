"""A submission's progress in words and as a bar."""

from __future__ import annotations

from kernels.rendering.text_safety import safe, safe_lines
from kernels.rendering.text_style import Style
from worker.client.answers import Progress, Step, Submission
from worker.client.errors import one_line

_DOING = {"compile": "compiling", "check": "checking", "measure": "measuring"}
_PASSED = {"done", "failed", "not_run"}
_BAR = 12
_LONGEST = 100
_LONGEST_OUTPUT = 1_000


def phase(submission: Submission) -> str:
    """The current phase. It has no elapsed time, so it changes only with the phase."""
    if submission.state == "cancelled":
        return "cancelled"
    if submission.over:
        return "graded"
    doing = [_DOING.get(step.name, safe(step.name)) for step in submission.steps if step.state == "running"]
    if doing:
        # a worker compiles and checks in one step
        return " and ".join(doing)
    begun = any(step.state in _PASSED for step in submission.steps)
    return f"waiting {'to be measured' if begun else 'in the queue'}{_place(submission)}"


def headline(progress: Progress) -> str:
    """The phase in an event, without details that change all the time."""
    text = one_line(progress.headline)[:_LONGEST]
    return text[:1].lower() + text[1:]


def detail(progress: Progress) -> str:
    """The progress within the phase: the checked size or the measured launch."""
    now = next((one.detail for one in progress.phases if one.state == "now" and one.detail), "")
    return one_line(now)[:_LONGEST]


def output(progress: Progress) -> list[str]:
    """The kernel's output in an event, safe for a terminal."""
    return safe_lines(progress.printed[:_LONGEST_OUTPUT].removesuffix("\n"))


def part_of(submission: Submission) -> float:
    return sum(map(_passed, submission.steps)) / len(submission.steps) if submission.steps else 0.0


def part_told(progress: Progress) -> float:
    """The progress in an event, 0 to 1."""
    behind = {"done": 1.0, "left_out": 1.0, "now": 0.5}
    return sum(behind.get(one.state, 0.0) for one in progress.phases) / len(progress.phases) if progress.phases else 0.0


def bar(part: float, style: Style) -> str:
    """A progress bar: `[####--------]`."""
    full = round(_BAR * part)
    done, left = ("█", "░") if style.unicode else ("#", "-")
    return f"[{done * full}{left * (_BAR - full)}]"


def _passed(step: Step) -> float:
    return 1.0 if step.state in _PASSED else 0.5 if step.state == "running" else 0.0


def _place(submission: Submission) -> str:
    if not submission.position or submission.wait is None:
        return ""
    text = f", number {submission.position:,}"
    if submission.wait.seconds is not None and submission.wait.seconds >= 1:
        return f"{text}, about {duration(submission.wait.seconds)}"
    return f"{text}. {safe(submission.wait.reason[:200])}" if submission.wait.reason else text


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
