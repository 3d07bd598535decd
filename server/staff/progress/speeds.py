"""Measured speeds at an assignment as a distribution, with the rungs of the reference ladder."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.exercise.model import Metric
from kernels.rendering.page.experiment_page import PlotView
from server.courses.models import Assignment
from server.grading.metric import UNITS, metric_of
from server.staff.progress.charts import histogram
from server.staff.progress.states import students_in
from server.standings.models import Standing
from server.submissions.rules.tiers import measured_rungs

_MOST_BINS = 12
Mark = tuple[str, float]
"""A rung of the ladder and its speed."""


@dataclass(frozen=True, slots=True)
class Bin:
    """A range of speeds. rungs: the ladder's kernels in this range."""

    label: str
    students: int
    rungs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Speeds:
    """Each student's best accepted kernel on the assignment's device class. marked: whether it has a ladder."""

    device_class: str
    unit: str
    students: int
    median: str
    best: str
    bins: tuple[Bin, ...]
    marked: bool
    plot: PlotView


def speeds(session: Session, assignment: Assignment) -> Speeds | None:
    """The distribution; None if nothing was measured."""
    if not assignment.device_class:
        return None
    metric = metric_of(assignment.exercise)
    scores = session.scalars(
        select(Standing.score).where(
            Standing.assignment_id == assignment.id, Standing.device_class == assignment.device_class,
            Standing.before_freeze.is_(False), Standing.person_id.in_(students_in(assignment.course_id)),
        )
    )  # fmt: skip
    values = sorted(abs(score) for score in scores if score)
    if not values:
        return None
    marks = _marks(assignment) if metric is Metric.GFLOPS else []
    found = bins(values, marks)
    unit = UNITS[metric]
    rows = [(one.label, one.students) for one in found]
    plot = histogram("speeds", "Students by speed", f"Best accepted kernel, {unit}", "Students", rows)
    best = values[0] if metric is Metric.TIME else values[-1]
    middle = statistics.median(values)
    return Speeds(
        assignment.device_class, unit, len(values), f"{_edge(middle)} {unit}", f"{_edge(best)} {unit}", found,
        bool(marks), plot,
    )  # fmt: skip


def bins(values: Sequence[float], marks: Sequence[Mark]) -> tuple[Bin, ...]:
    """Equal ranges with round edges, and one more on each side if the ladder goes on there."""
    low, high = min(values), max(values)
    rough = max(high - low, high / _MOST_BINS) / _MOST_BINS
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
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


def _names(marks: Sequence[Mark], step: float, first: int, end: int | None) -> tuple[str, ...]:
    """The rungs at these places. end: the first place after them; None for no end."""
    found = ((name, math.floor(speed / step)) for name, speed in marks)
    return tuple(name for name, place in found if first <= place and (end is None or place < end))


def _edge(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or not value else f"{value:.3g}"


def _marks(assignment: Assignment) -> list[Mark]:
    """The measured rungs at the ranking size; none for a course's own exercise."""
    exercise = assignment.exercise
    shipped = exercise.course_id is None
    rungs = measured_rungs(exercise.name, exercise.definition, assignment.device_class, shipped=shipped)
    return [(f"rung {rung.number}, {rung.title}", speed) for rung, speed in rungs]
