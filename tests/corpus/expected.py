"""What is expected of listed kernels, and what a test shows where it doesn't come."""

from __future__ import annotations

import functools

from kernels.exercise import Exercise, find_exercise
from kernels.report import Report
from kernels.verdict import Finding, Severity, Verdict


class Mistaken:
    """A kernel with the line of its mistake, None where no line shows it."""

    verdict: Verdict
    line: int | None
    other_line: int | None
    also: tuple[int, ...]

    def shown_by(self, finding: Finding) -> bool:
        """Whether the finding points at the mistake."""
        if finding.kind is not self.verdict or finding.severity is not Severity.ERROR:
            return False
        if self.other_line is not None:
            return {finding.line, finding.other_line} == {self.line, self.other_line}
        return self.line is None or finding.line in {self.line, *self.also}


@functools.cache
def exercise_of(name: str) -> Exercise:
    return find_exercise(name, ())


def in_words(report: Report) -> str:
    """What a failing test shows."""
    found = [f"{f.kind} at line {f.line} (other line {f.other_line}): {f.message}" for f in report.findings]
    return "\n".join([f"{report.verdict}: {report.message}", *found])
