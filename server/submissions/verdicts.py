"""The end of a job, and the choice of the job that gives a submission its verdict.

As in server.grading.attempts, the caller locks the rows, the step before its job.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, ScalarSelect, bindparam, exists, func, select
from sqlalchemy.orm import Session, aliased

from kernels.report import Report
from kernels.verdict import Finding, Verdict
from server.grading.attempts import close, kept
from server.grading.models import MAX_ATTEMPTS, AttemptOutcome, Job, JobState, Result, Step, StepState
from server.grading.reports import pack
from server.grading.result_columns import columns_of
from server.submissions.models import Submission

AGAIN_AFTER = (timedelta(seconds=5), timedelta(seconds=20))
"""The wait after a first and a second fault. Most faults of a worker, such as a full disk, pass after a moment. Without
the wait, a worker that fails at once would use all three attempts within a second."""


SYSTEM_ERROR = (
    "Grading failed on our side: a worker failed or was lost each time. This did not use an attempt. "
    "Course staff can regrade it."
)


def failed(session: Session, step: Step, outcome: AttemptOutcome, fault: str, now: datetime, worker: str = "") -> bool:
    """End an attempt without a report. Queue the step again in its old place, or end the job after the last attempt.

    return: whether the job is over
    """
    # Closing takes the token away, so a late result of this attempt changes nothing.
    close(session, step, outcome, worker, fault, now)
    if step.attempt < MAX_ATTEMPTS:
        step.state = StepState.QUEUED
        step.fault = kept(fault)
        step.worker = None
        step.started_at = None
        step.queued_at = now
        if outcome is AttemptOutcome.FAULT:
            step.not_before = now + AGAIN_AFTER[step.attempt - 1]
        return False
    _give_up(session, step, fault, now)
    return True


def give_up(session: Session, step: Step, fault: str, now: datetime, worker: str = "") -> None:
    """End the job with a system error, because every further attempt would fail the same way."""
    close(session, step, AttemptOutcome.FAULT, worker, fault, now)
    _give_up(session, step, fault, now)


def _give_up(session: Session, step: Step, fault: str, now: datetime) -> None:
    step.state = StepState.FAILED
    step.fault = kept(fault)
    step.ended_at = now
    finish(session, step.job, _system_error(step.job), now)
    update_judged_jobs(session, [step.job])


def finish(session: Session, job: Job, report: Report, now: datetime) -> Result:
    """Write the verdict and the only result of a job, which the caller has locked. `update_judged_jobs` comes next."""
    measured = report.measurement
    job.state = JobState.DONE
    job.verdict = report.verdict
    job.started_at = job.started_at or now
    job.ended_at = now
    result = Result(
        job_id=job.id,
        verdict=report.verdict,
        # PostgreSQL refuses a text that is longer than its column.
        device_class=report.device[:48],
        report=pack(report),
        ranked=measured is not None and measured.ranked and report.verdict is Verdict.ACCEPTED,
        recorded_at=now,
        **columns_of(report),
    )
    session.add(result)
    return result


_LOCKED = (
    select(Submission)
    .where(Submission.id.in_(bindparam("numbers", expanding=True)))
    .order_by(Submission.id)
    .with_for_update(key_share=True)
    .execution_options(populate_existing=True)
)


def lock_submissions(session: Session, jobs: Iterable[Job]) -> Mapping[int, Submission]:
    """Lock the submissions of these jobs, in the order of their IDs."""
    numbers = {job.submission_id for job in jobs if job.submission_id is not None}
    if not numbers:
        return {}
    return {submission.id: submission for submission in session.scalars(_LOCKED, {"numbers": list(numbers)})}


def update_judged_jobs(session: Session, jobs: Sequence[Job]) -> Mapping[int, Submission]:
    """Let each finished job decide its submission's verdict, unless a later or weightier job does.

    The last verdict counts. A system error counts only while there is no other verdict, so a failed regrade takes
    nothing away.

    return: the locked submissions, by ID
    """
    session.flush()
    # Two jobs of one submission may end at the same time, in any order.
    locked = lock_submissions(session, jobs)
    for job in jobs:
        if job.submission_id is None:
            continue
        submission = locked[job.submission_id]
        known = submission.judged_job_id
        if known is None or _weight(session.get_one(Job, known)) < _weight(job):
            if submission.verdict not in {None, Verdict.SYSTEM_ERROR, job.verdict}:
                submission.news_since = job.ended_at
            submission.judged_job_id = job.id
            submission.verdict = job.verdict
    return locked


def _weight(job: Job) -> tuple[bool, int]:
    return job.verdict is not Verdict.SYSTEM_ERROR, job.id


def latest_job_id() -> ScalarSelect[Any]:
    """In a query of submissions, the ID of each submission's last job, which may be a queued regrade."""
    query = select(func.max(Job.id)).where(Job.submission_id == Submission.id)
    return query.correlate(Submission).scalar_subquery()


@lru_cache(maxsize=8)  # a preview asks once for each student
def judged_job_id(staged: int | None = None) -> ColumnElement[Any]:
    """In a query of submissions, the ID of the job that gives each its verdict.

    staged: the ID of a staged regrade, for the job once the regrade is applied. As in `update_judged_jobs`, the last
        verdict counts, and a system error doesn't replace one
    """
    if staged is None:
        return Submission.judged_job_id.expression
    new, old = aliased(Job), aliased(Job)
    later = (
        exists()
        .where(old.id == Submission.judged_job_id, old.verdict != Verdict.SYSTEM_ERROR, old.id > new.id)
        .correlate(Submission, new)
    )
    query = select(new.id).where(
        new.regrade_id == staged,
        new.staged_for_id == Submission.id,
        new.state == JobState.DONE,
        new.verdict != Verdict.SYSTEM_ERROR,
        ~later,
    )
    return func.coalesce(query.correlate(Submission).scalar_subquery(), Submission.judged_job_id)


def judged_verdict(staged: int | None = None) -> ColumnElement[Any]:
    """In a query of submissions, each one's verdict; staged: as in `judged_job_id`."""
    if staged is None:
        return Submission.verdict.expression
    judged = aliased(Job)
    query = select(judged.verdict).where(judged.id == judged_job_id(staged))
    return query.correlate(Submission).scalar_subquery()


def _system_error(job: Job) -> Report:
    """The report for the student. The reason is in the step, for course staff only."""
    return Report(
        verdict=Verdict.SYSTEM_ERROR,
        message=SYSTEM_ERROR,
        exercise=job.exercise.name,
        device="cpu",
        arch=job.arch,
        tile=job.tile or 0,
        findings=(Finding(Verdict.SYSTEM_ERROR, Verdict.SYSTEM_ERROR.headline),),
        seed=job.seed,
    )
