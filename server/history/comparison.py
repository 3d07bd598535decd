"""Compare two submissions: their verdicts and their measured, counted and modelled numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.counters import COUNTERS, Counter
from kernels.exercise.model import Metric
from kernels.rendering.page import numbers
from kernels.report import Report
from kernels.verdict import Severity
from server.grading.metric import UNITS, interval_of, score_of
from server.grading.models import Result
from server.grading.reports import ReportError, unpack
from server.grading.stored_report import read_report
from server.history.queries import Attempt, interval_text, number_text, percent_text
from server.submissions.models import Submission


@dataclass(frozen=True, slots=True)
class FindingText:
    """A finding in words. headline: its kind with its lines; line: 0 if it isn't about a line."""

    headline: str
    message: str
    line: int
    warning: bool


@dataclass(frozen=True, slots=True)
class Compared:
    """One side of the comparison. source: the text; told: the first findings; removed: see Submission."""

    attempt: Attempt
    source: str
    result: Result | None
    report: Report | None
    told: tuple[FindingText, ...]
    removed: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of both sides.

    basis: measured, counted or modelled
    left_more, right_more: the interval, and whether the number is reliable
    difference: from left to right, or why there is none; "" if the numbers are equal or can't be compared
    change: "better", "worse" or ""
    """

    title: str
    basis: str
    left: str
    right: str
    left_more: str = ""
    right_more: str = ""
    difference: str = ""
    change: str = ""


_SHOWN_FINDINGS = 6


def compared(session: Session, attempt: Attempt) -> Compared:
    submission = session.get_one(Submission, attempt.entry.submission_id)
    content = submission.source.content
    result = None if submission.judged_job_id is None else session.get(Result, submission.judged_job_id)
    report = None if result is None else _report(session, result)
    return Compared(attempt, content.decode("utf-8", "replace"), result, report, _told(report), submission.removed)


def figures(left: Compared, right: Compared, metric: Metric) -> tuple[Figure, ...]:
    """Compare all numbers that both sides have, and the speed if one has it; empty if one side has none."""
    speed = _speed(left.result, right.result, metric)
    rows = [
        _plain(left, right, "Share of cuBLAS", "measured", lambda each: each.cublas_share),
        _plain(left, right, "Occupancy", "modelled", lambda each: each.occupancy),
    ]
    for each in COUNTERS.values():
        if each.better:
            title = each.compared or each.title[:1].upper() + each.title[1:]
            rows.append(_counted(left, right, title, _in_totals(each), each.better))
    rows += [
        _counted(left, right, "Registers per thread", _registers),
        _counted(left, right, "Shared memory per block, in bytes", _shared),
    ]
    rows.append(_bound(left.result, right.result, metric))
    both = [row for row in rows if row.left != "–" and row.right != "–"]
    return tuple(row for row in (speed, *both) if row is not None) if both else ()


def _report(session: Session, result: Result) -> Report | None:
    packed = session.scalars(select(Result.report).where(Result.job_id == result.job_id)).one()
    try:
        return read_report(unpack(packed), result.verdict)
    except ReportError:
        return None


def _told(report: Report | None) -> tuple[FindingText, ...]:
    found = () if report is None else report.findings
    return tuple(
        FindingText(each.headline, each.message, each.line or 0, each.severity is Severity.WARNING)
        for each in found[:_SHOWN_FINDINGS]
    )


def _speed(left: Result | None, right: Result | None, metric: Metric) -> Figure | None:
    """Compare speeds. They differ only if both are reliable, from one device, and their intervals don't overlap."""
    a, b = _measured(left, metric), _measured(right, metric)
    if a is None and b is None:
        return None
    difference = change = ""
    if a is not None and b is not None:
        why_not = _not_comparable(a, b)
        if why_not:
            difference = why_not
        else:
            difference = _by(abs(b.score), abs(a.score))
            change = "better" if b.score > a.score else "worse"
    return Figure(
        f"Speed, in {UNITS[metric]}" if metric is not Metric.TIME else "Time, in ms",
        "measured",
        a.text if a else "–",
        b.text if b else "–",
        a.more if a else "",
        b.more if b else "",
        difference,
        change,
    )


