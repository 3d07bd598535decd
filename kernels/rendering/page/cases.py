"""The cases of a report as a grid of sizes and kinds of inputs, with failed sizes first."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernels.exercise.model import InputKind
from kernels.report import Report
from kernels.verdict import CaseCheck, CaseStatus

_KINDS: Mapping[str, tuple[str, str]] = {
    InputKind.INTEGERS_LEFT: (
        "whole numbers, left",
        "wide whole numbers in the left matrix, -1 and 1 in the right",
    ),
    InputKind.INTEGERS_RIGHT: (
        "whole numbers, right",
        "wide whole numbers in the right matrix, -1 and 1 in the left",
    ),
    InputKind.PERMUTATION: (
        "full precision",
        "numbers with all digits of a float, times a matrix that only moves and scales them",
    ),
    InputKind.REAL: ("real numbers", "real numbers in short sums, compared within an error bound"),
    InputKind.INTEGERS: ("whole numbers", "whole numbers whose sums are exact in any order"),
    InputKind.RANDOM: ("random", "random values of the kinds that the exercise declares for its arrays"),
    InputKind.MANTISSAS: ("full precision", "numbers that don't fit into a format narrower than float"),
}
_MOST_NOTES = 12


@dataclass(frozen=True, slots=True)
class Kind:
    """A column: a kind of inputs."""

    title: str
    meaning: str


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
    kinds: tuple[Kind, ...]
    rows: tuple[SizeRow, ...]
    failed: tuple[Note, ...]
    not_run: tuple[Note, ...]
    replay: str


def cases_view(report: Report, file: str) -> CasesView | None:
    """The cases; None without any. file: the name in the command that repeats one."""
    if not report.checks:
        return None
    kinds = list(dict.fromkeys(_parts(check.case)[1] for check in report.checks))
    sizes = dict.fromkeys(_parts(check.case)[0] for check in report.checks)
    rows = [_row(size, kinds, report.checks) for size in sizes]
    ran = [check for check in report.checks if check.status is not CaseStatus.NOT_RUN]
    return CasesView(
        passed=sum(check.status is CaseStatus.PASSED for check in ran),
        ran=len(ran),
        kinds=tuple(Kind(*_KINDS.get(kind, (kind or "inputs", ""))) for kind in kinds),
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


def case_words(name: str) -> str:
    """A case's name in words, such as `Width=17, real numbers`."""
    size, kind = _parts(name)
    return f"{size}, {_KINDS[kind][0]}" if kind else size


def _parts(name: str) -> tuple[str, str]:
    """The size and the kind of inputs in a case's name."""
    size, _, kind = name.rpartition(" ")
    return (size, kind) if kind in _KINDS else (name, "")


def _row(size: str, kinds: Sequence[str], checks: Sequence[CaseCheck]) -> SizeRow:
    cells = tuple(tuple(check for check in checks if _parts(check.case) == (size, kind)) for kind in kinds)
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
