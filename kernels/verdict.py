"""The verdicts with their sentences, the findings behind them, and the rule that turns findings into one verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from kernels.facts import Element, Facts, Mistake
from kernels.wording import line_ranges, lines_named, plural

CPU_DEVICE = "cpu"
"""The device class of a kernel that no GPU judged."""


class Verdict(StrEnum):
    """The outcome of a job, in order of precedence: the first verdict that any case has wins.

    Pages, commands and reports read their sentences from this table.

    headline: the meaning in one sentence
    advice: the next step; `report.advice` fills in {at}, {first} (line), {between} and {element}
    counted: the noun for a finding's count
    roles: labels of a finding's other line and of its own line
    """

    _value_: str
    headline: str
    advice: str
    counted: str
    roles: tuple[str, str]

    def __new__(
        cls, name: str, headline: str = "", advice: str = "", counted: str = "time", roles: tuple[str, str] = ("", "")
    ) -> Self:
        """A member that equals its name."""
        made = str.__new__(cls, name)
        made._value_, made.headline, made.advice = name, headline, advice
        made.counted, made.roles = counted, roles
        return made

    @property
    def words(self) -> str:
        """The name in words: `data race`."""
        return self.value.replace("_", " ")

    REJECTED = (
        "rejected",
        "This file can't be graded.",
        ("Submit only the kernel and its device functions. The exercise's handout shows what the file must contain."),
    )
    COMPILE_ERROR = (
        "compile_error",
        "Your kernel does not compile.",
        "Start with the first error{first}. Later errors often follow from it.",
    )
    RESOURCE_LIMIT = (
        "resource_limit",
        "Your kernel can't be launched like this.",
        (
            "Make the block or its tiles smaller. A block has at most 1,024 threads and 64 K registers. The exercise "
            "limits its shared memory."
        ),
    )
    UNSUPPORTED = (
        "unsupported",
        "The CPU device can't check this kernel.",
        "Write the code{at} in another way, or grade the file on a GPU.",
    )
    OUT_OF_BOUNDS = (
        "out_of_bounds",
        "Your kernel reads or writes outside an array.",
        (
            "Guard each load and each store{at} with a test of its index against the size of the array. "
            "If a size isn't a multiple of the block, some threads have no element."
        ),
    )
    BARRIER_DIVERGENCE = (
        "barrier_divergence",
        "Threads of a block don't reach the same barrier.",
        (
            "Move `__syncthreads()`{at} out of any `if` or loop that some threads skip. Don't `return` before the "
            "last barrier. Guard the loads and the store instead."
        ),
        "time",
        ("others wait here", "these threads wait here"),
    )
    DATA_RACE = (
        "data_race",
        "Two accesses to the same memory have no fixed order.",
        "Put `__syncthreads()` {between}. Every thread of the block must reach it.",
        "access pair",
        ("one access", "other access"),
    )
    ORDER_DEPENDENT = (
        "order_dependent",
        "The outcome depends on which thread comes first.",
        (
            "Put `__syncthreads()` {between}. Every thread of the block must reach it. Atomic operations alone happen "
            "in any order."
        ),
        "time",
        ("one access", "other access"),
    )
    UNINITIALIZED_READ = (
        "uninitialized_read",
        "Your kernel reads memory before writing it.",
        (
            "Give each variable a first value before its use{at}, for example `float sum = 0.0f;`. Let every "
            "thread of the block write its element of a shared array before others read it."
        ),
    )
    TIME_LIMIT = (
        "time_limit",
        "Your kernel ran too long.",
        (
            "Look for a loop{at} that never ends. Its counter may not change, or an unsigned counter may run below 0. "
            "Or it waits for another thread."
        ),
    )
    INPUT_MODIFIED = (
        "input_modified",
        "Your kernel changes one of its inputs.",
        "Store results{at} in the output only, never in an input.",
        "element",
    )
    RUNTIME_ERROR = (
        "runtime_error",
        "Your kernel stops with an error.",
        "Correct the code{at}. A GPU would report an error there too.",
    )
    WRONG_ANSWER = (
        "wrong_answer",
        "Your kernel computes an incorrect result.",
        (
            "Follow {element} by hand. Which row of the left matrix and which column of the right matrix does its "
            "thread multiply? Over which k? Where does it store the sum?"
        ),
        "element",
    )
    ACCEPTED = ("accepted", "Your kernel is correct in every case that ran.")
    SYSTEM_ERROR = (
        "system_error",
        "Grading failed on our side, so your kernel has no verdict.",
        "Try again. If it fails again, tell your course staff.",
    )


class Severity(StrEnum):
    """Whether a finding decides the verdict or is only a note."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Example:
    """One concrete instance of a finding, in the words of the course.

    array, indices: of the element; "" and empty if it has none
    launch: its number in the case, from 1; 0 if the exercise has a single launch
    """

    block: tuple[int, int, int] | None = None
    threads: tuple[tuple[int, int, int], ...] = ()
    element: str | None = None
    case: str | None = None
    array: str = ""
    indices: tuple[int, ...] = ()
    launch: int = 0

    @classmethod
    def at(
        cls,
        element: Element,
        block: tuple[int, int, int] | None = None,
        threads: tuple[tuple[int, int, int], ...] = (),
        case: str | None = None,
    ) -> Self:
        return cls(block, threads, str(element), case, element.array, element.indices)


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake in a kernel, counted over all threads and cases.

    kind: the verdict that this finding leads to
    line: the student's line, counted from 1; None if unknown
    column: the first character of the mistake, counted from 1; None for the whole line
    other_line: for a race, the line of the first access
    count: threads or elements; for races, pairs of accesses
    message: one plain sentence for the student
    facts: what it says, for programs
    called_from: if a line is in a helper function, the kernel's lines that call it
    """

    kind: Verdict
    message: str
    line: int | None = None
    other_line: int | None = None
    count: int = 1
    example: Example | None = None
    severity: Severity = Severity.ERROR
    column: int | None = None
    facts: Facts = field(default_factory=Facts)
    called_from: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """The kind in words: `data race`."""
        if self.is_note:
            return "note"
        return f"warning: {self.kind.words}" if self.severity is Severity.WARNING else self.kind.words

    @property
    def is_note(self) -> bool:
        """Whether it only says how the file was read, such as which lines aren't graded."""
        return self.kind is Verdict.REJECTED and self.severity is Severity.WARNING

    @property
    def array(self) -> str:
        """The array of the example's element; "" without one."""
        return "" if self.example is None else self.example.array

    @property
    def indices(self) -> tuple[int, ...]:
        return () if self.example is None else self.example.indices

    @property
    def lines(self) -> str:
        """`line 12`, `lines 20 and 25`; "" if no line is known."""
        return lines_named(sorted({line for line in (self.line, self.other_line) if line is not None}))

    @property
    def headline(self) -> str:
        """The kind with its lines.

        `Data race between lines 20 and 25`, `Compile error at line 3, column 5`, `Data race at line 9, called from
        line 30`
        """
        of_pair = self.kind in {Verdict.DATA_RACE, Verdict.ORDER_DEPENDENT} and " and " in self.lines
        where = f" {'between' if of_pair else 'at'} {self.lines}" if self.lines else ""
        column = f", column {self.column}" if self.column is not None else ""
        calls = f", called from {line_ranges(range(each, each + 1) for each in self.called_from)}"
        return f"{self.title.capitalize()}{where}{column}{calls if self.called_from else ''}"

    @property
    def meaning(self) -> str:
        """What its kind means, in one sentence."""
        unfinished = self.facts.mistake is Mistake.UNFINISHED
        return "An asynchronous operation may go on after its block." if unfinished else self.kind.headline

    @property
    def counted(self) -> str:
        """The noun for its count."""
        return "operation" if self.facts.mistake is Mistake.UNFINISHED else self.kind.counted

    @property
    def count_text(self) -> str:
        """`240 access pairs`, `3 times`; "" for once."""
        return plural(self.count, self.counted) if self.count > 1 else ""


