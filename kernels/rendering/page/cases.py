"""The cases of a report as one table, with failed ones first."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import dataclass

from kernels.exercise.input_words import INPUT_WORDS, InputWords, case_parts
from kernels.rendering.findings import failing_case
from kernels.report import Report
from kernels.verdict import CaseCheck

_UNKNOWN = InputWords("", "")
_NUMBER = re.compile(r"\d{1,18}")
_ORDER = _FAILED, _PASSED, _UNFINISHED, _NOT_RUN = "failed", "passed", "not finished", "not run"


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case.

    inputs, meaning: its kind of inputs, and a sentence about it; both may be ""
    note: why it failed or has no result; "" if it passed
    """

    size: str
    inputs: str
    meaning: str
    outcome: str
    note: str


@dataclass(frozen=True, slots=True)
class CasesView:
    """All cases: failed ones, passed ones, then cases without a result. Each part is sorted by size.

    unfinished: those that were stopped; not_run: those that never began
    kinds: the number of kinds of inputs
    replay: the command that runs a failing case with new values; "" if none failed
    """

    passed: int
    failed: int
    unfinished: int
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
    number = Counter(check.outcome for check in report.checks)
    words = "tilelab", "grade", file, "--exercise", report.exercise, "--tile", str(report.tile)
    return CasesView(
        passed=number[_PASSED],
        failed=number[_FAILED],
        unfinished=number[_UNFINISHED],
        not_run=number[_NOT_RUN],
        kinds=len({case_parts(check.case)[1] for check in report.checks} - {""}),
        rows=tuple(_row(check) for check in sorted(report.checks, key=_place)),
        replay=shlex.join([*words, "--case", case]) if (case := failing_case(report)) else "",
    )


def _place(check: CaseCheck) -> tuple[int, list[int], str]:
    """By outcome, then by size. Cases of one size stay in the exercise's order."""
    size, _ = case_parts(check.case)
    return _ORDER.index(check.outcome), [int(number) for number in _NUMBER.findall(size)], size


def _row(check: CaseCheck) -> CaseRow:
    size, kind = case_parts(check.case)
    words = INPUT_WORDS.get(kind, _UNKNOWN)
    return CaseRow(size, words.title, words.meaning, check.outcome, check.note)
