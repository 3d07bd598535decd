"""Running totals since the beginning.

Finished rows never change, so each is counted once: all at a process's first scrape, then only new ones. A process
stores nothing that it couldn't count again, so all processes agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Integer, and_, case, cast, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from server.grading.models import Attempt, AttemptOutcome, Result, Step, StepState

BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Bounds of a step's seconds."""

STILL_MOVING = timedelta(minutes=3)
"""Newer rows are counted again each time: another machine's clock may differ, and a transaction may end late."""

Counts = dict[Any, float]
Between = Callable[[InstrumentedAttribute[Any]], ColumnElement[bool]]


@dataclass(slots=True)
class Total:
    """A sum over finished rows. read: counts the rows that fulfil a condition on their time."""

    read: Callable[[Session, Between], Counts]
    _settled: Counts = field(default_factory=dict)
    _until: datetime | None = None

    def now(self, session: Session, now: datetime) -> Mapping[Any, float]:
        start, end = self._until, now - STILL_MOVING
        if start is None or start < end:
            self._settled = _sum(self._settled, self.read(session, _between(start, end)))
            self._until = end
        return _sum(self._settled, self.read(session, _between(self._until, None)))


def _sum(some: Counts, more: Counts) -> Counts:
    return {key: some.get(key, 0) + more.get(key, 0) for key in some.keys() | more.keys()}


def _between(start: datetime | None, end: datetime | None) -> Between:
    def condition(column: InstrumentedAttribute[Any]) -> ColumnElement[bool]:
        bounds: list[ColumnElement[bool]] = [column.is_not(None)]
        bounds += [column >= start] if start is not None else []
        bounds += [column < end] if end is not None else []
        return and_(*bounds)

    return condition


def verdicts(session: Session, between: Between) -> Counts:
    """The number of jobs with each verdict."""
    query = select(Result.verdict, func.count()).where(between(Result.recorded_at)).group_by(Result.verdict)
    return {verdict.value: count for verdict, count in session.execute(query)}


def step_seconds(session: Session, between: Between) -> Counts:
    """For each queue: the number of steps within each bound (cumulative), of all (inf), and their milliseconds
    ("sum").

    Whole numbers: a sum that shrinks by a rounding would look like a restart from zero.
    """
    found: Counts = {}
    within = [func.sum(cast(case((Step.seconds <= edge, 1), else_=0), Integer)) for edge in BUCKETS]
    for queue in queues_ended(session):
        query = select(func.count(), func.sum(cast(func.round(Step.seconds * 1000), BigInteger)), *within).where(
            Step.queue == queue, between(Step.ended_at), Step.seconds.is_not(None)
        )
        count, ms, *counts = session.execute(query).one()
        for edge, below in zip((*BUCKETS, float("inf")), (*counts, count), strict=True):
            found[queue, edge] = below or 0
        found[queue, "sum"] = int(ms or 0)
    return found


def failures(session: Session, between: Between) -> Counts:
    """For each queue and outcome: tries of finished steps that failed or were lost."""
    found: Counts = {}
    for queue in queues_ended(session):
        query = (
            select(Attempt.outcome, func.count())
            .join(Step, Step.id == Attempt.step_id)
            .where(
                Step.queue == queue,
                between(Step.ended_at),
                # few steps had a failure: this looks only at their tries
                or_(Step.attempt > 1, Step.state == StepState.FAILED),
                Attempt.outcome.in_((AttemptOutcome.FAULT, AttemptOutcome.LOST)),
            )
            .group_by(Attempt.outcome)
        )
        for outcome, count in session.execute(query):
            found[queue, str(outcome)] = count
    return found


def queues_ended(session: Session) -> list[str]:
    """The queues with finished steps, found by one index look-up each."""
    found: list[str] = []
    query = select(func.min(Step.queue))
    queue = session.scalar(query)
    while queue is not None:
        found.append(queue)
        queue = session.scalar(query.where(Step.queue > queue))
    return found
