"""The quota of experiments: of each student in an assignment, and of anyone at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.experiments.models import Experiment, ExperimentState

EXPERIMENTS_A_DAY = 3
POINTS_A_DAY = 40
"""Of one student in one assignment, in any 24 hours."""

MOST_RUNNING = 20
"""Running experiments of one person."""

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Quota:
    """What a student used of the quota in an assignment.

    renews_at: when more is possible; None if nothing is used
    """

    experiments: int
    points: int
    renews_at: datetime | None

    @property
    def experiments_left(self) -> int:
        return max(0, EXPERIMENTS_A_DAY - self.experiments)

    @property
    def points_left(self) -> int:
        return max(0, POINTS_A_DAY - self.points) if self.experiments_left else 0


def quota_of(session: Session, person: int, assignment: int, now: datetime) -> Quota:
    """A student's quota in an assignment. Cancelled experiments count, because their points may have run."""
    query = select(func.count(), func.sum(Experiment.points), func.min(Experiment.created_at)).where(
        Experiment.assignment_id == assignment, Experiment.person_id == person, Experiment.created_at > now - _DAY
    )
    count, points, first = session.execute(query).one()
    return Quota(count, points or 0, None if first is None else first + _DAY)


def running_of(session: Session, person: int) -> int:
    query = select(func.count()).where(Experiment.person_id == person, Experiment.state == ExperimentState.RUNNING)
    return session.scalar(query) or 0
