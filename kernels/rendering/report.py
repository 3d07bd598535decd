"""A report as text: the verdict, the findings with their lines, the advice."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from kernels.counters import Totals, number
from kernels.exercise.input_words import case_words
from kernels.rendering.checklist import checklist_text
from kernels.rendering.findings import MOST_FINDINGS, failing_case, findings_text, summary_sentence
from kernels.rendering.measurement import device_text, measured_with_text, measurement_text, unmade_text
from kernels.rendering.notes import run_text, uses_text, warnings_text
from kernels.rendering.table import short
from kernels.rendering.text_safety import cut, safe, safe_lines
from kernels.rendering.text_style import BOLD, DIM, GREEN, RED, YELLOW, Style
from kernels.report.explanation import explanation_of
from kernels.report.model import Report, launch_sentence
from kernels.verdict import CaseStatus, Verdict
from kernels.wording import percent, plural, sizes_text

_MOST_CASES = 8
_MOST_PRINTED = 20
# The log is the place for long output, so it shows more.
_LOG_FINDINGS = _LOG_WARNINGS = 200
_LOG_PRINTED = 1_000
_LOG_WIDTH = 100_000
# If more than one character in this many is unreadable, the file isn't text.
_UNREADABLE = 5

NEXT = "Next step"


def render(
    report: Report,
    source: str,
    file: str,
    style: Style,
    options: Sequence[str] = (),
    ladder: Sequence[str] = (),
    profile: Sequence[str] = (),
    instead: str = "",
) -> str:
    """The whole report.

    source: the graded text
    file, options: as the student typed them
    ladder: sentences on the position of a measured speed among known kernels
    profile: sentences from a profiler about the launch
    instead: the next step, if it isn't the report's
    """
    dynamic = report.launch.shared if report.launch is not None else 0
    parts = [
        _head(report, file, style),
        *_explanation(report, source, style, MOST_FINDINGS, instead),
        warnings_text(report.warnings, style),
        _printed(report, style, _MOST_PRINTED, style.width - 2),
        unmade_text(report, style),
        measurement_text(report, style, ladder, profile),
        _cases(report, style),
        evidence_text(report, style),
        [
            *(style.wrap(uses_text(report.resources, dynamic)) if report.resources is not None else []),
            *run_text(report.seconds, report.isolation, style),
            *measured_with_text(report, style),
        ],
        _replay(report, file, options),
        _analyze(report, file, options),
    ]
    return style.joined(parts)


def log_text(report: Report, source: str, style: Style) -> str:
    """The verdict with all findings, the advice, the compiler's warnings and the kernel's output."""
    sentence = style.wrap(safe(summary_sentence(report)))
    parts = [
        [style.paint(line, _colour(report)) for line in sentence],
        *_explanation(report, source, style, _LOG_FINDINGS),
        warnings_text(report.warnings, style, _LOG_WARNINGS),
        _printed(report, style, _LOG_PRINTED, _LOG_WIDTH),
    ]
    return style.joined(parts)


def _explanation(report: Report, source: str, style: Style, most: int, instead: str = "") -> list[list[str]]:
    lines = safe_lines(source.rstrip()) if _is_text(source) else []
    return [*findings_text(report, lines, style, most), _advice(report, style, instead)]


def _colour(report: Report) -> str:
    return {Verdict.ACCEPTED: GREEN, Verdict.SYSTEM_ERROR: YELLOW}.get(report.verdict, RED)


def _is_text(source: str) -> bool:
    """Whether lines of the file can be shown; a binary or UTF-16 would be noise."""
    return "\0" not in source and _UNREADABLE * source.count("\ufffd") <= len(source)


def _head(report: Report, file: str, style: Style) -> list[str]:
    name = safe("standard input" if file == "-" else file)
    where = f"exercise {report.exercise}, tile {report.tile}, {report.arch}, {device_text(report)}"
    return [
        f"{cut(name, style.width - 24)}: {style.paint(report.verdict.words, _colour(report))}",
        *style.wrap(safe(summary_sentence(report))),
        *style.wrap(safe(launch_sentence(report))),
        style.paint(cut(where, style.width), DIM),
    ]


def _advice(report: Report, style: Style, instead: str) -> list[str]:
    text = "" if report.verdict is Verdict.ACCEPTED else instead or explanation_of(report).step
    return [style.paint(NEXT, BOLD), *style.wrap(text, "  ")] if text else []


def _printed(report: Report, style: Style, most: int, room: int) -> list[str]:
    if not report.printed:
        return []
    lines = safe_lines(report.printed.removesuffix("\n"))
    shown = [f"  {cut(line, room)}".rstrip() for line in lines[:most]]
    left = len(lines) - most
    title = style.paint("The kernel printed", BOLD) + f" (case {case_words(report.printed_case or '')})"
    return [title, *shown, *([f"  ... and {plural(left, 'more line')}"] if left > 0 else [])]


def _cases(report: Report, style: Style) -> list[str]:
    if not any(check.status is not CaseStatus.NOT_RUN for check in report.checks):
        return []
    words = "passed", "failed"
    passed, failed = ([check for check in report.checks if check.outcome == each] for each in words)
    not_run = [check for check in report.checks if check.outcome not in words]
    if report.verdict is Verdict.ACCEPTED and not failed and not not_run:
        return []  # the sentence under the verdict says it
    ran = len(passed) + len(failed)
    lines = [style.paint("Cases", BOLD) + f": {len(passed)} of {ran} passed"]
    room = max((len(case_words(check.case)) for check in failed), default=0)
    texts = (f"  failed   {case_words(check.case):<{room}}  {safe(check.note)}" for check in failed[:_MOST_CASES])
    lines += [cut(text, style.width).rstrip() for text in texts]
    if len(failed) > _MOST_CASES:
        lines.append(f"  ... and {len(failed) - _MOST_CASES} more failed")
    return lines + [cut(f"  {check.outcome}  {case_words(check.case)}: {check.note}", style.width) for check in not_run]


def _replay(report: Report, file: str, options: Sequence[str]) -> list[str]:
    """The command that repeats the smallest failing case, with the same values if the seed is known."""
    case = failing_case(report)
    if not case or file == "-":
        return []
    seed = ["--seed", report.seed] if report.seed else []
    words = ["tilelab", "grade", file, *options, "--case", case, *seed]
    return ["Repeat a failing case:", f"  {safe(shlex.join(words))}"]


def _analyze(report: Report, file: str, options: Sequence[str]) -> list[str]:
    """The command that shows all counts behind the short summary."""
    if report.evidence.extent is None or file == "-":
        return []
    words = ["tilelab", "analyze", file, *options]
    return ["See the counts of every line:", f"  {safe(shlex.join(words))}"]


def evidence_text(report: Report, style: Style) -> list[str]:
    """Three numbers and the checklist, or why they are missing; nothing without an analysis."""
    evidence = report.evidence
    if evidence.extent is None:
        return [line for note in evidence.notes for line in style.wrap(safe(note))]
    head = style.paint("What it does", BOLD) + style.paint(f" (counted at {sizes_text(evidence.extent.sizes)})", DIM)
    numbers = ", ".join(figures(evidence.totals))
    if report.occupancy is not None:
        numbers += f"; occupancy {percent(report.occupancy.share)}"
    out = [head, *style.wrap(f"{numbers}.", "  ")]
    out += checklist_text(evidence.checklist, style, advice=False)
    unmet = (f"Not met: {safe(goal.text)}." for goal in evidence.goals if not goal.met)
    return [*out, *(line for text in unmet for line in style.wrap(text, "  "))]


def figures(totals: Totals) -> list[str]:
    """The three most important numbers of a kernel."""
    sectors = number("global_load_sectors_per_request", totals)
    copies = totals.bulk_load_requests and not totals.global_load_requests
    loads = f"{short(totals.global_load_requests)} global load requests of {sectors:.2f} sectors"
    return [
        f"{short(totals.bulk_load_bytes)} bytes of bulk copies from global memory" if copies else loads,
        f"{totals.compute_to_memory:.2f} flops per 4 bytes of global memory",
        f"{short(number('shared_conflicts', totals))} passes lost to bank conflicts",
    ]
