"""The verdicts, the findings behind them, and the rule that makes one verdict out of many findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

CPU_DEVICE = "cpu"
"""The device class of what no GPU judged."""


class Verdict(StrEnum):
    """What a job ends in. Declared in order of precedence: the first that applies over all cases wins.

    headline: what it means, in one sentence
    advice: what to try next, where nothing more is known; `NAME` stands for the exercise
    """

    _value_: str
    headline: str
    advice: str

    def __new__(cls, name: str, headline: str = "", advice: str = "") -> Self:
        """A member that equals its name."""
        made = str.__new__(cls, name)
        made._value_, made.headline, made.advice = name, headline, advice
        return made

    REJECTED = (
        "rejected",
        "This file can't be graded.",
        (
            "Submit the kernel and its device functions in one file. A host program can stay in it between "
            "`#ifndef TILELAB` and `#endif`. `tilelab exercises NAME` shows what the file must hold."
        ),
    )
    COMPILE_ERROR = (
        "compile_error",
        "Your kernel does not compile.",
        "Start with the first error; later ones often follow from it.",
    )
    RESOURCE_LIMIT = (
        "resource_limit",
        "Your kernel can't be launched like this.",
        (
            "Make the block or its tiles smaller: a block has at most 1,024 threads, 48 KiB of shared memory "
            "and 64 K registers."
        ),
    )
    UNSUPPORTED = (
        "unsupported",
        "The CPU device can't check this kernel.",
        "Write the code that is named above in another way, or have the file graded on a GPU.",
    )
    OUT_OF_BOUNDS = (
        "out_of_bounds",
        "Your kernel reads or writes outside an array.",
        (
            "Threads past the edge of the matrix exist whenever Width is not a multiple of the tile. Guard "
            "each load and each store with its own test, such as `Row < Width && Col < Width`, and put 0 "
            "into the shared tile where there is nothing to load."
        ),
    )
    BARRIER_DIVERGENCE = (
        "barrier_divergence",
        "Threads of a block don't reach the same barrier.",
        (
            "Take `__syncthreads()` out of any `if` or loop that not all threads of the block go through "
            "alike, and do not `return` before the last barrier: guard the loads and the store instead."
        ),
    )
    DATA_RACE = (
        "data_race",
        "Two threads use the same memory, and nothing orders them.",
        "Put `__syncthreads()` between the two accesses, where every thread of the block reaches it.",
    )
    UNINITIALIZED_READ = (
        "uninitialized_read",
        "Your kernel reads memory before writing it.",
        (
            "Give every accumulator a first value (`float Pvalue = 0.0f;`), and let every thread of the "
            "block write its element of the shared tile in every phase: 0 where it lies outside the matrix."
        ),
    )
    TIME_LIMIT = (
        "time_limit",
        "Your kernel ran too long.",
        (
            "Look for a loop whose end is never reached: a counter that is not changed, an unsigned counter "
            "that runs below 0, or a wait for another thread."
        ),
    )
    INPUT_MODIFIED = (
        "input_modified",
        "Your kernel changes one of its inputs.",
        "Write to the output only. `const float*` parameters let the compiler find such a store.",
    )
    RUNTIME_ERROR = (
        "runtime_error",
        "Your kernel stops with an error.",
        "Look at the line above: the kernel ends there, and a GPU would report an error too.",
    )
    WRONG_ANSWER = (
        "wrong_answer",
        "Your kernel computes an incorrect result.",
        (
            "Follow one element by hand: which row of the left matrix and which column of the right one does "
            "its thread multiply, over which k, and where does it store the sum?"
        ),
    )
    ACCEPTED = (
        "accepted",
        "Your kernel is correct in every case that ran.",
    )
    SYSTEM_ERROR = (
        "system_error",
        "Grading failed on our side. Your kernel was not judged.",
        "Try once more; if it happens again, tell those who run the course.",
    )


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
