"""The marks that a report makes at the lines of its source, for the editor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernels.rendering.page.listing.marks import marks
from kernels.report import Report
from kernels.report.model import first_error
from kernels.verdict import Finding


@dataclass(frozen=True, slots=True)
class LineMark:
    """A mark at a line of the editor.

    column: None for the whole line
    kind: the finding's headline, such as "Data race between lines 20 and 25"
    severity: error or warning
    """

    line: int
    column: int | None
    kind: str
    message: str
    severity: str


def line_marks(report: Report) -> Sequence[LineMark]:
    """The marks of the findings, line by line. If no finding has a line, marks the lines behind the mistake."""
    found = _of_findings(report.findings)
    leading = first_error(report.findings, report.verdict)
    if found or leading is None or report.explanation is None:
        return found
    source = report.explanation
    return [
        LineMark(note.line, None, leading.headline, f"{leading.message} Here: {note.text}.", "error")
        for note in (*source.clues, *source.marks)
    ]


def _of_findings(findings: Sequence[Finding]) -> Sequence[LineMark]:
    return [
        LineMark(
            line=line,
            column=mark.column,
            kind=mark.headline,
            message=mark.text or f"{mark.place or 'other place'}, see line {mark.line}",
            severity="warning" if mark.warning else "error",
        )
        for line, found in sorted(marks(tuple(findings)).items())
        for mark in found
    ]