def rejected(message: str, line: int | None = None) -> Finding:
    """A finding that refuses a file."""
    return Finding(Verdict.REJECTED, message, line)


class CaseStatus(StrEnum):
    """The outcome of one case."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_RUN = "not_run"


CUT_SHORT = "cut short: a smaller case ran too long"


@dataclass(frozen=True, slots=True)
class CaseCheck:
    """One case of the exercise and its outcome; `note` says why it failed or was not run.

    incorrect, elements: the incorrect elements of its output, of all; 0 if it wasn't compared
    """

    case: str
    status: CaseStatus
    note: str = ""
    incorrect: int = 0
    elements: int = 0

    @property
    def outcome(self) -> str:
        """In words. A case that was cut short proves nothing; older versions called it failed."""
        return "not finished" if self.note == CUT_SHORT else self.status.value.replace("_", " ")


_PRECEDENCE = {verdict: rank for rank, verdict in enumerate(Verdict)}


def errors_of(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity is Severity.ERROR]


def decide(findings: Iterable[Finding]) -> Verdict:
    """The first verdict, in order of precedence, that an error leads to."""
    kinds = {finding.kind for finding in errors_of(findings)}
    return min(kinds, key=_PRECEDENCE.__getitem__, default=Verdict.ACCEPTED)


def finding_order(finding: Finding) -> tuple[bool, int, int, int]:
    """A sort key: errors before warnings, then by precedence and line."""
    line = finding.line if finding.line is not None else 1 << 30
    return (finding.severity is not Severity.ERROR, _PRECEDENCE[finding.kind], line, finding.other_line or 0)
