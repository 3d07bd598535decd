"""Different verdicts of two workers on the same source, which the audit log keeps for operators."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import BindParameter, bindparam, or_, select
from sqlalchemy.orm import Session, aliased

from kernels.verdict import Verdict
from server.audit.service import note, recent
from server.courses.models import Exercise
from server.grading.models import Job, JobKind, JobState

_ACTION = "worker.contradicted"
_MOST_SHOWN = 20
# Neither follows from the source: a slow machine exceeds a time limit, too.
_NEVER_COMPARED = (Verdict.SYSTEM_ERROR, Verdict.TIME_LIMIT)
_OTHER_CASES = (JobKind.EXPERIMENT, JobKind.TRIAL)


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


_last, _job, _version = aliased(Job), aliased(Job), aliased(Exercise)
_FINISHED: BindParameter[int] = bindparam("finished", expanding=True)
_LAST_ALIKE = (
    select(_last.id)
    .where(
        _last.source_digest == _job.source_digest,
        _last.exercise_id.in_(select(Exercise.id).where(Exercise.digest == _version.digest)),
        _last.device_class == _job.device_class,
        _last.arch == _job.arch,
        _last.tile.is_not_distinct_from(_job.tile),
        _last.kind.not_in(_OTHER_CASES),
        _last.state == JobState.DONE,
        _last.verdict.not_in(_NEVER_COMPARED),
        # Of two that end now, the second is compared with the first.
        or_(_last.id.not_in(_FINISHED), _last.id < _job.id),
    )
    .order_by(_last.ended_at.desc(), _last.id.desc())
    .limit(1)
    .correlate(_job, _version)
    .scalar_subquery()
)
# Made once, because each result needs it.
_DIFFERENT = (
    select(Job.id, _job.id)
    .join_from(_job, _version, _version.id == _job.exercise_id)
    .join(Job, Job.id == _LAST_ALIKE)
    .where(_job.id.in_(_FINISHED), _job.verdict != Job.verdict)
    .order_by(_job.id)
)


def note_contradictions(session: Session, finished: Collection[Job], now: datetime) -> Sequence[Contradiction]:
    """Compare jobs that end now with the last ones of the same source, exercise and device; note contradictions."""
    compared = [job.id for job in finished if job.kind not in _OTHER_CASES and job.verdict not in _NEVER_COMPARED]
    if not compared:
        return []
    session.flush()
    contradictions: list[Contradiction] = []
    for first, second in session.execute(_DIFFERENT, {"finished": compared}).all():
        contradictions += _compared(session, session.get_one(Job, first), session.get_one(Job, second), now)
    return contradictions


def _compared(session: Session, first: Job, second: Job, now: datetime) -> Sequence[Contradiction]:
    pair = (_judgment(first, second), _judgment(second, first))
    workers = {each.worker for each in pair}
    if len(workers) == 1 or "" in workers:
        return []
    for name, rival in (pair, pair[::-1]):
        note(
            session, None, _ACTION, f"worker {name.worker}", now=now,
            job=name.job, verdict=name.verdict, other_worker=rival.worker, other_job=rival.job,
            other_verdict=rival.verdict,
        )  # fmt: skip
    return [Contradiction(*pair, now)]


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
