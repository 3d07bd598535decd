"""Each finding stands at its line of the page, for every wrong kernel of the corpus."""

from __future__ import annotations

import re
from html import unescape

import pytest

from kernels.page.report_page import Around, render_sections
from kernels.report import Report
from kernels.text_safety import safe
from tests.corpus.test_corpus import FOLDER, WRONG, cache, graded
from tests.kernels.page.reading import read
from tests.marks import linux

__all__ = ["cache"]

_MARK = re.compile(r'<div class="mark[^"]*" data-line="(\d+)">(.*?)</div>', re.DOTALL)


def marks_of(html: str) -> dict[int, str]:
    """The words that stand at each line, behind the line itself."""
    found: dict[int, str] = {}
    for line, inner in _MARK.findall(html):
        found[int(line)] = found.get(int(line), "") + words(inner)
    return found


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split())


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


@linux
@pytest.mark.parametrize("expected", WRONG, ids=lambda expected: expected.name)
def test_every_finding_stands_at_its_line(expected, cache, kept):
    report = graded("wrong", expected, cache, kept)
    source = (FOLDER / "wrong" / f"{expected.name}.cu").read_text("utf-8", "replace")
    html = str(render_sections(report, source, Around("kernel.cu")))
    page = read(html)
    assert not page.wrong
    assert set(page.values("href")) >= {f"#L{finding.line}" for finding in report.findings if finding.line}
    at = marks_of(html)
    for line, message in lines_of(report):
        assert message in at[line], (line, message)
        assert follows_its_line(html, line)
    if expected.line is not None:
        assert {expected.line, *expected.also} & at.keys()
