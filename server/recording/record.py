"""Write what workers send back: one transaction for a result, whoever else records at the same time.

Only the attempt under way counts. Whatever comes twice, late, or from a worker that was given up changes nothing, and
its worker is told that it need not send it again.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.database.engine import Sessions
from server.grading.attempts import completed, given_back, kept, locked_current, locked_job
from server.grading.models import WORK_BYTES, Attempt, AttemptOutcome, Job, Step
from server.grading.queue_order import QueueOrder
from server.recording.refusal import Refusal, check_result
from server.standings.service import update_leaderboards
from server.submissions.verdicts import failed, finish, hopeless
from worker.contract.logging import about
from worker.contract.messages import (
    OtherVersionError,
    PackedWork,
    StepKind,
    StepResult,
    Ticket,
    UnreadableError,
    decode,
    gpu_queue,
)

logger = logging.getLogger(__name__)


class Recorded(StrEnum):
    """What became of a message with a result."""

    FINAL = "final"  # the job has its verdict
    GOES_ON = "goes_on"  # the next step is queued
    AGAIN = "again"  # the step is queued again
    GIVEN_UP = "given_up"  # the job ended in a fault of our own
    REPEATED = "repeated"  # it had been recorded before
    FENCED = "fenced"  # another attempt counts, or none any more


@dataclass(frozen=True, slots=True)
class Unread:
    """A result that cannot be read here, and whose it is.

    other_version: its worker says that it is of another version; then neither it nor the submission is to blame
    """

    ticket: Ticket
    why: str
    other_version: bool = False


def record(
    sessions: Sessions, result: StepResult, now: datetime | None = None, *, pause: timedelta = timedelta(0)
) -> Recorded:
    """Write a result, once; when this returns it is in the database for good, or never will be.

    pause: before which a step that is given back is not given out again
    """
    moment = now or datetime.now(UTC)
    with sessions.begin() as session:
        step = locked_current(session, result.ticket)
        if step is None:
            outcome, attempt, why = _over(session, result.ticket), 0, ""
        else:
            attempt = step.attempt
            outcome = _record(session, step, result, moment, pause)
            failed_now = outcome in {Recorded.AGAIN, Recorded.GIVEN_UP} and not result.given_back
            why = step.fault or "" if failed_now else kept(result.fault)
    _log(result.ticket, attempt, outcome, kept(result.worker), why)
    return outcome


def record_fault(sessions: Sessions, ticket: Ticket, why: str, now: datetime | None = None) -> Recorded:
    """A result that cannot be read or written: its attempt is over, for it would come again."""
    return record(sessions, StepResult(ticket, "", None, fault=why), now)


def give_back(sessions: Sessions, unread: Unread, pause: timedelta, now: datetime | None = None) -> Recorded:
    """Have the step of a result of another version done once more, by a worker of this one; it costs no attempt."""
    back = StepResult(unread.ticket, "", None, fault=f"given back: {unread.why}", given_back=True)
    return record(sessions, back, now, pause=pause)


def read_result(body: object) -> StepResult | Unread:
    """The result in a message; of one that cannot be read, whose it was and why it cannot.

    raise (MessageError): where it does not even say whose it is
    """
    try:
        return decode(StepResult, body)
    except UnreadableError as error:
        if error.ticket is None:
            raise
        return Unread(error.ticket, str(error), isinstance(error, OtherVersionError))


def _record(session: Session, step: Step, result: StepResult, now: datetime, pause: timedelta) -> Recorded:
    if result.given_back:
        given_back(session, step, now, pause)
        return Recorded.AGAIN
    try:
        found = check_result(step, result)
    except Refusal as refusal:
        over = failed(session, step, AttemptOutcome.FAULT, str(refusal), now, result.worker)
        return Recorded.GIVEN_UP if over else Recorded.AGAIN
    if isinstance(found, PackedWork) and len(found.packed) > WORK_BYTES:
        size = f"it has {len(found.packed):,} bytes, {WORK_BYTES:,} are allowed"
        hopeless(session, step, f"what is to be measured cannot be sent: {size}", now, result.worker)
        return Recorded.GIVEN_UP
    completed(session, step, result.worker, _seconds(result.seconds), now)
    job = locked_job(session, step.job_id)
    if isinstance(found, PackedWork):
        _queue_measure(session, job, found, now)
        return Recorded.GOES_ON
    written = finish(session, job, found, now)
    session.flush()
    update_leaderboards(session, job, written)
    return Recorded.FINAL


def _queue_measure(session: Session, job: Job, work: PackedWork, now: datetime) -> None:
    queue = gpu_queue(job.device_class)
    measure = Step(
        job_id=job.id,
        kind=StepKind.MEASURE,
        queue=queue,
        person_id=job.person_id,
        priority=job.priority,
        turn=QueueOrder(session, queue, job.priority).next(job.person_id),
        work=work.packed.encode(),
        digests=" ".join(work.digests),
        queued_at=now,
    )
    session.add(measure)


def _over(session: Session, ticket: Ticket) -> Recorded:
    """What a result for another than the present attempt is: one that is recorded, or one that came too late."""
    outcome = session.scalar(select(Attempt.outcome).where(Attempt.token == ticket.token))
    return Recorded.REPEATED if outcome in {AttemptOutcome.DONE, AttemptOutcome.FAULT} else Recorded.FENCED


def _seconds(said: float) -> float | None:
    return said if math.isfinite(said) and said >= 0 else None


def _log(ticket: Ticket, attempt: int, outcome: Recorded, worker: str, why: str) -> None:
    level = logging.INFO if outcome in _WELL else logging.WARNING
    with about(job=ticket.job, step=ticket.kind.value, attempt=attempt):
        logger.log(level, "result of %s: %s%s", worker, outcome.value, f" ({why})" if why else "")


_WELL = frozenset({Recorded.FINAL, Recorded.GOES_ON, Recorded.REPEATED})
