"""Students' submissions and checks over days, against the deadline."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import and_, func, literal, select, union_all
from sqlalchemy.orm import Session

from kernels.rendering.page.experiment_page import PlotView
from server.courses.models import Assignment
from server.staff.progress.states import students_in
from server.standings.bins import histogram
from server.submissions.models import Submission

_DAYS = 21
_AFTER = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class Activity:
    """The last days with their number of submissions and checks. more: whether there were earlier ones."""

    plot: PlotView
    total: int
    more: bool


def activity(session: Session, assignment: Assignment, zone: ZoneInfo, now: datetime) -> Activity | None:
    """The last three weeks, up to today or a few days after the deadline; None without any submission."""
    mine = and_(Submission.assignment_id == assignment.id, Submission.person_id.in_(students_in(assignment.course_id)))
    first = session.scalar(select(func.min(Submission.created_at)).where(mine))
    if first is None:
        return None
    due_at = assignment.due_at
    last = min(now, max(first, due_at) + _AFTER) if due_at is not None else now
    end = last.astimezone(zone).date()
    begin = max(first.astimezone(zone).date(), end - timedelta(days=_DAYS - 1))
    days = [begin + timedelta(days=number) for number in range((end - begin).days + 1)]
    edges = [datetime(day.year, day.month, day.day, tzinfo=zone) for day in [*days, end + timedelta(days=1)]]
    # One range of an index for each day.
    counts = union_all(*(
        select(literal(place).label("place"), func.count().label("count"))
        .select_from(Submission)
        .where(mine, Submission.created_at >= start, Submission.created_at < stop)
        for place, (start, stop) in enumerate(itertools.pairwise(edges))
    ))  # fmt: skip
    found = {place: count for place, count in session.execute(counts)}  # noqa: C416 - typed so
    due = None if due_at is None else due_at.astimezone(zone).date()
    labels = [f"{day:%d %b}{', due' if day == due else ''}" for day in days]
    rows = [(label, found[place]) for place, label in enumerate(labels)]
    plot = histogram("activity", "Submissions and checks by day", "Day", "Submissions and checks", rows)
    return Activity(plot, sum(found.values()), first.astimezone(zone).date() < begin)
