"""Render a submission's stored report, whichever version wrote it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from markupsafe import Markup

from kernels.evidence import Evidence
from kernels.ladder import Ladder
from kernels.rendering.page.report_page import ReportContext, render_report, render_sections
from kernels.report import Report
from kernels.verdict import Verdict
from server.grading.reports import ReportError, unpack
from server.grading.stored_report import read_report

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A stored report. plain: the object that `tilelab grade --json` prints; report: the same as a data class."""

    plain: dict[str, Any]
    report: Report


def read_stored_report(packed: bytes | None, verdict: Verdict, *, staff: bool) -> StoredReport:
    """Read a result's report; if it is unreadable, a report with the verdict alone.

    staff: whether to keep the seed, which reproduces all secret inputs
    """
    try:
        plain = unpack(packed) if packed is not None else {}
    except ReportError:
        logger.exception("a stored report is unreadable")
        plain = {}
    if not staff and "seed" in plain:
        plain = {**plain, "seed": ""}
    report = read_report(plain, verdict)
    return StoredReport(plain, report if report.message else replace(report, message=verdict.headline))


def sections(report: Report, source: str, around: ReportContext) -> Markup:
    """Render the result as part of a page."""
    return _first_that_works(report, lambda each: render_sections(each, source, around))


def whole_page(report: Report, source: str, file: str, ladder: Ladder | None, facts: dict[str, str]) -> str:
    """Render the result as one HTML file. facts: more lines for its top."""
    around = ReportContext(file, ladder, facts)
    return _first_that_works(report, lambda each: render_report(each, source, around))


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
    without = replace(
        without, measurement=None, measured_occupancy=None, launch=None, resources=None, checks=()
    )
    yield without
    yield replace(without, findings=(), warnings=(), printed="", isolation=(), seconds={}, unmade_checks=())
