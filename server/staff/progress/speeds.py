"""Measured speeds at an assignment as a distribution, with the rungs of the reference ladder."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.exercise.model import Metric
from kernels.rendering.page.experiment_page import PlotView
from server.courses.models import Assignment
from server.grading.metric import UNITS, metric_of
from server.staff.progress.states import students_in
from server.standings.bins import Bin, Mark, bins, histogram
from server.standings.models import Standing
from server.submissions.rules.tiers import measured_rungs


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


def _edge(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or not value else f"{value:.3g}"


def _marks(assignment: Assignment) -> list[Mark]:
    """The measured rungs at the ranking size; none for a course's own exercise."""
    exercise = assignment.exercise
    shipped = exercise.course_id is None
    rungs = measured_rungs(exercise.name, exercise.definition, assignment.device_class, shipped=shipped)
    return [(f"rung {rung.number}, {rung.title}", speed) for rung, speed in rungs]
