"""Different verdicts of two workers on the same source, which the audit log keeps for operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Integer, bindparam, select
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.audit.service import note, recent
from server.courses.models import Exercise
from server.grading.models import Job, JobKind, JobState

_ACTION = "worker.contradicted"
_MOST_SHOWN = 20
# Neither follows from the source: a slow machine exceeds a time limit, too.
_NEVER_COMPARED = (Verdict.SYSTEM_ERROR, Verdict.TIME_LIMIT)


@dataclass(frozen=True, slots=True)
class Judgment:
    """A worker's verdict in a job."""

    worker: str
    job: int
    verdict: str


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two workers' verdicts on the same source. at: when the second one was recorded."""

    first: Judgment
    second: Judgment
    at: datetime

    def __str__(self) -> str:
        said = (f"{each.worker} found {each.verdict} (job {each.job})" for each in (self.first, self.second))
        return "two workers graded the same source differently: " + ", ".join(said)


# Made once, because each result needs it.
_LAST_ALIKE = (
    select(Job.id, Job.verdict)
    .where(
        Job.source_digest == bindparam("source"),
        Job.exercise_id.in_(select(Exercise.id).where(Exercise.digest == bindparam("exercise"))),
        Job.device_class == bindparam("device_class"),
        Job.arch == bindparam("arch"),
        Job.tile.is_not_distinct_from(bindparam("tile", type_=Integer)),
        Job.kind != JobKind.EXPERIMENT,
        Job.state == JobState.DONE,
        Job.verdict.not_in(_NEVER_COMPARED),
        Job.id != bindparam("job"),
    )
    .order_by(Job.ended_at.desc(), Job.id.desc())
    .limit(1)
)


def note_contradiction(session: Session, job: Job, now: datetime) -> Contradiction | None:
    """Compare a finished job with the last one of the same source, exercise and device; note a contradiction."""
    if job.kind is JobKind.EXPERIMENT or job.verdict in _NEVER_COMPARED:
        return None
    given = {
        "source": job.source_digest, "exercise": job.exercise.digest, "device_class": job.device_class,
        "arch": job.arch, "tile": job.tile, "job": job.id,
    }  # fmt: skip
    last = session.execute(_LAST_ALIKE, given).first()
    if last is None or last.verdict is job.verdict:
        return None
    other = session.get_one(Job, last.id)
    pair = (_judgment(other, job), _judgment(job, other))
    if not pair[0].worker or not pair[1].worker or pair[0].worker == pair[1].worker:
        return None
    contradiction = Contradiction(*pair, now)
    for name, rival in (pair, pair[::-1]):
        note(
            session, None, _ACTION, f"worker {name.worker}", now=now,
            job=name.job, verdict=name.verdict, other_worker=rival.worker, other_job=rival.job,
            other_verdict=rival.verdict,
        )  # fmt: skip
    return contradiction


def recent_contradictions(session: Session, now: datetime) -> Sequence[Contradiction]:
    """The contradictions of the last week, newest first."""
    contradictions = []
    for event in recent(session, _ACTION, now, 2 * _MOST_SHOWN):
        detail = event.detail
        mine = Judgment(event.subject.removeprefix("worker "), detail["job"], detail["verdict"])
        other = Judgment(detail["other_worker"], detail["other_job"], detail["other_verdict"])
        if mine.job < other.job:  # each has an entry for both workers
            contradictions.append(Contradiction(mine, other, event.at))
    return contradictions


def _judgment(job: Job, other: Job) -> Judgment:
    """Judged by the worker of the last step whose kind both jobs have. Only such steps can be compared."""
    kinds = {step.kind for step in other.steps if step.worker}
    workers = [step.worker for step in job.steps if step.kind in kinds and step.worker]
    return Judgment(workers[-1] if workers else "", job.id, str(job.verdict))
