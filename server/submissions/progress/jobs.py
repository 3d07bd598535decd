"""The status of submissions, read from the database for many of them in one query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Select, and_, bindparam, select
from sqlalchemy.orm import Session, aliased

from kernels.verdict import Verdict
from server.grading.models import Job, JobKind, JobState, Step, StepState
from server.grading.queue import Place, places
from server.submissions.models import Submission
from server.submissions.verdicts import latest_job_id
from worker.contract.messages import StepKind

_OPEN = frozenset({StepState.QUEUED, StepState.SENT, StepState.RUNNING})


@dataclass(frozen=True, slots=True)
class StepStatus:
    """A copy of a step's row."""

    id: int
    kind: StepKind
    state: StepState
    queue: str
    attempt: int
    queued_at: datetime
    sent_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class SubmissionStatus:
    """The status of a submission: its last job and its verdict.

    id: of the last job
    verdict: of the submission; may come from an earlier job
    place: the open step's place in the queue; None if no step is open
    """

    id: int
    kind: JobKind
    state: JobState
    verdict: Verdict | None
    device_class: str
    steps: tuple[StepStatus, ...]
    place: Place | None = None

    @property
    def over(self) -> bool:
        return self.state in {JobState.DONE, JobState.CANCELLED}

    def step(self, kind: StepKind) -> StepStatus | None:
        return next((step for step in self.steps if step.kind is kind), None)

    @property
    def position(self) -> int | None:
        """The position in the queue, 0 in progress; None if it is over."""
        return None if self.place is None else self.place.position

    @property
    def open_step(self) -> StepStatus | None:
        return next((step for step in self.steps if step.state in _OPEN), None)


def read_statuses(session: Session, submissions: Collection[int], now: datetime) -> Mapping[int, SubmissionStatus]:
    """Read the status of each submission by its ID, without deleted ones."""
    rows = session.connection().execute(_ROWS, {"submissions": list(submissions)})
    jobs = {number: _job(columns) for number, *columns in rows}
    waiting = [step for job in jobs.values() if not job.over and (step := job.open_step) is not None]
    positions = places(session, waiting, now)
    return {number: _placed(job, positions) for number, job in jobs.items()}


def with_status(query: Select[Any]) -> Select[Any]:
    """Add columns to a query of submissions, from which `status_from` makes a status."""
    query = query.add_columns(_Last.id, _Last.kind, _Last.state, Submission.verdict, _Last.device_class)
    query = query.join(_Last, _Last.id == latest_job_id())
    for kind in StepKind:
        step = aliased(Step)
        query = query.add_columns(*(getattr(step, name) for name in _STEP))
        query = query.outerjoin(step, and_(step.job_id == _Last.id, step.kind == kind))
    return query


def status_from(session: Session, columns: Sequence[Any], now: datetime) -> SubmissionStatus:
    """The status of a submission from the STATUS_COLUMNS columns of `with_status`."""
    job = _job(columns)
    step = None if job.over else job.open_step
    return job if step is None else _placed(job, places(session, [step], now))


_Last = aliased(Job)
_STEP = tuple(each.name for each in fields(StepStatus))
STATUS_COLUMNS = 5 + len(StepKind) * len(_STEP)
_ROWS = with_status(
    select(Submission.id).select_from(Submission).where(Submission.id.in_(bindparam("submissions", expanding=True)))
)


def _job(columns: Sequence[Any]) -> SubmissionStatus:
    number, kind, state, verdict, device_class, *steps = columns
    parts = (steps[place : place + len(_STEP)] for place in range(0, len(steps), len(_STEP)))
    found = tuple(StepStatus(*part) for part in parts if part[0] is not None)
    return SubmissionStatus(number, kind, state, verdict, device_class, found)


def steps_of(session: Session, job: int) -> tuple[StepStatus, ...]:
    """The steps of one job."""
    found = session.execute(select(*(getattr(Step, name) for name in _STEP)).where(Step.job_id == job))
    return tuple(StepStatus(*row) for row in found)


def _placed(job: SubmissionStatus, found: Mapping[int, Place]) -> SubmissionStatus:
    step = job.open_step
    place = None if job.over or step is None else found.get(step.id)
    return replace(job, place=place)
