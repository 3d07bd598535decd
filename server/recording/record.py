"""Write results from workers, each in one transaction. Several recorders may run at once.

Only the attempt under way counts. A result that comes twice, late, or from a worker given up as lost changes nothing.
Its worker learns that it need not send the result again.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.database.engine import Sessions
from server.grading.attempts import completed, given_back, kept, locked_current
from server.grading.contradictions import Contradiction, note_contradiction
from server.grading.models import WORK_BYTES, Attempt, AttemptOutcome, Job, Step
from server.grading.queue_order import QueueOrder
from server.grading.refusals import note_refusal
from server.recording.origin import Distrust, Distrusted, check_origin, check_work
from server.recording.refusal import Refusal, check_result
from server.standings.service import update_leaderboards
from server.submissions.verdicts import failed, finish, give_up
from worker.contract.credential import Credential
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
    measure_digest,
)

REFUSAL_PAUSE = timedelta(seconds=5)
"""A step's wait after a refused result. A broken worker must not take it again at once."""

logger = logging.getLogger(__name__)


class Recorded(StrEnum):
    """What became of a message with a result."""

    FINAL = "final"  # the job has its verdict
    GOES_ON = "goes_on"  # the next step is queued
    AGAIN = "again"  # the step is queued again
    GIVEN_UP = "given_up"  # the job ended in a system error
    REPEATED = "repeated"  # the result was recorded before
    FENCED = "fenced"  # the result is too late: its attempt is over
    REFUSED = "refused"  # the result can't be trusted; the step is queued again


@dataclass(frozen=True, slots=True)
class Unread:
    """A result that this version cannot read, with the ticket of its attempt.

    other_version: whether the worker has another version; then the step is graded again without using an attempt
    """

    ticket: Ticket
    why: str
    other_version: bool = False


def record(
    sessions: Sessions,
    result: StepResult,
    now: datetime | None = None,
    *,
    pause: timedelta = timedelta(0),
    contradicted: Callable[[Contradiction], None] = lambda _: None,
    origin: Credential | None = None,
    distrusted: Callable[[Distrust], None] = lambda _: None,
    refused_pause: timedelta | None = REFUSAL_PAUSE,
) -> Recorded:
    """Write a result once. When this returns, the outcome is committed.

    pause: how long a returned step waits before it is sent again
    contradicted: called after the commit if another worker's verdict on the same source differs
    origin: the credential that signed the result; None for results of the server itself
    distrusted: called after the commit if the result was refused
    refused_pause: how long the step of a refused result waits; None if the refusal uses an attempt
    """
    moment = now or datetime.now(UTC)
    contradiction, distrust = None, None
    with sessions.begin() as session:
        step = locked_current(session, result.ticket)
        if step is None:
            outcome, attempt, why = _over(session, result.ticket), 0, ""
        else:
            attempt = step.attempt
            try:
                if origin is not None:
                    check_origin(step, result, origin)
                check_work(step, result)
                outcome = _record(session, step, result, moment, pause)
            except Distrusted as found:
                distrust = found.why
                outcome = _refused(session, step, result.worker, distrust, moment, refused_pause)
            if outcome is Recorded.FINAL:
                contradiction = note_contradiction(session, step.job, moment)
            failed_now = outcome in {Recorded.AGAIN, Recorded.GIVEN_UP} and not result.given_back
            why = step.fault or "" if failed_now else distrust or kept(result.fault)
    _log(result.ticket, attempt, outcome, kept(result.worker), why)
    if contradiction is not None:
        logger.warning("%s", contradiction)
        contradicted(contradiction)
    if distrust is not None:
        distrusted(distrust)
    return outcome


def refuse(
    sessions: Sessions, ticket: Ticket, worker: str, why: Distrust, *, pause: timedelta | None = REFUSAL_PAUSE
) -> Recorded:
    """Refuse a result whose sender isn't known. If its attempt is under way, queue the step again.

    Only a worker that received the attempt knows its token. So a stranger can't end the work of others with this.
    """
    with sessions.begin() as session:
        step = locked_current(session, ticket)
        attempt = 0 if step is None else step.attempt
        outcome = Recorded.REFUSED
        if step is not None:
            outcome = _refused(session, step, worker, why, datetime.now(UTC), pause)
    _log(ticket, attempt, outcome, kept(worker), why)
    return outcome


