"""Which job gives a submission its verdict, and which job is its last."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ScalarSelect, func, select
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.grading.models import Job
from server.submissions.models import Submission


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
