"""The result of one job: what `tilelab grade --json` prints and what the course keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernels.compile.diagnostics import Diagnostic, Resources
from kernels.evidence import Evidence
from kernels.exercise.model import InputKind
from kernels.launch import Launch
from kernels.measurement import Environment, Measurement
from kernels.occupancy import Occupancy
from kernels.occupancy.driver_answer import MeasuredOccupancy
from kernels.verdict import CaseCheck, CaseStatus, Finding, Severity, Verdict
from kernels.wire import from_plain, to_plain
from kernels.wording import plural

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Report:
    """One job's result.

    message: the verdict in one sentence, the first finding's where there is one
    device: the device class of the GPU that judged it, such as "h200"; else "cpu"
    checks: every case of the exercise that was asked for
    printed, printed_case: what the kernel printed, bounded, and in which case
    warnings: the compiler's, bounded
    launch: of the largest case that was run
    launch_note: where its block comes from, if not from the exercise or a launch comment
    seed: 128 bits in hex, from which the inputs of every case can be made again
    isolation: what the sandbox could not enforce on this machine; empty where all of it was
    seconds: per step
    occupancy: by the table, which needs no GPU; measured_occupancy: by the driver, for the measured launch
    environment: the GPU that judged it and what drives it, also where nothing was measured
    unmade_checks: what nobody checked, in words, where the GPU alone judged a kernel that the CPU device does not know
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
    seed: str = ""
    isolation: tuple[str, ...] = ()
    measured_occupancy: MeasuredOccupancy | None = None
    unmade_checks: tuple[str, ...] = ()
    launch_note: str = ""
    schema: int = SCHEMA


def launch_sentence(report: Report) -> str:
    """With which grid and block the largest case ran, and why so; "" where nothing was launched."""
    if report.launch is None:
        return ""
    return f"Launched as {report.launch.text} (largest case). {report.launch_note}".rstrip()


def first_error(findings: tuple[Finding, ...], verdict: Verdict) -> Finding | None:
    """The finding that a report leads with: the first error of the verdict's own kind."""
    for finding in findings:
        if finding.kind is verdict and finding.severity is Severity.ERROR:
            return finding
    return None


def message_for(
    verdict: Verdict,
    findings: tuple[Finding, ...],
    checks: tuple[CaseCheck, ...],
    *,
    compared: bool = True,
) -> str:
    """One sentence for the verdict, as concrete as what was found allows.

    compared: whether the exercise says what is right
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
        return (
            f"Ran without a fault in {len(ran)} of {plural(len(ran), 'case')}; results are not compared here."
        )
    only_bounded = all(case.endswith(f" {InputKind.REAL}") for case in ran)
    how = "within the error bound" if only_bounded else "to the last bit"
    return f"Right in {len(ran)} of {plural(len(ran), 'case')}, {how}."


def to_json(report: Report) -> dict[str, Any]:
    """The report as one JSON object."""
    plain: dict[str, Any] = to_plain(report)
    return plain


def from_json(data: object) -> Report:
    """The report back from its JSON object; raises WireError where it is not one."""
    return from_plain(Report, data)
