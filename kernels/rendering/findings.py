"""The findings of a report as text, each with its lines of the source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kernels.launch import is_launch_comment
from kernels.rendering.text_safety import cut, safe, split_columns, width
from kernels.rendering.text_style import BOLD, DIM, RED, YELLOW, Style
from kernels.report.clues import failing_sizes
from kernels.report.explanation import explanation_of
from kernels.report.model import Report, first_error, verdict_sentence
from kernels.report.race_accesses import CALL, role_of_both, roles
from kernels.verdict import CaseStatus, Finding, Severity, Verdict
from kernels.wording import plural

MOST_FINDINGS = 5
_CONTEXT = 1
_NEAR = 6
_MOST_CALLS = 3
_MOST_ROWS = 4

_SIZES_HELP = (Verdict.OUT_OF_BOUNDS, Verdict.UNINITIALIZED_READ, Verdict.BARRIER_DIVERGENCE)
_EXACT = (Verdict.COMPILE_ERROR, Verdict.REJECTED)
"""Verdicts whose first finding says more than the verdict's own sentence."""


def informative_findings(report: Report) -> tuple[Finding, ...]:
    """The findings that say more than the verdict's sentence above them: another sentence, or a line to show."""
    headline = report.verdict.headline
    return tuple(finding for finding in report.findings if finding.message != headline or finding.line is not None)


def summary_sentence(report: Report) -> str:
    """The verdict in one sentence. A system error without a finding has its cause in the message."""
    if report.verdict is Verdict.WRONG_ANSWER:
        return headline(report)[0]
    alone = report.verdict is Verdict.SYSTEM_ERROR and not informative_findings(report)
    return report.message if alone and report.message else verdict_sentence(report)


def headline(report: Report) -> tuple[str, str]:
    """What is wrong in one sentence, and an example of it. For an incorrect result, its cause or diagnosis leads."""
    leading = first_error(report.findings, report.verdict)
    if leading is None:
        return report.verdict.headline if report.verdict is Verdict.WRONG_ANSWER else summary_sentence(report), ""
    if report.verdict is Verdict.WRONG_ANSWER:
        facts = leading.facts
        sentence = " ".join(diagnosis.headline for diagnosis in facts.diagnoses) or failing_sizes(report)
        detail = facts.example or leading.message
        return explanation_of(report).cause or sentence or report.verdict.headline, detail
    if report.verdict in _EXACT:
        return leading.message, ""
    sentence = leading.meaning if leading.lines else summary_sentence(report)
    if leading.message in {sentence, report.verdict.headline}:
        return sentence, ""
    sizes = failing_sizes(report) if report.verdict in _SIZES_HELP else ""
    return sentence, f"{leading.message} {sizes}".rstrip()


def failing_case(report: Report) -> str:
    """The case to repeat: the first failed one that a finding names, or the first; "" if none failed."""
    failed = [check.case for check in report.checks if check.status is CaseStatus.FAILED]
    named = (finding.example.case for finding in report.findings if finding.example is not None)
    return next((case for case in named if case in failed), failed[0] if failed else "")


def findings_text(report: Report, lines: Sequence[str], style: Style, most: int = MOST_FINDINGS) -> Iterator[list[str]]:
    """The findings with their lines. Findings of the verdict, and notes on how the file was read, come first."""
    ordered = sorted(
        informative_findings(report), key=lambda finding: finding.kind not in (report.verdict, Verdict.REJECTED)
    )
    leading = first_error(report.findings, report.verdict)
    for finding in ordered[:most]:
        example = headline(report)[1] if finding is leading and finding.kind is Verdict.WRONG_ANSWER else ""
        yield [*_title(finding, example or finding.message, style), *_excerpt(finding, lines, style)]
    left = len(ordered) - most
    if left > 0:
        yield [f"... and {plural(left, 'more finding')}; --json shows all."]


def _title(finding: Finding, message: str, style: Style) -> list[str]:
    colour = BOLD if finding.is_note else YELLOW if finding.severity is Severity.WARNING else RED
    count = f" ({finding.count_text})" if finding.count_text else ""
    return [style.paint(finding.headline, colour) + count, *style.wrap(safe(message), "  ")]


def _excerpt(finding: Finding, lines: Sequence[str], style: Style) -> list[str]:
    """The lines of a finding, underlined, with their neighbours; empty if none is known."""
    marked = excerpt_labels(finding, len(lines))
    if not marked:
        return []
    bar = "│" if style.unicode else "|"
    margin = len(str(max(marked) + _CONTEXT))
    room = style.width - margin - 5
    out = [""]
    previous = None
    for number in excerpt_numbers(marked, len(lines)):
        if previous is not None and number != previous + 1:
            out.append(f"  {'':>{margin}} ...")
        previous = number
        # The mistake may be at the end of a launch comment.
        several = number in marked and is_launch_comment(lines[number - 1])
        line = cut(lines[number - 1], room * (_MOST_ROWS if several else 1))
        rows = split_columns(line, room)
        for shown, row in zip((str(number), *[""] * len(rows)), rows, strict=False):
            out.append(f"  {style.paint(f'{shown:>{margin}} {bar}', DIM)} {row}".rstrip())
        if number in marked:
            out.append(f"  {'':>{margin}} {style.paint(bar, DIM)} {_underline(rows[-1], marked[number], room, style)}")
    return out


def excerpt_labels(finding: Finding, last: int) -> Mapping[int, str]:
    """The lines of a finding, each with the event there. last: the last line of the source."""
    first, second = roles(finding)
    both = finding.other_line not in (None, finding.line)
    alone = role_of_both(finding) if finding.kind is Verdict.DATA_RACE else ""
    labels: dict[int | None, str] = dict.fromkeys(finding.called_from[:_MOST_CALLS], CALL)
    labels |= {finding.other_line: first, finding.line: second if both else alone}
    return {number: text for number, text in labels.items() if number is not None and 1 <= number <= last}


def excerpt_numbers(marked: Iterable[int], last: int) -> Sequence[int]:
    """The marked lines with their neighbours, and all lines between two close ones."""
    numbers = sorted(marked)
    if not numbers:
        return []
    shown = {m for n in numbers for m in range(n - _CONTEXT, n + _CONTEXT + 1)}
    if numbers[-1] - numbers[0] <= _NEAR:
        shown.update(range(numbers[0], numbers[-1]))
    return sorted(n for n in shown if 1 <= n <= last)


def _underline(line: str, label: str, room: int, style: Style) -> str:
    indent = len(line) - len(line.lstrip())
    carets = "^" * max(1, min(width(line.strip()), room - indent - len(label) - 1))
    text = f"{carets} {label}"
    return " " * indent + style.paint(text.rstrip(), RED)
