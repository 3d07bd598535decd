"""The submission that counts for a student, and its points.

These functions are pure: they get entries, and read and write nothing. Pages, the gradebook and the export use them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from kernels.verdict import Verdict
from server.courses.local_time import days_later, zone_named
from server.courses.models import Accommodation, Assignment, Counts, Extension, SpeedBy
from server.grades.points import Achieved, worth
from server.submissions.models import Mode

_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A submission with the data that decides whether it counts.

    chosen_at: when its owner last chose that this one counts
    verdict: None before the first verdict
    cancelled: whether it was cancelled before a verdict
    score: by the exercise's metric, higher is better; None without a ranked measurement on the assignment's device
    ms_low: the lower end of the median's 95 % interval; ms_high: the upper end
    goals_missed: how many goals of the exercise it misses; None if none were counted
    late_days: how many days of the course's late days cover it
    team_due_at: the latest deadline of its team's members when it was submitted; None for none
    remark: a sentence why the measurement isn't ranked; "" if it is, or if nothing was measured
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
    melements: float | None = None
    cublas_share: float | None = None
    goals_missed: int | None = None
    late_days: int = 0
    ms_median: float | None = None
    ms_low: float | None = None
    ms_high: float | None = None
    remark: str = ""
    team_due_at: datetime | None = None

    @property
    def judged(self) -> bool:
        """Whether there is a verdict about the kernel; a system error isn't one."""
        return self.verdict is not None and self.verdict is not Verdict.SYSTEM_ERROR

    @property
    def under_way(self) -> bool:
        return self.verdict is None and not self.cancelled

    @property
    def accepted(self) -> bool:
        return self.verdict is Verdict.ACCEPTED

    def speed(self, by: SpeedBy | None) -> float | None:
        """The speed that tiers compare; None without a ranked measurement on the assignment's device."""
        if self.score is None or by is None:
            return None
        return {SpeedBy.GBPS: self.gbps, SpeedBy.CUBLAS: self.cublas_share}.get(by, self.gflops)

    @property
    def worth_choosing(self) -> bool:
        """Whether its owner may choose it: checks never count, and failed submissions have no points."""
        return self.mode is Mode.RANK and self.accepted


@dataclass(frozen=True, slots=True)
class Deadlines:
    """A student's deadline and closing time; None for no limit."""

    due_at: datetime | None
    closes_at: datetime | None

    def or_later(self, due_at: datetime | None) -> Deadlines:
        """With the later due time. due_at: of a team; None for no change."""
        return replace(self, due_at=_later(self.due_at, due_at))

    def latest(self, other: Deadlines) -> Deadlines:
        """The later ones of two students, for the same assignment."""
        return Deadlines(_later(self.due_at, other.due_at), _later(self.closes_at, other.closes_at))

    def closed(self, now: datetime) -> bool:
        return self.closes_at is not None and now > self.closes_at


@dataclass(frozen=True, slots=True)
class Counted:
    """The entry that counts.

    points: by the assignment's rules; why: the reasons
    late_days: a started day counts in full
    """

    entry: Entry
    points: float
    late_days: int
    why: tuple[str, ...] = ()


def due_for(assignment: Assignment, extension: Extension | None, accommodation: Accommodation | None) -> Deadlines:
    """The deadlines of one person. An assignment never closes before the person's own deadline.

    The later of the accommodation's and the extension's times applies. Neither takes anything away.
    """
    due_at, closes_at = assignment.due_at, assignment.closes_at
    if accommodation is not None:
        more, days = _share_of_time(assignment, accommodation), accommodation.extra_days
        # Days are the course's: the time of day stays when clocks change.
        zone = zone_named(assignment.course.time_zone) if days else ZoneInfo("UTC")
        due_at, closes_at = (None if at is None else days_later(at, days, zone) + more for at in (due_at, closes_at))
    if extension is not None:
        due_at, closes_at = _later(due_at, extension.due_at), _later(closes_at, extension.closes_at)
    if due_at is not None and closes_at is not None:
        closes_at = max(due_at, closes_at)
    return Deadlines(due_at, closes_at)


def _share_of_time(assignment: Assignment, accommodation: Accommodation) -> timedelta:
    """The share of the time, in full minutes. Without an opening, the time runs from the creation."""
    ends = assignment.due_at or assignment.closes_at
    whole = timedelta() if ends is None else max(timedelta(), ends - (assignment.opens_at or assignment.created_at))
    return -(-whole * accommodation.extra_percent // (100 * _MINUTE)) * _MINUTE


def _later(common: datetime | None, own: datetime | None) -> datetime | None:
    """common: None for no limit, which no extension can move; own: None for no extension."""
    return common if common is None or own is None else max(common, own)


def attempts_for(assignment: Assignment, extension: Extension | None) -> int | None:
    """The number of attempts that one person has; None if unlimited."""
    if assignment.attempts is None:
        return None
    return assignment.attempts + (extension.extra_attempts if extension else 0)


def late_days(created_at: datetime, deadlines: Deadlines) -> int:
    """The days started since the deadline at the time of submission; time in the queue doesn't count."""
    if deadlines.due_at is None or created_at <= deadlines.due_at:
        return 0
    return -(-(created_at - deadlines.due_at) // _DAY)


def counted(assignment: Assignment, deadlines: Deadlines, entries: Iterable[Entry]) -> Counted | None:
    """Choose the entry that counts for a person; None if none does yet.

    If the last one counts, entries without a verdict are ignored. If the chosen one counts and none is chosen, the best
    counts.
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
    """The best of a person's entries, whichever of them counts; None if none has a verdict yet."""
    return max(_that_may(assignment, deadlines, entries), key=_worth, default=None)


def _that_may(assignment: Assignment, deadlines: Deadlines, entries: Iterable[Entry]) -> list[Counted]:
    return [valued(assignment, deadlines, entry) for entry in entries if entry.mode is Mode.RANK and entry.judged]


def valued(assignment: Assignment, deadlines: Deadlines, entry: Entry) -> Counted:
    """An entry with its points, as if it counted."""
    days = late_days(entry.created_at, deadlines.or_later(entry.team_due_at))
    achieved = Achieved(
        accepted=entry.accepted,
        late_days=days,
        covered=min(days, entry.late_days),
        speed=entry.speed(assignment.speed_by),
        goals_missed=entry.goals_missed,
    )
    earned = worth(assignment, achieved)
    return Counted(entry, earned.points, days, earned.why)


def _worth(one: Counted) -> tuple[bool, float, float, float, int]:
    """Accepted first, then more points, a better score, and the earlier. Among failed ones, the last."""
    entry = one.entry
    moment, number = entry.created_at.timestamp(), entry.submission_id
    if not entry.accepted:
        return False, 0.0, 0.0, moment, number
    score = float("-inf") if entry.score is None else entry.score
    return True, one.points, score, -moment, -number
