"""What stands at a line of the source: the findings that are about it, each with its message."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernels.rendering.findings import COUNTED, PLACES
from kernels.verdict import Finding, Severity, Verdict
from kernels.wording import plural

MOST = 200
"""Findings that are shown at their lines; all of them stand in the report's JSON."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One finding at one of its lines.

    title: its kind in words; place: what happens at this line, where it has two
    text: its message; "" at the other of its lines, which says where it stands
    line: the other of its lines; None where it has one
    column: where in this line it begins; None for all of the line
    """

    title: str
    place: str
    text: str
    count: str
    line: int | None
    warning: bool
    column: int | None = None


def marks(findings: Sequence[Finding]) -> Mapping[int, tuple[Mark, ...]]:
    """The marks of each line that has some."""
    found: dict[int, list[Mark]] = defaultdict(list)
    for finding in findings[:MOST]:
        line, other = finding.line, finding.other_line
        if line is None:
            line, other = other, None
        if line is None:
            continue
        other = None if other == line else other
        at_other, here = PLACES.get(finding.kind, ("the other place", ""))
        warning = finding.severity is Severity.WARNING
        title = title_of(finding)
        place = here if other is not None else ""
        text, count = finding.message, count_of(finding)
        found[line].append(Mark(title, place, text, count, other, warning, finding.column))
        if other is not None:
            found[other].append(Mark(title, at_other, "", "", line, warning))
    return {line: tuple(dict.fromkeys(each)) for line, each in found.items()}


def title_of(finding: Finding) -> str:
    """The kind of a finding in words. What was not read is a warning, and nothing was rejected."""
    kind = finding.kind.value.replace("_", " ")
    if finding.severity is Severity.WARNING:
        return "warning" if finding.kind is Verdict.REJECTED else f"warning: {kind}"
    return kind


def count_of(finding: Finding) -> str:
    """How often it was seen; "" for once."""
    return plural(finding.count, COUNTED.get(finding.kind, "time")) if finding.count > 1 else ""
