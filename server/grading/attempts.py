"""What a step goes through, attempt by attempt, from queued to done; server.submissions.verdicts ends its job.

Every function works on rows that the caller holds locked, the step before its job, and only changes what it is given:
when it happens is for the caller to say.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.grading.models import (
    Attempt,
    AttemptOutcome,
    Job,
    JobState,
    Step,
    StepState,
)
from worker.contract.messages import StepKind, Ticket

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
    close(session, step, AttemptOutcome.DONE, worker, "", now)
    step.state = StepState.DONE
    step.seconds = seconds
    step.ended_at = now
    if step.started_at is None:
        step.started_at = now


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


def cancelled(session: Session, step: Step, now: datetime) -> Ticket | None:
    """Nobody wants the step any more; returns the ticket to revoke, where it was under way."""
    ticket = ticket_of(step) if step.token is not None else None
    if ticket is not None:
        close(session, step, AttemptOutcome.CANCELLED, "", "", now)
    step.state = StepState.CANCELLED
    step.ended_at = now
    return ticket


def close(
    session: Session, step: Step, outcome: AttemptOutcome, worker: str, fault: str, now: datetime
) -> None:
    """End the attempt, not its step."""
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
