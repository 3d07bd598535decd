"""Which of somebody's submissions counts, and what it is worth.

Pure: it is given what was handed in, and reads and writes nothing. Pages, the gradebook and the export all ask here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kernels.verdict import Verdict
from server.courses.models import Assignment, Counts, Extension
from server.submissions.models import Mode

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A submission as far as it may count.

    chosen_at: when its owner last said that this one counts
    verdict: None while there is none
    score: by the exercise's metric, turned so that more is better; None where nothing was measured, it is not
        believed, or another kind of device measured it than the assignment asks for
    cancelled: whether it was called off before there was a verdict
    gflops, gbps, ms_median, ms_low, ms_high: of the measurement, the last two the 95 % interval of the median
    remark: what is to be said against the measurement, in words; "" for nothing, or where nothing was measured
    """

    submission_id: int
    public_id: str
    created_at: datetime
    mode: Mode
    chosen_at: datetime | None = None
    verdict: Verdict | None = None
    cancelled: bool = False
    score: float | None = None
    gflops: float | None = None
    gbps: float | None = None
    ms_median: float | None = None
    ms_low: float | None = None
    ms_high: float | None = None
    remark: str = ""

    @property
    def judged(self) -> bool:
        """Whether it says something about the kernel; a fault of ours does not."""
        return self.verdict is not None and self.verdict is not Verdict.SYSTEM_ERROR

    @property
    def under_way(self) -> bool:
        return self.verdict is None and not self.cancelled

    @property
    def accepted(self) -> bool:
        return self.verdict is Verdict.ACCEPTED

    @property
    def worth_choosing(self) -> bool:
        """Whether its owner may say that it counts; a check never does, and a failed one is worth no points."""
        return self.mode is Mode.RANK and self.accepted


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Until when somebody may hand in: in time, and at all. None: there is no such moment."""

    due_at: datetime | None
    closes_at: datetime | None

    def closed(self, now: datetime) -> bool:
        return self.closes_at is not None and now > self.closes_at


@dataclass(frozen=True, slots=True)
class Counted:
    """What counts for somebody. points: after what was lost for days late; late_days: days begun."""

    entry: Entry
    points: float
    late_days: int


def due_for(assignment: Assignment, extension: Extension | None) -> Deadlines:
    """The deadlines of one person. Nobody is shut out before their own day is due.

    An extension takes nothing away: where everybody has longer by now, so has who was granted it.
    """
    due_at, closes_at = assignment.due_at, assignment.closes_at
    if extension is not None:
        due_at, closes_at = _later(due_at, extension.due_at), _later(closes_at, extension.closes_at)
    if due_at is not None and closes_at is not None:
        closes_at = max(due_at, closes_at)
    return Deadlines(due_at, closes_at)


def _later(everybodys: datetime | None, own: datetime | None) -> datetime | None:
    """own: None for everybody's; everybodys: None where there is no such moment, which no other comes after."""
    return everybodys if everybodys is None or own is None else max(everybodys, own)


def attempts_for(assignment: Assignment, extension: Extension | None) -> int | None:
    """How many submissions for the ranking one person has; None for any number."""
    if assignment.attempts is None:
        return None
    return assignment.attempts + (extension.extra_attempts if extension else 0)


def late_days(created_at: datetime, deadlines: Deadlines) -> int:
    """How many days were begun after the deadline when it was handed in; how long it was queued plays no part."""
    if deadlines.due_at is None or created_at <= deadlines.due_at:
        return 0
    return -(-(created_at - deadlines.due_at) // _DAY)


def points_for(assignment: Assignment, days: int, *, accepted: bool) -> float:
    """What a submission is worth that was so many days late."""
    if not accepted:
        return 0.0
    return max(0.0, assignment.points * (1 - assignment.late_percent_per_day * days / 100))


def counted(assignment: Assignment, deadlines: Deadlines, entries: Iterable[Entry]) -> Counted | None:
    """What counts of all that one person handed in; None where nothing does yet.

    Where the last one counts, one without a verdict is passed over until it has one. Where the chosen one counts and
    none was chosen, the best does.
    """
    found = _that_may(assignment, deadlines, entries)
    if not found:
        return None
    if assignment.counts is Counts.LAST:
        return max(found, key=lambda one: (one.entry.created_at, one.entry.submission_id))
    chosen = [one for one in found if one.entry.chosen_at is not None]
    if assignment.counts is Counts.CHOSEN and chosen:
        return max(chosen, key=lambda one: (one.entry.chosen_at, one.entry.submission_id))
    return max(found, key=_worth)


def best(assignment: Assignment, deadlines: Deadlines, entries: Iterable[Entry]) -> Counted | None:
    """The best of all that one person handed in, whichever of them counts; None where nothing may count yet."""
    return max(_that_may(assignment, deadlines, entries), key=_worth, default=None)


def _that_may(assignment: Assignment, deadlines: Deadlines, entries: Iterable[Entry]) -> list[Counted]:
    return [
        _counted(assignment, deadlines, entry)
        for entry in entries
        if entry.mode is Mode.RANK and entry.judged
    ]


def _counted(assignment: Assignment, deadlines: Deadlines, entry: Entry) -> Counted:
    days = late_days(entry.created_at, deadlines)
    return Counted(entry, points_for(assignment, days, accepted=entry.accepted), days)


def _worth(one: Counted) -> tuple[bool, float, float, float, int]:
    """A right kernel before a wrong one, then more points, a better score, and the earlier; of wrong ones the last."""
    entry = one.entry
    moment, number = entry.created_at.timestamp(), entry.submission_id
    if not entry.accepted:
        return False, 0.0, 0.0, moment, number
    score = float("-inf") if entry.score is None else entry.score
    return True, one.points, score, -moment, -number
