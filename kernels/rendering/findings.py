"""The findings of a report as text, each with the lines of the source that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kernels.rendering.text_safety import cut, safe, width
from kernels.rendering.text_style import Style
from kernels.report.model import Report
from kernels.verdict import Finding, Severity, Verdict
from kernels.wording import plural

_MOST_FINDINGS = 5
_CONTEXT = 1
_NEAR = 6

_RED, _YELLOW, _DIM = "31;1", "33;1", "2"


def findings_text(report: Report, lines: Sequence[str], style: Style) -> Iterator[list[str]]:
    """The findings, each with the lines it is about: first those that decide the verdict, or how the file was read."""
    ordered = sorted(
        report.findings, key=lambda finding: finding.kind not in (report.verdict, Verdict.REJECTED)
    )
    for finding in ordered[:_MOST_FINDINGS]:
        yield [*_title(finding, style), *_excerpt(finding, lines, style)]
    left = len(ordered) - _MOST_FINDINGS
    if left > 0:
        yield [f"... and {plural(left, 'more finding')}; --json shows all."]


def _title(finding: Finding, style: Style) -> list[str]:
    warning = finding.severity is Severity.WARNING
    kind = ("warning: " if warning else "") + finding.kind.value.replace("_", " ")
    if warning and finding.kind is Verdict.REJECTED:
        kind = "warning"  # nothing was rejected, but something is not read
    count = f" ({plural(finding.count, COUNTED.get(finding.kind, 'time'))})" if finding.count > 1 else ""
    place = f", line {finding.line}" if finding.line is not None else ""
    place += f", column {finding.column}" if finding.column is not None else ""
    title = style.paint(f"{kind}{place}", _YELLOW if warning else _RED) + count
    return [title, *style.wrap(safe(finding.message), "  ")]


COUNTED = {Verdict.DATA_RACE: "pair", Verdict.WRONG_ANSWER: "element", Verdict.INPUT_MODIFIED: "element"}
"""What is counted of a finding; of any other, how many times it was seen."""


PLACES = {
    Verdict.DATA_RACE: ("this access came first", "this access came second"),
    Verdict.BARRIER_DIVERGENCE: ("others wait here", "these threads wait here"),
}
"""What happens at the other line of a finding, and at its own."""


def _excerpt(finding: Finding, lines: Sequence[str], style: Style) -> list[str]:
    """The lines of a finding with their neighbours, each of them underlined; empty where none is known."""
    first, second = PLACES.get(finding.kind, ("", ""))
    both = finding.other_line not in (None, finding.line)
    labels = {finding.other_line: first, finding.line: second if both else ""}
    marked = {n: text for n, text in labels.items() if n is not None and 1 <= n <= len(lines)}
    if not marked:
        return []
    bar = "│" if style.unicode else "|"
    margin = len(str(max(marked) + _CONTEXT))
    room = style.width - margin - 5
    out = [""]
    previous = None
    for number in _shown(marked, len(lines)):
        if previous is not None and number != previous + 1:
            out.append(f"  {'':>{margin}} ...")
        previous = number
        line = cut(lines[number - 1], room)
        out.append(f"  {style.paint(f'{number:>{margin}} {bar}', _DIM)} {line}".rstrip())
        if number in marked:
            out.append(
                f"  {'':>{margin}} {style.paint(bar, _DIM)} {_underline(line, marked[number], room, style)}"
            )
    return out


def _shown(marked: Iterable[int], last: int) -> list[int]:
    """The marked lines with their neighbours, and all between two that are close."""
    numbers = sorted(marked)
    shown = {m for n in numbers for m in range(n - _CONTEXT, n + _CONTEXT + 1)}
    if numbers[-1] - numbers[0] <= _NEAR:
        shown.update(range(numbers[0], numbers[-1]))
    return sorted(n for n in shown if 1 <= n <= last)


def _underline(line: str, label: str, room: int, style: Style) -> str:
    indent = len(line) - len(line.lstrip())
    carets = "^" * max(1, min(width(line.strip()), room - indent - len(label) - 1))
    text = f"{carets} {label}"
    return " " * indent + style.paint(text.rstrip(), _RED)
