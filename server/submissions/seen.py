"""How far submissions are, as the database has it: many of them in one query."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.grading.models import Job, JobKind, JobState, Step, StepState
from server.grading.places import OpenStep, places
from server.grading.queue import Place, waits_since
from worker.contract.messages import StepKind

_OPEN = frozenset({StepState.QUEUED, StepState.SENT, StepState.RUNNING})


@dataclass(frozen=True, slots=True)
class StepSeen:
    """A step; the fields are those of its row."""

    id: int
    kind: StepKind
    state: StepState
    queue: str
    attempt: int
    queued_at: datetime
    sent_at: datetime | None
    started_at: datetime | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class JobSeen:
    """The last job of a submission.

    verdict: that counts, as judged_job finds it; that of an earlier one as long as this one has none
    place: in the queue, of the step that is open; None where none is
    """

    id: int
    kind: JobKind
    state: JobState
    verdict: Verdict | None
    device_class: str
    steps: tuple[StepSeen, ...]
    place: Place | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in {JobState.DONE, JobState.CANCELLED}

    def step(self, kind: StepKind) -> StepSeen | None:
        """Its step of that kind, None before there is one."""
        return next((step for step in self.steps if step.kind is kind), None)

    @property
    def open_step(self) -> StepSeen | None:
        """The one that waits or is at work."""
        return next((step for step in self.steps if step.state in _OPEN), None)


def seen(session: Session, submissions: Collection[int], now: datetime) -> Mapping[int, JobSeen]:
    """The last job of each submission, by the submission's number; one that is gone is left out."""
    rows: dict[int, list[Row[*tuple[Any, ...]]]] = {}
    verdicts: dict[int, Verdict | None] = {}
    for row in session.execute(_ROWS.where(Job.submission_id.in_(submissions))):
        verdicts[row.submission_id] = _counts(verdicts.get(row.submission_id), row.verdict)
        known = rows.get(row.submission_id)
        if known is None or known[-1].job_id != row.job_id:
            rows[row.submission_id] = [row]  # a later job takes the place of the one before
        else:
            known.append(row)
    jobs = {number: _job(found, verdicts[number]) for number, found in rows.items()}
    waiting = [
        OpenStep(step.id, step.queue, step.state, waits_since(step.queued_at, step.sent_at))
        for job in jobs.values()
        if not job.over and (step := job.open_step) is not None
    ]
    found = places(session, waiting, now)
    return {number: _placed(job, found) for number, job in jobs.items()}


_ROWS = (
    select(
        Job.submission_id, Job.id.label("job_id"), Job.kind.label("job_kind"), Job.state.label("job_state"),
        Job.verdict, Job.device_class, Step.id, Step.kind, Step.state, Step.queue, Step.attempt, Step.queued_at,
        Step.sent_at, Step.started_at, Step.seconds,
    )
    .join(Step, Step.job_id == Job.id)
    .order_by(Job.id, Step.id)
)  # fmt: skip


def _counts(earlier: Verdict | None, later: Verdict | None) -> Verdict | None:
    """Which of two jobs' verdicts: a fault of ours takes none away."""
    return earlier if later is None or (later is Verdict.SYSTEM_ERROR and earlier) else later


def _job(rows: list[Row[*tuple[Any, ...]]], verdict: Verdict | None) -> JobSeen:
    first = rows[0]
    steps = tuple(
        StepSeen(
            row.id,
            row.kind,
            row.state,
            row.queue,
            row.attempt,
            row.queued_at,
            row.sent_at,
            row.started_at,
            row.seconds,
        )
        for row in rows
    )
    return JobSeen(first.job_id, first.job_kind, first.job_state, verdict, first.device_class, steps)


def _placed(job: JobSeen, found: Mapping[int, Place]) -> JobSeen:
    step = job.open_step
    place = None if job.over or step is None else found.get(step.id)
    return replace(job, place=place)
