"""What a long listing folds, and what a page folds of long lists."""

from __future__ import annotations

import re
from dataclasses import replace

from kernels.rendering.page.listing.margin import SourceLine, parts
from kernels.rendering.page.listing.marks import Mark
from kernels.verdict import Finding, Verdict
from tests.kernels.page.test_report_page import page_of

LINES = [SourceLine(number, ()) for number in range(1, 151)]


def folds(lines: list[SourceLine]) -> list[tuple[int, int]]:
    return [(part.lines[0].number, part.lines[-1].number) for part in parts(lines) if part.folded]


def test_a_screen_of_lines_stays_whole():
    assert folds(LINES[:40]) == []
    assert folds(LINES) == [(41, 150)]
    assert [line for part in parts(LINES) for line in part.lines] == LINES


def test_findings_and_costly_lines_stay_with_their_neighbours():
    lines = LINES.copy()
    lines[49] = replace(lines[49], marks=(Mark("data race", "", "", "", "", None, warning=False),))
    lines[99] = replace(lines[99], heat=3)
    assert folds(lines) == [(1, 46), (54, 96), (104, 150)]
    lines[59] = replace(lines[59], heat=2)
    assert folds(lines) == [(1, 46), (64, 96), (104, 150)], "a gap of 3 lines is no fold"


def test_long_lists_of_a_report_are_folded_with_their_count():
    """A fold holds the rest, so nothing is lost on paper or without scripts."""
    races = tuple(Finding(Verdict.DATA_RACE, f"race {line}", line) for line in range(1, 13))
    page = page_of(verdict=Verdict.DATA_RACE, findings=races, printed="".join(f"row {i}\n" for i in range(90)))
    counts = [re.sub(r"\D", "", text) for text in re.findall(r"<summary>Show all (.*?)</summary>", page)]
    assert {"12", "90"} <= set(counts)
    assert all(f"race {line}<" in page for line in range(1, 13))
    assert "row 89\n" in page
    few = page_of(verdict=Verdict.DATA_RACE, findings=races[:8], printed="one\n" * 30)
    assert "Show all 8" not in few
    assert "Show all 30" not in few
