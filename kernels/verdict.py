"""The verdicts, the findings behind them, and the rule that makes one verdict out of many findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

CPU_DEVICE = "cpu"
"""The device class of what no GPU judged."""


class Verdict(StrEnum):
    """What a job ends in. Declared in order of precedence: the first that applies over all cases wins."""

    REJECTED = "rejected"
    COMPILE_ERROR = "compile_error"
    RESOURCE_LIMIT = "resource_limit"
    UNSUPPORTED = "unsupported"
    OUT_OF_BOUNDS = "out_of_bounds"
    BARRIER_DIVERGENCE = "barrier_divergence"
    DATA_RACE = "data_race"
    UNINITIALIZED_READ = "uninitialized_read"
    TIME_LIMIT = "time_limit"
    INPUT_MODIFIED = "input_modified"
    RUNTIME_ERROR = "runtime_error"
    WRONG_ANSWER = "wrong_answer"
    ACCEPTED = "accepted"
    SYSTEM_ERROR = "system_error"


class Severity(StrEnum):
    """Whether a finding decides the verdict or only informs."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Example:
    """One concrete instance of a finding, in the words of the course."""

    block: tuple[int, int, int] | None = None
    threads: tuple[tuple[int, int, int], ...] = ()
    element: str | None = None
    case: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with a kernel, counted over all threads and cases.

    kind: the verdict that this finding leads to
    line: the student's line, counted from 1; None where no line is known
    column: the first character that it is about, counted from 1, or the one after the line's end; None for all of it
    other_line: for a race, the line of the access that came first
    count: how many times it was seen (threads or elements; for races, pairs)
    message: one plain sentence for the student
    """

    kind: Verdict
    message: str
    line: int | None = None
    other_line: int | None = None
    count: int = 1
    example: Example | None = None
    severity: Severity = Severity.ERROR
    column: int | None = None


class CaseStatus(StrEnum):
    """What became of one case."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True)
class CaseCheck:
    """One case of the exercise and what became of it; `note` says why it failed or was not run."""

    case: str
    status: CaseStatus
    note: str = ""


_PRECEDENCE = {verdict: rank for rank, verdict in enumerate(Verdict)}


def decide(findings: Iterable[Finding]) -> Verdict:
    """The first verdict, in order of precedence, that an error among the findings leads to."""
    kinds = {finding.kind for finding in findings if finding.severity is Severity.ERROR}
    return min(kinds, key=_PRECEDENCE.__getitem__, default=Verdict.ACCEPTED)


def finding_order(finding: Finding) -> tuple[bool, int, int, int]:
    """Errors before warnings, then in order of precedence and of lines."""
    line = finding.line if finding.line is not None else 1 << 30
    return (
        finding.severity is not Severity.ERROR,
        _PRECEDENCE[finding.kind],
        line,
        finding.other_line or 0,
    )
