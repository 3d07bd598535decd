"""The status of submissions, read from the database for many of them in one query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, select
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
    rows: dict[int, list[Row[*tuple[Any, ...]]]] = defaultdict(list)
    for row in session.execute(_ROWS, {"submissions": list(submissions)}):
        rows[row.submission_id].append(row)
    jobs = {number: _job(steps) for number, steps in rows.items()}
    waiting = [step for job in jobs.values() if not job.over and (step := job.open_step) is not None]
    positions = places(session, waiting, now)
    return {number: _placed(job, positions) for number, job in jobs.items()}


_STEP = (
    Step.id, Step.kind, Step.state, Step.queue, Step.attempt, Step.queued_at, Step.sent_at, Step.started_at,
    Step.ended_at, Step.seconds,
)  # fmt: skip
_Judged = aliased(Job)
_ROWS = (
    select(
        Submission.id.label("submission_id"), Job.id.label("job_id"), Job.kind.label("job_kind"),
        Job.state.label("job_state"), _Judged.verdict, Job.device_class, *_STEP,
    )
    .select_from(Submission)
    .join(Job, Job.id == latest_job_id())
    .join(Step, Step.job_id == Job.id)
    .outerjoin(_Judged, _Judged.id == Submission.judged_job_id)
    .where(Submission.id.in_(bindparam("submissions", expanding=True)))
    .order_by(Step.id)
)  # fmt: skip


def _job(rows: list[Row[*tuple[Any, ...]]]) -> SubmissionStatus:
    first = rows[0]
    steps = tuple(_step(row[-len(_STEP) :]) for row in rows)
    return SubmissionStatus(first.job_id, first.job_kind, first.job_state, first.verdict, first.device_class, steps)


def steps_of(session: Session, job: int) -> tuple[StepStatus, ...]:
    """The steps of one job."""
    return tuple(map(_step, session.execute(select(*_STEP).where(Step.job_id == job))))


def _step(columns: Sequence[Any]) -> StepStatus:
    return StepStatus(*columns)


def _placed(job: SubmissionStatus, found: Mapping[int, Place]) -> SubmissionStatus:
    step = job.open_step
    place = None if job.over or step is None else found.get(step.id)
    return replace(job, place=place)
