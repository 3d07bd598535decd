"""The page of a stored report. Its functions run in a process that can be ended, see server.bounded_work."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from markupsafe import Markup

from kernels.evidence import Evidence
from kernels.ladder import Ladder, shipped_ladder
from kernels.rendering.page.report_page import ReportContext, render_report, render_sections
from kernels.report import Report
from kernels.verdict import Verdict
from server.grading.stored_report import read_report

T = TypeVar("T")

ACTIONS = "<!--actions-->"
"""Replaced by the buttons of the card, whose links only a request knows. No text can contain it: texts are escaped."""

logger = logging.getLogger(__name__)


def sections_of(
    plain: Mapping[str, Any], verdict: str, source: str, file: str, ladder: str, worth: str
) -> tuple[str, int | None]:
    """The sections, and the line that their card begins with."""
    begins_at: list[int | None] = [None]

    def mark(line: int | None) -> Markup:
        begins_at.append(line)
        return Markup(ACTIONS)  # noqa: S704 - a constant

    around = ReportContext(file, _ladder(ladder), {}, worth, mark)
    report = readable(plain, Verdict(verdict))
    return _first_that_works(report, lambda each: render_sections(each, source, around)), begins_at[-1]


def page_of(
    plain: Mapping[str, Any], verdict: str, source: str, file: str, ladder: str, facts: Mapping[str, str]
) -> str:
    """The file."""
    around = ReportContext(file, _ladder(ladder), facts)
    report = readable(plain, Verdict(verdict))
    return _first_that_works(report, lambda each: render_report(each, source, around))


def _ladder(name: str) -> Ladder | None:
    return shipped_ladder(name) if name else None


def readable(plain: Mapping[str, Any], verdict: Verdict) -> Report:
    """The report, with the verdict's own sentence if it has none."""
    report = read_report(plain, verdict)
    return report if report.message else replace(report, message=verdict.headline)


def _first_that_works(report: Report, render: Callable[[Report], T]) -> T:
    """Render the report, with fewer details if that fails: a report of an older version may surprise a template."""
    *first, last = _smaller(report)
    for each in first:
        try:
            return render(each)
        except Exception:
            logger.exception("a report is shown with fewer details")
    return render(last)


def _smaller(report: Report) -> Iterator[Report]:
    yield report
    without = replace(report, evidence=Evidence(), occupancy=None)
    yield without
    without = replace(without, measurement=None, measured_occupancy=None, launch=None, resources=None, checks=())
    yield without
    yield replace(without, findings=(), warnings=(), printed="", isolation=(), seconds={}, unmade_checks=())
