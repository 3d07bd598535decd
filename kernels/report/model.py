"""The result of one job, as `tilelab grade --json` prints it and the course stores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernels.compile.diagnostics import Diagnostic, Resources
from kernels.evidence import CodeLine, Evidence
from kernels.exercise.input_words import case_parts
from kernels.exercise.model import BOUND, InputKind
from kernels.exercise.trial import RunValues
from kernels.launch import Launch
from kernels.measurement import Environment, Measurement
from kernels.occupancy import Occupancy
from kernels.occupancy.driver_answer import MeasuredOccupancy
from kernels.verdict import CaseCheck, CaseStatus, Finding, Severity, Verdict
from kernels.wire import from_plain, to_plain
from kernels.wording import plural, sizes_text

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Step:
    """The next step after a result.

    key: the same for each result with this advice
    text: with placeholders, as in `Verdict.advice`
    marks: lines besides the finding's own, each with what it does wrong
    """

    key: str
    text: str
    marks: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LineNote:
    """A line of the source, and what it does."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a source shows about its mistake.

    cause: of an incorrect result, in one sentence; "" if the source doesn't show it
    step: what to do next
    advice: the key of the step; "" in reports of older versions
    marks: the step's lines besides the findings' own
    clues: the lines behind an incorrect result
    lost_update: both accesses of the leading race are one line that adds to its element
    barriers: the first lines with a barrier of the whole block, for a race
    shared: the leading race is in shared memory
    extents: rows and columns of the race's array; empty if its declaration doesn't show them
    """

    cause: str = ""
    step: str = ""
    marks: tuple[LineNote, ...] = ()
    clues: tuple[LineNote, ...] = ()
    lost_update: bool = False
    barriers: tuple[int, ...] = ()
    shared: bool = False
    extents: tuple[int, ...] = ()
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """One job's result.

    message: one sentence for the verdict: the first finding's, if there is one
    device: the device class of the GPU that judged the kernel, such as "h200"; "cpu" without a GPU
    checks: every requested case of the exercise.
    printed: the kernel's output, cut at a limit; printed_case: the case that printed it
    warnings: the compiler's warnings, cut at a limit
    launch, launch_sizes: of the largest case that ran; no sizes in reports of older versions
    launch_note: where its block comes from, if not from the exercise or a launch comment
    launches: the kernels of all launches in their order, if a case has several; `launch` is the first
    seed: 128 bits in hex that reproduce the inputs of every case
    isolation: the protections that this machine's sandbox lacks
    seconds: time per step
    occupancy: from the table of limits, without a GPU.
    measured_occupancy: from the driver, for the measured launch
    environment: the GPU that judged the kernel, with its driver; also set if nothing was measured
    ptx: the kernel's body at the launch's sizes, cut at a limit
    unmade_checks: checks that need the CPU device, if only a GPU could run the kernel
    explanation: of a mistake; None for an accepted kernel and in reports of older versions
    values: of a trial that ran
    """

    verdict: Verdict
    message: str
    exercise: str
    device: str
    arch: str
    tile: int
    findings: tuple[Finding, ...] = ()
    checks: tuple[CaseCheck, ...] = ()
    measurement: Measurement | None = None
    environment: Environment | None = None
    occupancy: Occupancy | None = None
    evidence: Evidence = field(default_factory=Evidence)
    seconds: Mapping[str, float] = field(default_factory=dict)
    printed: str = ""
    printed_case: str | None = None
    resources: Resources | None = None
    warnings: tuple[Diagnostic, ...] = ()
    launch: Launch | None = None
    launch_sizes: Mapping[str, int] = field(default_factory=dict)
    seed: str = ""
    isolation: tuple[str, ...] = ()
    measured_occupancy: MeasuredOccupancy | None = None
    unmade_checks: tuple[str, ...] = ()
    launch_note: str = ""
    launches: tuple[str, ...] = ()
    ptx: tuple[CodeLine, ...] = ()
    explanation: Explanation | None = None
    values: RunValues | None = None
    schema: int = SCHEMA

    @property
    def inputs(self) -> str:
        return case_parts(self.checks[0].case)[1] if self.checks else ""


def launch_sentence(report: Report) -> str:
    """The grid and block of the largest case, with its sizes and the reason; "" if nothing was launched."""
    if report.launch is None:
        return ""
    case = ", ".join(filter(None, ("largest case", sizes_text(report.launch_sizes))))
    sentence = f"Launched as {report.launch.text} ({case}). {report.launch_note}".rstrip()
    if not report.launches:
        return sentence
    first, number = report.launches[0], len(report.launches)
    return f"{sentence} This is the first of {number} launches, `{first}`. Counts and occupancy are for it alone."


def first_error(findings: tuple[Finding, ...], verdict: Verdict) -> Finding | None:
    """The finding that a report leads with: the first error of the verdict's kind."""
    for finding in findings:
        if finding.kind is verdict and finding.severity is Severity.ERROR:
            return finding
    return None


def verdict_sentence(report: Report) -> str:
    """The verdict in one sentence, with the lines of its first finding."""
    if report.verdict is Verdict.ACCEPTED:
        return report.message
    leading = first_error(report.findings, report.verdict)
    if leading is None or not leading.lines:
        return report.verdict.headline
    return f"{leading.meaning.rstrip('.')} ({leading.lines})."


def message_for(
    verdict: Verdict, findings: tuple[Finding, ...], checks: tuple[CaseCheck, ...], *, compared: bool = True
) -> str:
    """One sentence for the verdict: the leading finding's, if there is one.

    compared: whether the exercise defines the correct result
    """
    leading = first_error(findings, verdict)
    if leading is not None:
        return leading.message
    if verdict is not Verdict.ACCEPTED:
        return verdict.headline
    ran = [check.case for check in checks if check.status is not CaseStatus.NOT_RUN]
    if not ran:
        return "No case was run."
    if not compared:
        return f"Ran without a fault in {len(ran)} of {plural(len(ran), 'case')}. This exercise compares no results."
    only_bounded = all(case.endswith(f" {InputKind.REAL}") for case in ran)
    how = "within the error bound" if only_bounded else "bit-exact"
    bounds = [word.removeprefix(BOUND) for word in ran[0].split() if word.startswith(BOUND)]
    if bounds:
        how = f"within {bounds[0]} of the exercise's solution"
    return f"Correct in {len(ran)} of {plural(len(ran), 'case')}, {how}."


def to_json(report: Report) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(report)
    return plain


def from_json(data: object) -> Report:
    """Read a report from its JSON object; raise WireError if it isn't a report."""
    return from_plain(Report, data)
