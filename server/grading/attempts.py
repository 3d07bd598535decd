"""What a step goes through, attempt by attempt: from queued to done, or to a fault of our own.

Every function works on rows that the caller holds locked, the step before its job, and only changes what it is given:
when it happens is for the caller to say.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.report import Report, headline
from kernels.verdict import Finding, Verdict
from server.grading.figures import figures
from server.grading.judged_job import update_judged_job
from server.grading.models import (
    MAX_ATTEMPTS,
    Attempt,
    AttemptOutcome,
    Job,
    JobState,
    Result,
    Step,
    StepState,
)
from server.grading.reports import pack
from worker.contract.messages import StepKind, Ticket

AGAIN_AFTER = (timedelta(seconds=5), timedelta(seconds=20))
"""After a first and a second fault. What befell a worker, a full disk say, mostly lasts a moment, and one that fails at
once would else take all three attempts of a step within a second."""

FAULT_CHARACTERS = 2000
WORKER_CHARACTERS = 100


def kept(text: str, most: int = FAULT_CHARACTERS) -> str:
    """What a worker says, as every database and log keeps it: PostgreSQL has no NUL, UTF-8 no half characters."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()[:most]


def locked_step(session: Session, job: int, kind: StepKind) -> Step | None:
    """A job's step, locked until the transaction ends, as it is now."""
    query = select(Step).where(Step.job_id == job, Step.kind == kind).with_for_update()
    return session.scalar(query.execution_options(populate_existing=True))


def locked_job(session: Session, job: int) -> Job:
    """A job, locked until the transaction ends, as it is now. Its steps are locked before it, never after."""
    query = select(Job).where(Job.id == job).with_for_update()
    return session.scalars(query.execution_options(populate_existing=True)).one()


def locked_current(session: Session, ticket: Ticket) -> Step | None:
    """The step of a ticket, locked; None where that attempt is over."""
    step = locked_step(session, ticket.job, ticket.kind)
    return step if step is not None and step.token == ticket.token else None


def ticket_of(step: Step) -> Ticket:
    """The ticket of the attempt under way."""
    assert step.token is not None
    return Ticket(step.job_id, step.kind, step.token)


def begin(session: Session, step: Step, now: datetime) -> None:
    """Start the next attempt, with a token that nobody has seen."""
    step.token = secrets.token_hex(16)
    step.attempt += 1
    step.state = StepState.SENT
    step.sent_at = now
    step.not_before = None
    step.worker = None
    session.add(Attempt(step_id=step.id, number=step.attempt, token=step.token, sent_at=now))


def claimed(session: Session, step: Step, worker: str, now: datetime) -> None:
    """A worker has the step."""
    step.state = StepState.RUNNING
    step.worker = kept(worker, WORKER_CHARACTERS)
    if step.started_at is None:
        step.started_at = now
    attempt = _attempt(session, step)
    attempt.worker = step.worker
    attempt.started_at = attempt.started_at or now
    job = locked_job(session, step.job_id)
    if job.state is JobState.QUEUED:
        job.state = JobState.RUNNING
        job.started_at = now


def completed(session: Session, step: Step, worker: str, seconds: float | None, now: datetime) -> None:
    """The attempt ended with a report."""
    _close(session, step, AttemptOutcome.DONE, worker, "", now)
    step.state = StepState.DONE
    step.seconds = seconds
    step.ended_at = now
    if step.started_at is None:
        step.started_at = now


def failed(
    session: Session, step: Step, outcome: AttemptOutcome, fault: str, now: datetime, worker: str = ""
) -> bool:
    """The attempt ended without a report: queue the step again, in its old place, or end its job after the last.

    return: whether the job is over
    """
    _close(session, step, outcome, worker, fault, now)
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


def given_back(session: Session, step: Step, now: datetime, pause: timedelta = timedelta(0)) -> None:
    """There was no fault, say of a worker that stops: queue the step again, as if it had never been given out.

    pause: before which it is not given out again
    """
    attempt = _attempt(session, step)
    step.token = None
    step.state = StepState.QUEUED
    step.attempt -= 1
    step.worker = None
    step.started_at = None
    step.queued_at = now
    step.not_before = now + pause if pause else None
    session.delete(attempt)
    session.flush()


def hopeless(session: Session, step: Step, fault: str, now: datetime, worker: str = "") -> None:
    """The attempt ended as every other would: end the job in a fault of our own."""
    _close(session, step, AttemptOutcome.FAULT, worker, fault, now)
    _give_up(session, step, fault, now)


def _give_up(session: Session, step: Step, fault: str, now: datetime) -> None:
    """End the job; `step.fault` says why, to staff only."""
    step.state = StepState.FAILED
    step.fault = kept(fault)
    step.ended_at = now
    job = locked_job(session, step.job_id)
    finish(session, job, _our_fault(job), now)


def cancelled(session: Session, step: Step, now: datetime) -> Ticket | None:
    """Nobody wants the step any more; returns the ticket to revoke, where it was under way."""
    ticket = ticket_of(step) if step.token is not None else None
    if ticket is not None:
        _close(session, step, AttemptOutcome.CANCELLED, "", "", now)
    step.state = StepState.CANCELLED
    step.ended_at = now
    return ticket


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
        **figures(report),
    )
    session.add(result)
    update_judged_job(session, job)
    return result


def _close(
    session: Session, step: Step, outcome: AttemptOutcome, worker: str, fault: str, now: datetime
) -> None:
    attempt = _attempt(session, step)
    attempt.outcome = outcome
    attempt.ended_at = now
    attempt.worker = attempt.worker or kept(worker, WORKER_CHARACTERS) or None
    attempt.fault = kept(fault) or None
    step.worker = step.worker or attempt.worker
    step.token = None


def _attempt(session: Session, step: Step) -> Attempt:
    attempt = session.get(Attempt, (step.id, step.attempt))
    assert attempt is not None, "an attempt is written before its message is sent"
    return attempt


def _our_fault(job: Job) -> Report:
    """What the person is told: that it was not their kernel. What it was is for staff, in the step."""
    message = (
        "Tilelab could not grade this file: a worker failed or was lost each time. "
        "That is our fault, not the kernel's; it counts as no attempt, and staff can have it graded again."
    )
    return Report(
        verdict=Verdict.SYSTEM_ERROR,
        message=message,
        exercise=job.exercise.name,
        device="cpu",
        arch=job.arch,
        tile=job.tile or 0,
        findings=(Finding(Verdict.SYSTEM_ERROR, headline(Verdict.SYSTEM_ERROR)),),
        seed=job.seed,
    )
