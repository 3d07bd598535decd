"""The findings at each line of the source, with their messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernels.report.race_accesses import CALL, roles
from kernels.verdict import Finding, Severity, Verdict

MOST = 200
"""The most findings at lines; the report's JSON has all."""
_WAITING = "others", "these threads"


@dataclass(frozen=True, slots=True)
class Mark:
    """One finding at one of its lines.

    title: its kind in words; headline: the kind with its lines
    place: the event at this line, if the finding has two lines
    text: its message; "" at its other line
    line: its other line, or None
    column: the first character in this line; None for the whole line
    other: the event at the other line, in short
    """

    title: str
    headline: str
    place: str
    text: str
    count: str
    line: int | None
    warning: bool
    column: int | None = None
    other: str = ""


def marks(findings: Sequence[Finding]) -> Mapping[int, tuple[Mark, ...]]:
    found: dict[int, list[Mark]] = defaultdict(list)
    for finding in findings[:MOST]:
        line, other = finding.line, finding.other_line
        if line is None:
            line, other = other, None
        if line is None:
            continue
        other = None if other == line else other
        there, here = roles(finding) if other is not None else ("", "")
        waiting = finding.kind is Verdict.BARRIER_DIVERGENCE and other is not None
        word_there, word_here = _WAITING if waiting else (there, here)
        warning, names = finding.severity is Severity.WARNING, (finding.title, finding.headline)
        text, count = finding.message, finding.count_text
        found[line].append(Mark(*names, here, text, count, other, warning, finding.column, word_there))
        if other is not None:
            found[other].append(Mark(*names, there, "", "", line, warning, other=word_here))
        for call in finding.called_from:
            found[call].append(Mark(*names, CALL, "", "", line, warning, other=word_here or finding.title))
    return {line: tuple(dict.fromkeys(each)) for line, each in found.items()}
