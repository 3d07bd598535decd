"""The verdict in a few lines: its name, the mistake, the lines of code, and the next step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kernels.evidence import costliest_line
from kernels.rendering.findings import excerpt_labels, excerpt_numbers, headline
from kernels.report.explanation import explanation_of, marked_lines
from kernels.report.model import Explanation, Report, first_error
from kernels.verdict import Finding, Verdict, errors_of
from kernels.wording import lines_named, plural

_MOST_ALSO = 9
NEXT_STEP, NEXT_IDEA = "Next step", "Next idea"
_LOST_UPDATE = "Two threads change the same memory at once, so one change is lost."
_COUNTED = {Verdict.INPUT_MODIFIED: "changed element"}
_NOT_COUNTED = (Verdict.WRONG_ANSWER, Verdict.RESOURCE_LIMIT)
"""A wrong answer's message has a count. A launch fails in each case alike."""
_STATES = {Verdict.ACCEPTED: "good", Verdict.SYSTEM_ERROR: "fair"}


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """A line of the source. label: the event there; hit: whether the finding is about this line."""

    number: int
    hit: bool
    label: str
    after_gap: bool


@dataclass(frozen=True, slots=True)
class VerdictCard:
    """The first things to know about a result.

    state: good, fair or poor
    where: `lines 11 and 14`, or ""; role: `look at`, if these aren't the finding's own lines
    sentence: what is wrong; detail: one example of it, or ""; count: `240 access pairs across all cases`, or ""
    line: where to begin in the source; None if no line is known
    label: the heading of the step
    also: the compiler's other errors
    step: what to do next, or ""; step_line: the line that it is about, if it doesn't name one
    """

    name: str
    state: str
    where: str
    sentence: str
    detail: str
    count: str
    line: int | None
    excerpt: tuple[ExcerptLine, ...]
    step: str
    step_line: int | None = None
    label: str = NEXT_STEP
    role: str = ""
    also: tuple[Finding, ...] = ()


def verdict_card(report: Report, last: int, idea: str = "") -> VerdictCard:
    """Make the card. last: the last line of the graded source. idea: what would make a measured kernel faster."""
    leading = first_error(report.findings, report.verdict)
    accepted = report.verdict is Verdict.ACCEPTED
    source = Explanation() if accepted else explanation_of(report)
    sentence, detail = headline(report)
    if source.lost_update:
        sentence = _LOST_UPDATE
    label, step, step_line = _faster(report, idea) if accepted else (NEXT_STEP, source.step, None)
    missed = next((goal.missed for goal in report.evidence.goals if accepted and not goal.met), "")
    if missed:
        first = next(iter(report.evidence.advice), None)
        detail, step = missed, step if first is None else step.removeprefix(first.goal).lstrip()
    slowest = costliest_line(report.evidence) if accepted and step_line is None else None
    look = {**marked_lines(source.clues), **marked_lines(source.marks)}
    if (start := step_line or slowest) is not None and start <= last:
        look = look or {start: "start here" if step_line else "most work"}
    of_finding = {} if leading is None or source.clues else excerpt_labels(leading, last)
    marked = {**of_finding, **look}
    return VerdictCard(
        name=report.verdict.words,
        state="fair" if missed else _STATES.get(report.verdict, "poor"),
        where=_where(leading, () if slowest else look),
        sentence=sentence,
        detail=detail,
        count=_count(leading),
        line=min(look, default=None if leading is None else leading.line),
        excerpt=_excerpt(marked, last),
        step=step,
        step_line=step_line,
        label=label,
        role=_role(accepted, missed) if look and not slowest else "",
        also=_also(report, leading),
    )


def _also(report: Report, leading: Finding | None) -> tuple[Finding, ...]:
    if report.verdict is not Verdict.COMPILE_ERROR:
        return ()
    return tuple(each for each in errors_of(report.findings) if each is not leading)[:_MOST_ALSO]


def _where(leading: Finding | None, look: Iterable[int]) -> str:
    """The lines next to the verdict's name: those to look at, otherwise the finding's."""
    return lines_named(sorted(look)) or ("" if leading is None else leading.lines)


def _role(accepted: bool, missed: str) -> str:
    if not accepted:
        return "look at"
    return "goal missed at" if missed else "could be faster at"


def _count(leading: Finding | None) -> str:
    if leading is None or leading.count < 2 or leading.kind in _NOT_COUNTED:
        return ""
    named = _COUNTED.get(leading.kind, leading.counted)
    return f"{plural(leading.count, named)} across all cases"


def _faster(report: Report, idea: str) -> tuple[str, str, int | None]:
    """The heading, the next step, and its line. Advice about a line is more helpful than a faster kernel's idea."""
    first = next(iter(report.evidence.advice), None)
    if first is not None and (first.line is not None or not idea):
        return NEXT_STEP, first.text, first.line
    return NEXT_IDEA, idea, None


def _excerpt(labels: Mapping[int, str], last: int) -> tuple[ExcerptLine, ...]:
    numbers = excerpt_numbers(labels, last)
    return tuple(
        ExcerptLine(number, number in labels, labels.get(number, ""), bool(at) and numbers[at - 1] != number - 1)
        for at, number in enumerate(numbers)
    )
