"""What was done since the beginning, added up as it grows.

The rows of what is over stay as they are, so each is counted once: a process counts all of them when it is first asked,
and then only those that came since. It keeps nothing that it could not count again, so any number of processes say the
same.
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
"""Seconds of a step."""

STILL_MOVING = timedelta(minutes=3)
"""Rows this young are counted anew each time: their transaction may have ended later than it says, on another clock."""

Counts = dict[Any, float]
Between = Callable[[InstrumentedAttribute[Any]], ColumnElement[bool]]


@dataclass(slots=True)
class Total:
    """A sum over rows that end. read: counts the rows that a condition on their time leaves."""

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
    """How many jobs got each verdict."""
    query = select(Result.verdict, func.count()).where(between(Result.recorded_at)).group_by(Result.verdict)
    return {verdict.value: count for verdict, count in session.execute(query)}


def step_seconds(session: Session, between: Between) -> Counts:
    """By queue: steps that took at most so long (cumulative), their number (inf) and their milliseconds ("sum").

    In whole numbers, because a sum that came out smaller by a rounding would look like a start from zero.
    """
    found: Counts = {}
    within = [func.sum(cast(case((Step.seconds <= edge, 1), else_=0), Integer)) for edge in BUCKETS]
    for queue in queues_ended(session):
        query = select(
            func.count(), func.sum(cast(func.round(Step.seconds * 1000), BigInteger)), *within
        ).where(Step.queue == queue, between(Step.ended_at), Step.seconds.is_not(None))
        count, ms, *counts = session.execute(query).one()
        for edge, below in zip((*BUCKETS, float("inf")), (*counts, count), strict=True):
            found[queue, edge] = below or 0
        found[queue, "sum"] = int(ms or 0)
    return found


def failures(session: Session, between: Between) -> Counts:
    """By queue and outcome: attempts that ended in a fault or were lost, of steps that are over."""
    found: Counts = {}
    for queue in queues_ended(session):
        query = (
            select(Attempt.outcome, func.count())
            .join(Step, Step.id == Attempt.step_id)
            .where(
                Step.queue == queue,
                between(Step.ended_at),
                # few steps have an attempt that failed: only of those are attempts looked at
                or_(Step.attempt > 1, Step.state == StepState.FAILED),
                Attempt.outcome.in_((AttemptOutcome.FAULT, AttemptOutcome.LOST)),
            )
            .group_by(Attempt.outcome)
        )
        for outcome, count in session.execute(query):
            found[queue, str(outcome)] = count
    return found


def queues_ended(session: Session) -> list[str]:
    """The queues whose steps have ended; a look into the index for each."""
    found: list[str] = []
    query = select(func.min(Step.queue))
    queue = session.scalar(query)
    while queue is not None:
        found.append(queue)
        queue = session.scalar(query.where(Step.queue > queue))
    return found