@dataclass(frozen=True, slots=True)
class _Measured:
    """A measurement. score, low, high: higher is better; more: the interval, and whether it is reliable."""

    score: float
    low: float
    high: float
    text: str
    more: str
    device_class: str
    ranked: bool


def _measured(result: Result | None, metric: Metric) -> _Measured | None:
    if result is None:
        return None
    score = score_of(metric, result.gflops, result.gbps, result.ms_median, result.melements)
    ends = interval_of(metric, result)
    if score is None or ends is None:
        return None
    interval = interval_text(result, metric)
    more = interval if result.ranked else f"{interval}, not ranked: unreliable"
    return _Measured(score, *ends, _with_unit(score, metric), more, result.device_class, result.ranked)


def _not_comparable(a: _Measured, b: _Measured) -> str:
    if not (a.ranked and b.ranked):
        return "not comparable: " + ("both unreliable" if a.ranked == b.ranked else "one is unreliable")
    if a.device_class != b.device_class:
        return f"not comparable: measured on {a.device_class} and on {b.device_class}"
    return "" if a.high < b.low or b.high < a.low else "no significant difference: the intervals overlap"


def _plain(left: Compared, right: Compared, title: str, basis: str, of: Callable[[Result], float | None]) -> Figure:
    """Two shares without a difference: only the speed decides whether measurements differ."""
    a, b = (None if each.result is None else of(each.result) for each in (left, right))
    return Figure(title, basis, percent_text(a), percent_text(b))


def _bound(left: Result | None, right: Result | None, metric: Metric) -> Figure:
    a, b = (
        None if each is None else score_of(metric, each.bound_gflops, None, each.bound_ms) for each in (left, right)
    )
    if a is None or b is None or a == b:
        return Figure("Speed of light", "modelled", _with_unit(a, metric), _with_unit(b, metric))
    return Figure(
        "Speed of light",
        "modelled",
        _with_unit(a, metric),
        _with_unit(b, metric),
        difference=_by(abs(b), abs(a)),
        change="better" if b > a else "worse",
    )


def _with_unit(score: float | None, metric: Metric) -> str:
    return "–" if score is None else f"{number_text(abs(score), metric)}{numbers.SPACE}{UNITS[metric]}"


def _counted(
    left: Compared, right: Compared, title: str, of: Callable[[Report], float | None], better: str = ""
) -> Figure:
    """Compare counts. They are exact, so every difference is real if both were counted at the same size.

    better: "less", "more" or ""
    """
    a, b = (None if each.report is None else of(each.report) for each in (left, right))
    difference = change = ""
    if a is not None and b is not None and a != b and _sizes(left) == _sizes(right):
        difference = _by(b, a)
        if better:
            change = "better" if (b < a) == (better == "less") else "worse"
    return Figure(title, "counted", _count(a), _count(b), difference=difference, change=change)


def _count(number: float | None) -> str:
    if number is None:
        return "–"
    return numbers.short(number) if float(number).is_integer() else numbers.count(number)


def _sizes(one: Compared) -> object:
    extent = None if one.report is None else one.report.evidence.extent
    return None if extent is None else dict(extent.sizes)


def _by(new: float, old: float) -> str:
    if not old:
        return f"+{numbers.short(new)}"
    if not new:
        return "none left"
    share = new / old
    return (
        f"{share - 1:+.1%}".replace("%", f"{numbers.SPACE}%")
        if share < 2
        else f"{numbers.ratio(share)}{numbers.SPACE}× as much"
    )


def _in_totals(counter: Counter) -> Callable[[Report], float | None]:
    return lambda report: counter.of(report.evidence.totals) if report.evidence.totals.thread_instructions else None


def _registers(report: Report) -> float | None:
    return None if report.resources is None else report.resources.registers


def _shared(report: Report) -> float | None:
    return None if report.resources is None else report.resources.shared_bytes
