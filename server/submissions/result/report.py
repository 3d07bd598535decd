"""A submission's stored report, whichever version wrote it, and its page."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from markupsafe import Markup

from kernels.evidence import Evidence
from kernels.ladder import Ladder, shipped_ladder
from kernels.rendering.page.report_page import ReportContext, render_report, render_sections
from kernels.report import Report
from kernels.verdict import Verdict
from server.bounded_work import bounded
from server.grading.reports import ReportError, unpack
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


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A stored report. plain: the object that `tilelab grade --json` prints; report: the same as a data class."""

    plain: dict[str, Any]
    report: Report


@dataclass(frozen=True, slots=True)
class Around:
    """What the page of a result needs besides its report.

    ladder: name of the exercise's ladder; "" for none
    """

    source: str
    file: str
    ladder: str


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
    return StoredReport(plain, readable(plain, verdict))


def sections(kept: StoredReport, around: Around, worth: str, actions: Callable[[int | None], Markup]) -> Markup:
    """Render the result as part of a page that shows the times of all parts itself.

    worth, actions: see ReportContext
    """
    plain = {**kept.plain, "seconds": {}}
    html, line = bounded(sections_of, plain, kept.report.verdict, around.source, around.file, around.ladder, worth)
    return Markup(html.replace(ACTIONS, actions(line), 1))  # noqa: S704 - rendered by our own templates


def whole_page(kept: StoredReport, around: Around, facts: dict[str, str]) -> str:
    """Render the result as one HTML file. facts: more lines for its top."""
    html: str = bounded(page_of, kept.plain, kept.report.verdict, around.source, around.file, around.ladder, facts)
    return html
