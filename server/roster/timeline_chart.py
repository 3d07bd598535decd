"""The plot of a timeline: a lane for each assignment on one time axis.

Positions across are percentages, so the plot fills any width and its text keeps its size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from markupsafe import Markup

from kernels.rendering.page.charts import svg
from server.roster.timeline import Event, Kind, Lane

HEIGHT = 76
_MIDDLE = 38
_MARGIN = 3.0
_STEPS = (1, 2, 7, 14, 28, 56, 112, 364)
_TICKS = 7
_NEAR = 2.2
"""Marks closer than this, in percent of the width, are drawn at different heights."""
_LEVELS = (0, -15, 15, -30, 30)

_MARKS = {
    Kind.ACCEPTED: svg.dot("accepted", 0, 0, 6),
    Kind.CHECK_ACCEPTED: svg.dot("accepted open", 0, 0, 5),
    Kind.FAILED: '<path class="failed" d="M-5-5 5 5M-5 5 5-5"/>',
    Kind.CHECK_FAILED: '<path class="failed thin" d="M-4-4 4 4M-4 4 4-4"/>',
    Kind.UNGRADED: svg.dot("ungraded", 0, 0, 5),
    Kind.QUESTION: '<path class="talk" d="M-7-6H7V4H0L-4 8V4H-7Z"/>',
    Kind.COMMENT: '<path class="talk staff" d="M-7-6H7V4H0L-4 8V4H-7Z"/>',
    Kind.REQUEST: '<path class="talk" d="M0-7 7 6H-7Z"/>',
    Kind.GRADE: '<path class="grade" d="M0-8 8 0 0 8-8 0Z"/>',
    Kind.EXTENSION: '<path class="extension" d="M-6-6H6V6H-6Z"/>',
}
LEGEND = (
    (Kind.ACCEPTED, "accepted"), (Kind.FAILED, "not accepted"), (Kind.CHECK_ACCEPTED, "check, accepted"),
    (Kind.CHECK_FAILED, "check, not accepted"), (Kind.UNGRADED, "no verdict"), (Kind.QUESTION, "question"),
    (Kind.COMMENT, "comment of course staff"), (Kind.REQUEST, "request"), (Kind.GRADE, "grade"),
    (Kind.EXTENSION, "extension"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Span:
    """The time axis."""

    start: datetime
    end: datetime

    def across(self, at: datetime) -> float:
        """In percent of the width."""
        share = (at - self.start) / (self.end - self.start)
        return _MARGIN + share * (100 - 2 * _MARGIN)


def span_of(lanes: Sequence[Lane]) -> Span | None:
    """From the first to the last event or deadline; None if there are none."""
    moments = [event.at for lane in lanes for event in lane.events]
    moments += [at for lane in lanes for at in (lane.due_at, lane.first_due_at) if at is not None]
    if not moments:
        return None
    start, end = min(moments), max(moments)
    missing = max(timedelta(0), timedelta(days=1) - (end - start)) / 2
    return Span(start - missing, end + missing)


def legend_mark(kind: Kind) -> Markup:
    """A mark for the legend."""
    return Markup(f'<svg class="timeline-mark" viewBox="-10 -10 20 20" aria-hidden="true">{_MARKS[kind]}</svg>')  # noqa: S704 - made of constants


def lane_plot(lane: Lane, span: Span, ticks: Sequence[tuple[float, str]], now: datetime) -> Markup:
    """Draw a lane. Its links are for pointers only: the table has the same for keyboards and screen readers."""
    body = [f'<line class="grid" x1="{x:.2f}%" x2="{x:.2f}%" y2="{HEIGHT}"/>' for x, _ in ticks]
    body.append(f'<line class="base" x2="100%" y1="{_MIDDLE}" y2="{_MIDDLE}"/>')
    if span.start <= now <= span.end:
        x = span.across(now)
        body.append(f'<line class="now" x1="{x:.2f}%" x2="{x:.2f}%" y2="{HEIGHT}"><title>now</title></line>')
    body += _deadlines(lane, span)
    body += _events(lane.events, span)
    drawn = "".join(body)
    return Markup(f'<svg class="chart lane" height="{HEIGHT}" aria-hidden="true">{drawn}</svg>')  # noqa: S704 - made of escaped parts


def ticks_of(span: Span, zone: ZoneInfo) -> list[tuple[float, str]]:
    """The places and labels of days on the axis."""
    days = (span.end - span.start) / timedelta(days=1)
    step = next((each for each in _STEPS if days / each <= _TICKS), _STEPS[-1])
    at = span.start.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    found: list[tuple[float, str]] = []
    while at <= span.end and len(found) < 2 * _TICKS:
        found.append((span.across(at), f"{at:%d %b}"))
        at += timedelta(days=step)
    return found


def axis_plot(ticks: Sequence[tuple[float, str]]) -> Markup:
    """The labels of the time axis."""
    labels = "".join(f'<text x="{x:.2f}%" y="14" text-anchor="middle">{svg.words(words)}</text>' for x, words in ticks)
    return Markup(f'<svg class="chart" height="20" aria-hidden="true">{labels}</svg>')  # noqa: S704 - made of escaped parts


def _deadlines(lane: Lane, span: Span) -> Iterator[str]:
    if lane.due_at is None:
        return
    x = span.across(lane.due_at)
    if lane.first_due_at is not None and lane.first_due_at != lane.due_at:
        first = span.across(lane.first_due_at)
        title = "<title>due for others</title>"
        yield f'<line class="due old" x1="{first:.2f}%" x2="{first:.2f}%" y2="{HEIGHT}">{title}</line>'
        yield f'<line class="more-time" x1="{first:.2f}%" x2="{x:.2f}%" y1="{HEIGHT - 4}" y2="{HEIGHT - 4}"/>'
    yield f'<line class="due" x1="{x:.2f}%" x2="{x:.2f}%" y2="{HEIGHT}"><title>due</title></line>'


def _events(events: Sequence[Event], span: Span) -> Iterator[str]:
    last, level = -100.0, 0
    for event in events:
        x = span.across(event.at)
        level = (level + 1) % len(_LEVELS) if x - last < _NEAR else 0
        last = x
        mark = (
            f"<title>{svg.words(event.words)}</title>"
            f'<svg x="{x:.2f}%" y="{_MIDDLE + _LEVELS[level]}" overflow="visible">{_MARKS[event.kind]}</svg>'
        )
        yield f'<a href="{svg.words(event.link)}" tabindex="-1">{mark}</a>' if event.link else f"<g>{mark}</g>"
