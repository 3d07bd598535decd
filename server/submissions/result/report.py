"""A submission's stored report, whichever version wrote it, and its page."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from markupsafe import Markup, escape

from kernels.evidence import Evidence
from kernels.ladder import Ladder, shipped_ladder
from kernels.rendering.page.report_page import ReportContext, render_report, render_sections
from kernels.rendering.page.trial_page import render_trial
from kernels.rendering.text_safety import safe
from kernels.report import Report
from kernels.report.model import Explanation
from kernels.verdict import Verdict
from server.bounded_work import bounded
from server.fixed_part import MARK, FixedPart
from server.grading.reports import ReportError, unpack
from server.grading.stored_report import read_report
from server.submissions.line_marks import line_marks

T = TypeVar("T")

ACTIONS, WORTH = "<!--actions-->", "<!--worth-->"
"""Replaced by the buttons of the card and by what the submission earns, which change. No text can contain these marks:
texts are escaped."""

_KEPT_BYTES = 32 * 2**20
"""Of rendered reports in one process: hundreds of usual ones."""

logger = logging.getLogger(__name__)


def sections_of(
    plain: Mapping[str, Any], verdict: str, source: str, file: str, ladder: str, earns: bool
) -> tuple[str, int | None, bool]:
    """The sections, the line that their card begins with, and whether they have all details.

    earns: whether the card says what it earns
    """
    begins_at: list[int | None] = [None]

    def mark(line: int | None) -> Markup:
        begins_at.append(line)
        return Markup(ACTIONS)  # noqa: S704 - a constant

    worth = Markup(WORTH) if earns else ""  # noqa: S704 - a constant
    around = ReportContext(file, _ladder(ladder), {}, worth, mark)
    report = readable(plain, Verdict(verdict))
    html, whole = _first_that_works(report, lambda each: render_sections(each, source, around))
    return html, begins_at[-1], whole


def page_of(
    plain: Mapping[str, Any], verdict: str, source: str, file: str, ladder: str, facts: Mapping[str, str]
) -> str:
    around = ReportContext(file, _ladder(ladder), facts)
    report = readable(plain, Verdict(verdict))
    return _first_that_works(report, lambda each: render_report(each, source, around))[0]


def trial_sections(plain: Mapping[str, Any], verdict: str, hides_lines: bool) -> str:
    """The result of a trial. hides_lines: whether mistakes are named without their lines."""
    return render_trial(readable(plain, Verdict(verdict)), hides_lines=hides_lines)


def _ladder(name: str) -> Ladder | None:
    return shipped_ladder(name) if name else None


def readable(plain: Mapping[str, Any], verdict: Verdict) -> Report:
    """The report, with the verdict's own sentence if it has none."""
    report = read_report(plain, verdict)
    return report if report.message else replace(report, message=verdict.headline)


def _first_that_works(report: Report, render: Callable[[Report], T]) -> tuple[T, bool]:
    """Render the report, with fewer details if that fails: a report of an older version may surprise a template.

    Also returns whether it has all details.
    """
    *first, last = _smaller(report)
    for each in first:
        try:
            return render(each), each is report
        except Exception:
            logger.exception("a report is shown with fewer details")
    return render(last), False


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


def for_reader(plain: Mapping[str, Any], *, staff: bool, hides_edit: bool) -> dict[str, Any]:
    """A stored report as a reader may have it.

    staff: whether to keep the seed, which reproduces all secret inputs
    hides_edit: whether to leave out the next step after a mistake
    """
    shown = dict(plain) if staff or "seed" not in plain else {**plain, "seed": ""}
    if hides_edit and plain:
        shown["explanation"] = {**(plain.get("explanation") or asdict(Explanation())), "step": "", "advice": ""}
    return shown


def read_stored_report(packed: bytes | None, verdict: Verdict, *, staff: bool, hides_edit: bool) -> StoredReport:
    """Read a result's report; if it is unreadable, a report with the verdict alone. See `for_reader`."""
    try:
        plain = unpack(packed) if packed is not None else {}
    except ReportError:
        logger.exception("a stored report is unreadable")
        plain = {}
    plain = for_reader(plain, staff=staff, hides_edit=hides_edit)
    return StoredReport(plain, readable(plain, verdict))


