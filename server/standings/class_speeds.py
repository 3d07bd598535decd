"""Ranges of speeds with round edges, and bars for counts, drawn like the plots of an experiment."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from kernels.experiment.plot.model import Chart, Kind, Panel, Scale, Series, Spot
from kernels.rendering.page.charts.plot import plot_svg
from kernels.rendering.page.experiment_page import PlotView
from kernels.rendering.plot.axes import round_step
from server.courses.models import Membership, Role
from server.grading.metric import UNITS, metric_of
from server.standings.models import Standing
from server.submissions.models import Submission
from server.teams.credit import first_member_of

_MOST_BINS = 12
Mark = tuple[str, float]
"""A rung of the ladder and its speed."""


@dataclass(frozen=True, slots=True)
class Bin:
    """A range of speeds. rungs: the ladder's kernels in this range."""

    label: str
    students: int
    rungs: tuple[str, ...]


def bins(values: Sequence[float], marks: Sequence[Mark]) -> tuple[Bin, ...]:
    """Equal ranges with round edges, and one more on each side if the ladder goes on there."""
    low, high = min(values), max(values)
    step = round_step(max(high - low, high / _MOST_BINS) / _MOST_BINS)
    digits = max(0, -math.floor(math.log10(step)))
    # Values and edges are compared by their place. A product such as 95 * 0.02 is above 1.9.
    first, last = math.floor(low / step), math.floor(high / step)
    students = Counter(math.floor(value / step) for value in values)
    below, above = _names(marks, step, 0, first), _names(marks, step, last + 1, None)
    inside = [
        Bin(
            f"{place * step:,.{digits}f}–{(place + 1) * step:,.{digits}f}",
            students[place],
            _names(marks, step, place, place + 1),
        )
        for place in range(first, last + 1)
    ]
    return (
        *([Bin(f"below {first * step:,.{digits}f}", 0, below)] if below else []), *inside,
        *([Bin(f"above {(last + 1) * step:,.{digits}f}", 0, above)] if above else []),
    )  # fmt: skip


def histogram(key: str, title: str, x: str, y: str, rows: Sequence[tuple[str, int]]) -> PlotView:
    """The plot of these labels and counts. key: its ID on the page; x, y: titles of the axes."""
    labels = tuple(label for label, _ in rows)
    spots = tuple(Spot(place, count, label) for place, (label, count) in enumerate(rows))
    panel = Panel("", (Series(0, "", spots),))
    chart = Chart(Kind.BARS, title, Scale(x, labels=labels), Scale(y), (panel,))
    table = tuple((label, f"{count:,}") for label, count in rows)
    return PlotView(key, title, (), plot_svg(chart, f"{key}-chart"), "", (x, y), table, 0)


def _names(marks: Sequence[Mark], step: float, first: int, end: int | None) -> tuple[str, ...]:
    """The rungs at these places. end: the first place after them; None for no end."""
    found = ((name, math.floor(speed / step)) for name, speed in marks)
    return tuple(name for name, place in found if first <= place and (end is None or place < end))


FEWEST = 5
"""Among fewer students, a range of speeds could tell whose it is."""


@dataclass(frozen=True, slots=True)
class ClassSpeeds:
    """The best speeds of a class.

    slower: how many others are slower; others: how many others there are
    """

    slower: int
    others: int
    plot: PlotView


def class_speeds(session: Session, submission_id: int, now: datetime) -> ClassSpeeds | None:
    """The distribution with the owner's best speed; None without one, or in a small class.

    A frozen leaderboard gives the speeds of that moment. Others count only if leaderboards list them: from the listed
    speeds, readers could tell the ones in between.
    """
    submission = session.get_one(Submission, submission_id)
    assignment = submission.assignment
    students = select(Membership.person_id).where(
        Membership.course_id == assignment.course_id, Membership.role == Role.STUDENT
    )
    whose = first_member_of(session, submission)
    frozen = assignment.board_frozen_at is not None and assignment.board_frozen_at <= now
    rows = session.execute(
        select(Standing.person_id, Standing.score).where(
            Standing.assignment_id == assignment.id, Standing.device_class == submission.device_class,
            Standing.before_freeze.is_(frozen), Standing.person_id.in_(students),
            Standing.score != 0.0, or_(Standing.listed, Standing.person_id == whose),
        )
    )  # fmt: skip
    scores: dict[int, float] = {row.person_id: row.score for row in rows}
    own = scores.pop(whose, None)
    if own is None or len(scores) + 1 < FEWEST or not submission.device_class:
        return None
    metric = metric_of(assignment.exercise)
    ranges = bins([abs(score) for score in (*scores.values(), own)], [("you", abs(own))])
    labels = [(f"{'you: ' if part.rungs else ''}{part.label}", part.students) for part in ranges]
    unit = UNITS[metric]
    plot = histogram("class", "Speeds of the class", f"Best accepted kernel, {unit}", "Students", labels)
    return ClassSpeeds(sum(score < own for score in scores.values()), len(scores), plot)
