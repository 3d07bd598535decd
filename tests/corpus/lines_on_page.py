"""What stands at which line of a result page."""

from __future__ import annotations

import re
from html import unescape

from kernels.rendering.text_safety import safe
from kernels.report import Report

_MARK = re.compile(r'<div class="mark[^"]*" data-line="(\d+)">(.*?)</div>', re.DOTALL)


def marks_of(html: str) -> dict[int, str]:
    """The words that stand at each line, behind the line itself."""
    found: dict[int, str] = {}
    for line, inner in _MARK.findall(html):
        found[int(line)] = found.get(int(line), "") + words(inner)
    return found


def words(html: str) -> str:
    """Its text as a message has it, which the page typesets."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split()).replace(" × ", " x ")


def follows_its_line(html: str, line: int) -> bool:
    """Whether no other line stands between a line and what is said of it."""
    mark = html.index(f'data-line="{line}"')
    before = re.findall(r'id="L(\d+)"', html[:mark])
    last: str = before[-1]
    return last == str(line)


def lines_of(report: Report) -> list[tuple[int, str]]:
    """Every place that a finding names, and what has to stand there."""
    places = []
    for finding in report.findings:
        message = " ".join(safe(finding.message).replace("`", "").split())
        if finding.line is not None:
            places.append((finding.line, message))
        if finding.other_line is not None:
            places.append((finding.other_line, finding.kind.value.replace("_", " ")))
    return places
