"""The cases of a report as a grid of sizes and kinds of inputs, with failed sizes first."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from kernels.exercise.input_words import INPUT_WORDS, InputWords, case_parts, case_words
from kernels.report import Report
from kernels.verdict import CaseCheck, CaseStatus

_MOST_NOTES = 12
_OTHER = InputWords("inputs", "")


@dataclass(frozen=True, slots=True)
class SizeRow:
    """A size with its cases by kind of inputs, usually one or none each.

    failed: whether any case failed
    """

    size: str
    cells: tuple[tuple[CaseCheck, ...], ...]
    failed: bool


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence with all the cases that share it."""

    text: str
    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CasesView:
    """All cases.

    failed, not_run: notes on those cases
    replay: the command that runs a failing case; "" if none failed
    """

    passed: int
    ran: int
    kinds: tuple[InputWords, ...]
    rows: tuple[SizeRow, ...]
    failed: tuple[Note, ...]
    not_run: tuple[Note, ...]
    replay: str


def cases_view(report: Report, file: str) -> CasesView | None:
    """The cases; None without any. file: the name in the command that repeats one."""
    if not report.checks:
        return None
    kinds = list(dict.fromkeys(case_parts(check.case)[1] for check in report.checks))
    sizes = dict.fromkeys(case_parts(check.case)[0] for check in report.checks)
    rows = [_row(size, kinds, report.checks) for size in sizes]
    ran = [check for check in report.checks if check.status is not CaseStatus.NOT_RUN]
    return CasesView(
        passed=sum(check.status is CaseStatus.PASSED for check in ran),
        ran=len(ran),
        kinds=tuple(INPUT_WORDS.get(kind, _OTHER) for kind in kinds),
        rows=tuple(sorted(rows, key=lambda row: not row.failed)),
        failed=_notes(report.checks, CaseStatus.FAILED),
        not_run=_notes(report.checks, CaseStatus.NOT_RUN),
        replay=replay(report, file),
    )


def replay(report: Report, file: str) -> str:
    """The command that runs a failing case with new values; the first that a finding names."""
    failed = [check.case for check in report.checks if check.status is CaseStatus.FAILED]
    if not failed:
        return ""
    told = (finding.example.case for finding in report.findings if finding.example is not None)
    case = next((name for name in told if name in failed), failed[0])
    words = [
        "tilelab",
        "grade",
        file,
        "--exercise",
        report.exercise,
        "--tile",
        str(report.tile),
        "--case",
        case,
    ]
    return shlex.join(words)


def _row(size: str, kinds: Sequence[str], checks: Sequence[CaseCheck]) -> SizeRow:
    cells = tuple(
        tuple(check for check in checks if case_parts(check.case) == (size, kind)) for kind in kinds
    )
    return SizeRow(size, cells, any(check.status is CaseStatus.FAILED for cell in cells for check in cell))


def _notes(checks: Sequence[CaseCheck], status: CaseStatus) -> tuple[Note, ...]:
    """The notes on the cases of a status, each sentence once."""
    by_text: dict[str, list[str]] = {}
    for check in checks:
        if check.status is status:
            by_text.setdefault(check.note or status.value.replace("_", " "), []).append(
                case_words(check.case)
            )
    return tuple(Note(text, tuple(cases)) for text, cases in by_text.items())[:_MOST_NOTES]
