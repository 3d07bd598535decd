"""How long a new experiment takes, by those that ran before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from statistics import median

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from kernels.wording import plural
from server.experiments.models import Experiment, ExperimentPoint, ExperimentState
from server.fleet.service import at_once, known_slots
from server.grading.models import Job, JobState
from worker.contract.messages import CPU_QUEUE, gpu_queue

LARGE_POINTS, LARGE_SECONDS = 1_000, 15 * 60
"""From here on, the person is asked before an experiment starts."""

_LOOKED_AT, _FEWEST_POINTS = 5, 4
_POINT_SECONDS = 1.0
"""Of one slot, as long as no experiment ran on such a device."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The time of an experiment. judged_by: by what it is known."""

    points: int
    seconds: float
    judged_by: str

    @property
    def large(self) -> bool:
        return self.points >= LARGE_POINTS or self.seconds >= LARGE_SECONDS


def estimate(session: Session, points: int, device_class: str, now: datetime) -> Estimate:
    """By the last experiments on such a device without retried points; without one, by the number of slots."""
    lost = select(Job.id).where(  # a retried point has a new job
        Job.experiment_id == Experiment.id,
        or_(Job.verdict == Verdict.SYSTEM_ERROR, Job.state == JobState.CANCELLED),
        ~select(ExperimentPoint.number).where(ExperimentPoint.job_id == Job.id).exists(),
    )
    query = (
        select(Experiment.points, Experiment.created_at, Experiment.ended_at)
        .where(
            Experiment.state == ExperimentState.DONE,
            Experiment.device_class == device_class,
            Experiment.points >= _FEWEST_POINTS,
            Experiment.pauses.is_(False),
            ~lost.exists(),
        )
        .order_by(Experiment.id.desc())
        .limit(_LOOKED_AT)
    )
    known = [
        (ended - began).total_seconds() / done for done, began, ended in session.execute(query) if ended is not None
    ]
    if known:
        return Estimate(points, points * median(known), f"the last {plural(len(known), 'experiment')} on this device")
    queue = gpu_queue(device_class) if device_class else CPU_QUEUE
    slots = max(1.0, at_once(queue, known_slots(session, now)[0].get(queue, 0)))
    return Estimate(points, points * _POINT_SECONDS / slots, f"{_POINT_SECONDS:g} s a point and {slots:g} at a time")