def record_fault(sessions: Sessions, ticket: Ticket, why: str) -> Recorded:
    """End the attempt of a result that cannot be read or written: the same result would come again."""
    return record(sessions, StepResult(ticket, "", None, fault=why))


def give_back(sessions: Sessions, unread: Unread, pause: timedelta, now: datetime | None = None) -> Recorded:
    """Queue the step of a result from another version again, for a worker of this version. Uses no attempt."""
    back = StepResult(unread.ticket, "", None, fault=f"given back: {unread.why}", given_back=True)
    return record(sessions, back, now, pause=pause)


def read_result(body: object) -> StepResult | Unread:
    """Read the result in a message; for an unreadable result, its ticket and the reason.

    raise (MessageError): the message has no ticket
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
        checked = check_result(step, result)
    except Refusal as refusal:
        over = failed(session, step, AttemptOutcome.FAULT, str(refusal), now, result.worker)
        return Recorded.GIVEN_UP if over else Recorded.AGAIN
    if isinstance(checked, PackedWork) and len(checked.packed) > WORK_BYTES:
        size = f"it has {len(checked.packed):,} bytes; the limit is {WORK_BYTES:,}"
        # The same source would give the same work in each attempt.
        give_up(session, step, f"the measure step's work is too large: {size}", now, result.worker)
        return Recorded.GIVEN_UP
    completed(session, step, result.worker, _seconds(result.seconds), now)
    job = step.job
    if isinstance(checked, PackedWork):
        _queue_measure(session, job, checked, now)
        return Recorded.GOES_ON
    written, submission = finish(session, job, checked, now)
    session.flush()
    update_leaderboards(session, job, written, submission)
    return Recorded.FINAL


def _refused(
    session: Session, step: Step, worker: str, why: Distrust, now: datetime, pause: timedelta | None
) -> Recorded:
    """Queue the step again. Without a pause, that uses an attempt."""
    note_refusal(session, step.job_id, worker, why, now)
    if pause is not None:
        given_back(session, step, now, pause)
        return Recorded.REFUSED
    over = failed(session, step, AttemptOutcome.FAULT, f"a result that can't be trusted ({why})", now, worker)
    return Recorded.GIVEN_UP if over else Recorded.AGAIN


def _queue_measure(session: Session, job: Job, work: PackedWork, now: datetime) -> None:
    queue = gpu_queue(job.device_class)
    measure = Step(
        job_id=job.id,
        kind=StepKind.MEASURE,
        queue=queue,
        person_id=job.person_id,
        priority=job.priority,
        turn=QueueOrder(session, queue, job.priority).next(job.person_id),
        # The server never reads the work: the worker that checks writes it for the worker that measures.
        work=work.packed.encode(),
        digests=" ".join(work.digests),
        work_digest=measure_digest(work.packed.encode()),
        queued_at=now,
    )
    session.add(measure)


def _over(session: Session, ticket: Ticket) -> Recorded:
    """The outcome of a result whose attempt is over: recorded before, or too late."""
    # The step has lost its token by now, but the attempt keeps it.
    outcome = session.scalar(select(Attempt.outcome).where(Attempt.token == ticket.token))
    return Recorded.REPEATED if outcome in {AttemptOutcome.DONE, AttemptOutcome.FAULT} else Recorded.FENCED


def _seconds(said: float) -> float | None:
    return said if math.isfinite(said) and said >= 0 else None


def _log(ticket: Ticket, attempt: int, outcome: Recorded, worker: str, why: str) -> None:
    level = logging.INFO if outcome in _WELL else logging.WARNING
    with about(job=ticket.job, step=ticket.kind.value, attempt=attempt):
        logger.log(level, "result of %s: %s%s", worker, outcome.value, f" ({why})" if why else "")


_WELL = frozenset({Recorded.FINAL, Recorded.GOES_ON, Recorded.REPEATED})