@dataclass(frozen=True, slots=True)
class ShownReport:
    """What the page of a submission shows of its report. It never changes.

    card: the sections up to the last of ACTIONS and WORTH; rest: the others
    line: the line that their card begins with; None for none
    seconds: of each step
    marks: of the source, for the editor
    """

    verdict: Verdict
    card: str
    rest: FixedPart
    line: int | None
    seconds: tuple[tuple[str, float], ...]
    measured: bool
    marks: str

    def sections(self, worth: str, actions: Callable[[int | None], Markup]) -> Markup:
        """Make the sections for one request, with MARK for the rest. worth, actions: see ReportContext."""
        card = self.card.replace(WORTH, escape(safe(worth)), 1).replace(ACTIONS, actions(self.line), 1)
        # the card may be Markup, which would escape a plain mark
        return Markup(card) + Markup(MARK)  # noqa: S704 - rendered by our own templates


def show_report(
    packed: bytes | None, verdict: Verdict, around: Around, *, staff: bool, earns: bool, hides_edit: bool
) -> ShownReport:
    """Render a stored report for a page that shows the times of all parts itself.

    Renders equal reports once in a process, if that works with all details. It is called for a reader who may see the
    report: it decides nothing.

    staff, hides_edit: as for `for_reader`; earns: as for `sections_of`
    """
    reader = f"{staff} {earns} {hides_edit}"
    key = _digest(packed or b"", verdict.value, around.source, around.file, around.ladder, reader)
    found = _kept.find(key)
    if found is None:
        kept = read_stored_report(packed, verdict, staff=staff, hides_edit=hides_edit)
        found, whole = _render(kept, around, earns=earns)
        if whole:
            _kept.keep(key, found)
    return found


def _render(kept: StoredReport, around: Around, *, earns: bool) -> tuple[ShownReport, bool]:
    plain, report = {**kept.plain, "seconds": {}}, kept.report
    html, line, whole = bounded(sections_of, plain, report.verdict, around.source, around.file, around.ladder, earns)
    marks = json.dumps([asdict(mark) for mark in line_marks(report)])
    seconds = tuple(report.seconds.items())
    ends = max((html.find(mark) + len(mark) for mark in (ACTIONS, WORTH) if mark in html), default=0)
    card, rest = html[:ends], FixedPart.of(html[ends:])
    return ShownReport(report.verdict, card, rest, line, seconds, report.measurement is not None, marks), whole


class KeptReports:
    """The reports that were shown last, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._lock = threading.Lock()
        self._shown: OrderedDict[bytes, ShownReport] = OrderedDict()

    def find(self, key: bytes) -> ShownReport | None:
        with self._lock:
            if key in self._shown:
                self._shown.move_to_end(key)
            return self._shown.get(key)

    def keep(self, key: bytes, shown: ShownReport) -> None:
        with self._lock:
            if key not in self._shown:
                self._shown[key] = shown
                self._size += _size(shown)
            while self._size > self._most:
                self._size -= _size(self._shown.popitem(last=False)[1])


_kept = KeptReports(_KEPT_BYTES)


def _size(shown: ShownReport) -> int:
    return sum(map(sys.getsizeof, (shown.card, shown.rest.content, shown.rest.packed, shown.marks)))


def _digest(packed: bytes, *texts: str) -> bytes:
    """Of everything that the rendering depends on."""
    return hashlib.sha256(b"".join([hashlib.sha256(packed).digest(), json.dumps(texts).encode()])).digest()


def whole_page(kept: StoredReport, around: Around, facts: dict[str, str]) -> str:
    """Render the result as one HTML file. facts: more lines for its top."""
    html: str = bounded(page_of, kept.plain, kept.report.verdict, around.source, around.file, around.ladder, facts)
    return html
