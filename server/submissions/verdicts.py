"""How a job ends, and which job gives a submission its verdict.

As in server.grading.attempts, rows are held locked by the caller, the step before its job.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ScalarSelect, func, select
from sqlalchemy.orm import Session

from kernels.report import Report
from kernels.verdict import Finding, Verdict
from server.grading.attempts import close, kept, locked_job
from server.grading.models import MAX_ATTEMPTS, AttemptOutcome, Job, JobState, Result, Step, StepState
from server.grading.reports import pack
from server.grading.result_columns import columns_of
from server.submissions.models import Submission

AGAIN_AFTER = (timedelta(seconds=5), timedelta(seconds=20))
"""After a first and a second fault. What befell a worker, a full disk say, mostly lasts a moment, and one that fails at
once would else take all three attempts of a step within a second."""


def failed(
    session: Session, step: Step, outcome: AttemptOutcome, fault: str, now: datetime, worker: str = ""
) -> bool:
    """The attempt ended without a report: queue the step again, in its old place, or end its job after the last.

    return: whether the job is over
    """
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
    """The attempt ended as every other would: end the job in a fault of our own."""
    close(session, step, AttemptOutcome.FAULT, worker, fault, now)
    _give_up(session, step, fault, now)


def _give_up(session: Session, step: Step, fault: str, now: datetime) -> None:
    """End the job; `step.fault` says why, to staff only."""
    step.state = StepState.FAILED
    step.fault = kept(fault)
    step.ended_at = now
    job = locked_job(session, step.job_id)
    finish(session, job, _our_fault(job), now)


def finish(session: Session, job: Job, report: Report, now: datetime) -> Result:
    """The job's verdict and its one result; the job is locked."""
    measured = report.measurement
    job.state = JobState.DONE
    job.verdict = report.verdict
    job.started_at = job.started_at or now
    job.ended_at = now
    result = Result(
        job_id=job.id,
        verdict=report.verdict,
        device_class=report.device[:48],
        report=pack(report),
        ranked=measured is not None and measured.ranked and report.verdict is Verdict.ACCEPTED,
        recorded_at=now,
        **columns_of(report),
    )
    session.add(result)
    update_judged_job(session, job)
    return result


def update_judged_job(session: Session, job: Job) -> None:
    """Let a job that has a verdict give it to its submission, where none of more weight does.

    The last verdict counts. A system error counts only while there is no other verdict, so that a regrade that fails
    takes nothing away.
    """
    if job.submission_id is None:
        return
    # Two jobs of one submission may end at once, in either order.
    locked = select(Submission).where(Submission.id == job.submission_id).with_for_update(key_share=True)
    submission = session.scalars(locked.execution_options(populate_existing=True)).one()
    known = submission.judged_job_id
    if known is None or _weight(session.get_one(Job, known)) < _weight(job):
        submission.judged_job_id = job.id


def _weight(job: Job) -> tuple[bool, int]:
    return job.verdict is not Verdict.SYSTEM_ERROR, job.id


def latest_job_id() -> ScalarSelect[Any]:
    """In a query of submissions: the number of each one's last job, which may be a regrade that waits."""
    query = select(func.max(Job.id)).where(Job.submission_id == Submission.id)
    return query.correlate(Submission).scalar_subquery()


def _our_fault(job: Job) -> Report:
    """What the person is told: that it was not their kernel. What it was is for staff, in the step."""
    message = (
        "Grading failed on our side: a worker failed or was lost each time. This did not use an attempt. "
        "Course staff can regrade it."
    )
    return Report(
        verdict=Verdict.SYSTEM_ERROR,
        message=message,
        exercise=job.exercise.name,
        device="cpu",
        arch=job.arch,
        tile=job.tile or 0,
        findings=(Finding(Verdict.SYSTEM_ERROR, Verdict.SYSTEM_ERROR.headline),),
        seed=job.seed,
    )
