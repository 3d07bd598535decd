"""A student's own submissions and checks in a course, by day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from server.submissions.assignment.tasks import Task

WEEKS = 12
_LEVELS = (1, 3, 6, 12)


@dataclass(frozen=True, slots=True)
class Day:
    """A day. place: days since the first Monday; level: 0 for none to 4 for many."""

    day: date
    place: int
    count: int

    @property
    def level(self) -> int:
        return sum(self.count >= least for least in _LEVELS)


@dataclass(frozen=True, slots=True)
class OwnActivity:
    """The last weeks, from a Monday until today."""

    days: Sequence[Day]

    @property
    def total(self) -> int:
        return sum(each.count for each in self.days)

    @property
    def active(self) -> int:
        return sum(each.count > 0 for each in self.days)


def own_activity(tasks: Sequence[Task], now: datetime, zone: ZoneInfo) -> OwnActivity | None:
    """The activity of the last weeks, in this time zone; None for none."""
    today = now.astimezone(zone).date()
    first = today - timedelta(days=today.weekday(), weeks=WEEKS - 1)
    counts = Counter(entry.created_at.astimezone(zone).date() for task in tasks for entry in task.entries)
    dates = [first + timedelta(days=place) for place in range((today - first).days + 1)]
    found = OwnActivity([Day(day, place, counts[day]) for place, day in enumerate(dates)])
    return found if found.total else None
