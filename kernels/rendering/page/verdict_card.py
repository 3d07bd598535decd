"""The verdict in a few lines: its name, the mistake, the lines of code, and the next step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernels.rendering.findings import excerpt_labels, excerpt_numbers, summary_sentence
from kernels.report.advice import advice_for
from kernels.report.model import Report, first_error
from kernels.verdict import Finding, Verdict

_SHARE = re.compile(r"(?<= incorrect\.) ")
_STATES = {Verdict.ACCEPTED: "good", Verdict.SYSTEM_ERROR: "fair"}
_EXACT = (Verdict.COMPILE_ERROR, Verdict.REJECTED)
"""Verdicts whose first finding says more than the verdict's own sentence."""


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
    where: `lines 11 and 14`, or ""
    sentence: what is wrong; detail: one example of it, or ""; count: `240 pairs`, or ""
    line: where to begin in the source; None if no line is known
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


def verdict_card(report: Report, lines: Sequence[str], ideas: Sequence[str] = ()) -> VerdictCard:
    """Make the card.

    lines: of the graded source
    ideas: what would make a measured kernel faster
    """
    leading = first_error(report.findings, report.verdict)
    sentence, detail = _sentences(report, leading)
    step, step_line = _step(report, lines, ideas)
    return VerdictCard(
        name=report.verdict.words,
        state=_STATES.get(report.verdict, "poor"),
        where="" if leading is None else leading.lines,
        sentence=sentence,
        detail=detail,
        count="" if leading is None else leading.count_text,
        line=None if leading is None else leading.line,
        excerpt=() if leading is None else _excerpt(leading, len(lines)),
        step=step,
        step_line=step_line,
    )


def _sentences(report: Report, leading: Finding | None) -> tuple[str, str]:
    """What is wrong, and an example. For an incorrect result, the diagnosis leads."""
    if leading is None:
        return summary_sentence(report), ""
    headline = report.verdict.headline if leading.lines else summary_sentence(report)
    if report.verdict is Verdict.WRONG_ANSWER:
        example, *diagnosis = _SHARE.split(leading.message, maxsplit=1)
        return (diagnosis[0], example) if diagnosis else (headline, example)
    if report.verdict in _EXACT:
        return leading.message, ""
    return headline, "" if leading.message in {headline, report.verdict.headline} else leading.message


def _step(report: Report, lines: Sequence[str], ideas: Sequence[str]) -> tuple[str, int | None]:
    if report.verdict is not Verdict.ACCEPTED:
        return advice_for(report, lines), None
    if ideas:
        return ideas[0], None
    first = next(iter(report.evidence.advice), None)
    return ("", None) if first is None else (first.text, first.line)


def _excerpt(finding: Finding, last: int) -> tuple[ExcerptLine, ...]:
    labels = excerpt_labels(finding, last)
    numbers = excerpt_numbers(labels, last)
    return tuple(
        ExcerptLine(
            number, number in labels, labels.get(number, ""), bool(at) and numbers[at - 1] != number - 1
        )
        for at, number in enumerate(numbers)
    )
