"""A submission's stored report, whichever version wrote it, and its page."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from kernels.report import Report
from kernels.verdict import Verdict
from server.bounded_work import bounded
from server.grading.reports import ReportError, unpack
from server.submissions.result.rendering import ACTIONS, page_of, readable, sections_of

logger = logging.getLogger(__name__)


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
