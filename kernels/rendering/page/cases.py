"""The cases of a report as one table, with failed ones first."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping
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
_NUMBER = re.compile(r"\d{1,18}")
_ORDER = (CaseStatus.FAILED, CaseStatus.PASSED, CaseStatus.NOT_RUN)


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case.

    inputs, meaning: its kind of inputs, and a sentence about it; both may be ""
    note: why it failed or didn't run; "" if it passed
    """

    size: str
    inputs: str
    meaning: str
    status: CaseStatus
    note: str


@dataclass(frozen=True, slots=True)
class CasesView:
    """All cases: failed ones, passed ones, then cases without a run. Each part is sorted by size.

    kinds: the number of kinds of inputs
    replay: the command that runs a failing case; "" if none failed
    """

    passed: int
    failed: int
    not_run: int
    kinds: int
    rows: tuple[CaseRow, ...]
    replay: str

    @property
    def ran(self) -> int:
        return self.passed + self.failed


def cases_view(report: Report, file: str) -> CasesView | None:
    """The cases; None without any. file: the name in the command that repeats one."""
    if not report.checks:
        return None
    number = Counter(check.status for check in report.checks)
    return CasesView(
        passed=number[CaseStatus.PASSED],
        failed=number[CaseStatus.FAILED],
        not_run=number[CaseStatus.NOT_RUN],
        kinds=len({_parts(check.case)[1] for check in report.checks} - {""}),
        rows=tuple(_row(check) for check in sorted(report.checks, key=_place)),
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


def _place(check: CaseCheck) -> tuple[int, list[int], str]:
    """By outcome, then by size. Cases of one size stay in the exercise's order."""
    size, _ = _parts(check.case)
    return _ORDER.index(check.status), [int(number) for number in _NUMBER.findall(size)], size


def _row(check: CaseCheck) -> CaseRow:
    size, kind = _parts(check.case)
    return CaseRow(size, *_KINDS.get(kind, ("", "")), check.status, check.note)
