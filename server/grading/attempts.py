"""The states of a step, attempt by attempt, from queued to done. server.submissions.verdicts ends the job.

The caller locks the rows, the step before its job. The functions change only the rows that they get, and take the time
from the caller.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session, contains_eager

from server.grading.models import Attempt, AttemptOutcome, Job, JobState, Step, StepState
from server.text import storable
from worker.contract.messages import Ticket

FAULT_CHARACTERS = 2000
WORKER_CHARACTERS = 100


def kept(text: str, most: int = FAULT_CHARACTERS) -> str:
    """As much of a worker's text as is stored."""
    return storable(text)[:most]


def locked_job(session: Session, job: int) -> Job:
    """Lock a job until the transaction ends, and read it again. Lock its steps before it, never after."""
    query = select(Job).where(Job.id == job).with_for_update()
    return session.scalars(query.execution_options(populate_existing=True)).one()


# Made once, because each result needs it.
_CURRENT = (
    select(Step)
    .where(Step.token.in_(bindparam("tokens", expanding=True)))
    .join(Step.job)
    .join(Job.exercise)
    .join(Step.present)
    .options(contains_eager(Step.job).contains_eager(Job.exercise), contains_eager(Step.present))
    .order_by(Step.id)
    .execution_options(populate_existing=True)
)
TOKEN = re.compile(r"[0-9a-f]{32}")
_LOCKED = (Step, Attempt, Job)
_CURRENT_LOCKED, _CURRENT_FREE = (_CURRENT.with_for_update(of=_LOCKED, skip_locked=skip) for skip in (False, True))


def locked_current(
    session: Session, tickets: Collection[Ticket], *, skip_locked: bool = False
) -> Mapping[Ticket, Step]:
    """Lock the steps of these tickets, their attempts and their jobs. Leaves out attempts that are over.

    skip_locked: also leave out those that another process has locked
    """
    query = _CURRENT_FREE if skip_locked else _CURRENT_LOCKED
    locked = session.scalars(query, {"tokens": [ticket.token for ticket in tickets]})
    steps = {ticket_of(step): step for step in locked}
    return {ticket: steps[ticket] for ticket in tickets if ticket in steps}


def ticket_of(step: Step) -> Ticket:
    assert step.token is not None
    return Ticket(step.job_id, step.kind, step.token)


def begin(session: Session, step: Step, now: datetime) -> None:
    """Start the next attempt, with a new token."""
    step.token = secrets.token_hex(16)
    step.attempt += 1
    step.state = StepState.SENT
    step.sent_at = now
    step.not_before = None
    step.worker = None
    session.add(Attempt(step_id=step.id, number=step.attempt, token=step.token, sent_at=now))


def claimed(session: Session, step: Step, worker: str, now: datetime) -> None:
    step.state = StepState.RUNNING
    step.worker = kept(worker, WORKER_CHARACTERS)
    step.started_at = step.started_at or now
    attempt = _attempt(session, step)
    attempt.worker = step.worker
    attempt.started_at = attempt.started_at or now
    if step.job.state is JobState.QUEUED:
        step.job.state = JobState.RUNNING
        step.job.started_at = now


def completed(session: Session, step: Step, worker: str, seconds: float | None, now: datetime) -> None:
    """End the attempt with a report, and its step."""
    close(session, step, AttemptOutcome.DONE, worker, "", now)
    step.state = StepState.DONE
    step.seconds = seconds
    step.ended_at = now
    # A result may arrive before the dispatcher has seen the claim.
    step.started_at = step.started_at or now


def given_back(session: Session, step: Step, now: datetime, pause: timedelta = timedelta(0)) -> None:
    """Queue the step again as if it had never been sent, for example because its worker stops. Uses no attempt.

    pause: how long the step waits before it is sent again
    """
    attempt = _attempt(session, step)
    step.token = None
    step.state = StepState.QUEUED
    step.attempt -= 1
    step.worker = None
    step.started_at = None
    step.queued_at = now
    step.not_before = now + pause if pause else None
    # The next attempt gets the same number, so this row must go first.
    session.delete(attempt)
    session.flush()


def cancelled(session: Session, step: Step, now: datetime) -> Ticket | None:
    """Cancel the step. Returns the ticket to revoke if the step was under way."""
    ticket = ticket_of(step) if step.token is not None else None
    if ticket is not None:
        close(session, step, AttemptOutcome.CANCELLED, "", "", now)
    step.state = StepState.CANCELLED
    step.ended_at = now
    return ticket


def close(session: Session, step: Step, outcome: AttemptOutcome, worker: str, fault: str, now: datetime) -> None:
    """End the attempt, not its step."""
    attempt = _attempt(session, step)
    attempt.outcome = outcome
    attempt.ended_at = now
    attempt.worker = attempt.worker or kept(worker, WORKER_CHARACTERS) or None
    attempt.fault = kept(fault) or None
    step.worker = step.worker or attempt.worker
    # From now on, a late result of this attempt finds no step.
    step.token = None


def _attempt(session: Session, step: Step) -> Attempt:
    attempt = session.get(Attempt, (step.id, step.attempt))
    assert attempt is not None, "an attempt is written before its message is sent"
    return attempt
