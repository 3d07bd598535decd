"""Write results from workers, several in one transaction. Several recorders may run at once.

Only the attempt under way counts. A result that comes twice, late, or from a worker given up as lost changes nothing.
Its worker learns that it need not send the result again.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.database.engine import Sessions
from server.grading.attempts import TOKEN, completed, given_back, kept, locked_current
from server.grading.contradictions import Contradiction, note_contradictions
from server.grading.models import WORK_BYTES, Attempt, AttemptOutcome, Job, Result, Step
from server.grading.queue_order import QueueOrder
from server.grading.refusals import note_refusal
from server.recording.origin import Distrust, Distrusted, check_origin, check_work
from server.recording.refusal import Refusal, check_result
from server.standings.service import update_leaderboards
from server.submissions.verdicts import failed, finish, give_up, lock_submissions, update_judged_jobs
from worker.contract.credential import Credential
from worker.contract.logging import about
from worker.contract.messages import (
    MessageError,
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

_JOBS = 2**63

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


@dataclass(frozen=True, slots=True)
class Letter:
    """A result, and what the recorder knows about it.

    origin: the credential that signed it; None for results of the server itself
    distrust: why it is refused, if its sender isn't known
    pause: how long a returned step waits before it is sent again
    refused_pause: how long the step of a refused result waits; None if the refusal uses an attempt
    """

    result: StepResult
    origin: Credential | None = None
    distrust: Distrust | None = None
    pause: timedelta = timedelta(0)
    refused_pause: timedelta | None = REFUSAL_PAUSE


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of a letter. attempt: 0 if it isn't under way; why: for the log; distrust: why it was refused."""

    outcome: Recorded
    attempt: int = 0
    why: str = ""
    distrust: Distrust | None = None


def record_all(
    sessions: Sessions, letters: Sequence[Letter], now: datetime | None = None
) -> tuple[Sequence[Entry | None], Sequence[Contradiction]]:
    """Write these results once, all or none. When this returns, the outcomes are committed.

    Of several, it writes only those whose step is free, and leaves the others to be written alone. So it never waits
    for a step while it holds another.

    A refused result changes only its own step. Only a worker that received the attempt knows its token, so a stranger
    can't end the work of others.

    return: an entry for each letter, None for one left out; different verdicts of two workers on the same source
    """
    with sessions.begin() as session, session.no_autoflush:
        page = _Page(session, now or datetime.now(UTC))
        entries = page.write(letters)
        contradictions = page.finish()
    for letter, entry in zip(letters, entries, strict=True):
        if entry is not None:
            _log(letter.result, entry)
    for contradiction in contradictions:
        logger.warning("%s", contradiction)
    return entries, contradictions


def record(sessions: Sessions, result: StepResult, now: datetime | None = None) -> Recorded:
    """Write a result of the server itself, as `record_all` does."""
    (entry,), _ = record_all(sessions, [Letter(result)], now)
    assert entry is not None
    return entry.outcome


def record_fault(sessions: Sessions, ticket: Ticket, why: str) -> Recorded:
    """End the attempt of a result that cannot be read or written: the same result would come again."""
    return record(sessions, StepResult(ticket, "", None, fault=why))


def read_result(body: object) -> StepResult | Unread:
    """Read the result in a message; for an unreadable result, its ticket and the reason.

    raise (MessageError): the message has no ticket, or one that the server didn't make
    """
    read: StepResult | Unread
    try:
        read = decode(StepResult, body)
    except UnreadableError as error:
        if error.ticket is None:
            raise
        read = Unread(error.ticket, str(error), isinstance(error, OtherVersionError))
    if not TOKEN.fullmatch(read.ticket.token) or not 0 < read.ticket.job < _JOBS:
        raise MessageError("its ticket isn't ours")
    return read


@dataclass(slots=True)
class _Page:
    """The results in one transaction. As many statements write them as one result needs, if all of them are alike."""

    session: Session
    now: datetime
    _over: list[tuple[Job, Result]] = field(default_factory=list)
    _orders: dict[tuple[str, int], QueueOrder] = field(default_factory=dict)

    def write(self, letters: Sequence[Letter]) -> Sequence[Entry | None]:
        tickets = [letter.result.ticket for letter in letters]
        if len(letters) == 1:
            return [self._entry(letters[0], locked_current(self.session, tickets).get(tickets[0]))]
        current = dict(locked_current(self.session, tickets, skip_locked=True))
        # A system error needs its submission at once, the others need theirs at the end. All take them in one order.
        lock_submissions(self.session, [step.job for step in current.values()])
        # The second of two copies finds no step.
        free = [(letter, current.pop(ticket, None)) for letter, ticket in zip(letters, tickets, strict=True)]
        return [None if step is None else self._entry(letter, step) for letter, step in free]

    def finish(self) -> Sequence[Contradiction]:
        """Write what follows from the jobs that are over."""
        jobs = [job for job, _ in self._over]
        submissions = update_judged_jobs(self.session, jobs)
        self.session.flush()
        finished = [(job, result, submissions.get(job.submission_id or 0)) for job, result in self._over]
        update_leaderboards(self.session, finished)
        return note_contradictions(self.session, jobs, self.now)

    def _entry(self, letter: Letter, step: Step | None) -> Entry:
        if step is None:
            outcome = Recorded.REFUSED if letter.distrust else self._outcome_before(letter.result.ticket)
            return Entry(outcome, why=letter.distrust or kept(letter.result.fault), distrust=letter.distrust)
        attempt, distrust = step.attempt, None
        try:
            _check_trust(step, letter)
            outcome = self._record(step, letter)
        except Distrusted as found:
            distrust = found.why
            outcome = self._refused(step, letter, distrust)
        failed_now = outcome in {Recorded.AGAIN, Recorded.GIVEN_UP} and not letter.result.given_back
        return Entry(
            outcome, attempt, step.fault or "" if failed_now else distrust or kept(letter.result.fault), distrust
        )

    def _record(self, step: Step, letter: Letter) -> Recorded:
        result = letter.result
        if result.given_back:
            given_back(self.session, step, self.now, letter.pause)
            return Recorded.AGAIN
        try:
            checked = check_result(step, result)
        except Refusal as refusal:
            return self._failed(step, str(refusal), result.worker)
        if isinstance(checked, PackedWork) and len(checked.packed) > WORK_BYTES:
            size = f"it has {len(checked.packed):,} bytes; the limit is {WORK_BYTES:,}"
            # The same source would give the same work in each attempt.
            give_up(self.session, step, f"the measure step's work is too large: {size}", self.now, result.worker)
            return Recorded.GIVEN_UP
        completed(self.session, step, result.worker, _seconds(result.seconds), self.now)
        if isinstance(checked, PackedWork):
            self._queue_measure(step.job, checked)
            return Recorded.GOES_ON
        self._over.append((step.job, finish(self.session, step.job, checked, self.now)))
        return Recorded.FINAL

    def _refused(self, step: Step, letter: Letter, why: Distrust) -> Recorded:
        """Queue the step again. Without a pause, that uses an attempt."""
        worker = letter.result.worker
        note_refusal(self.session, step.job_id, worker, why, self.now)
        if letter.refused_pause is not None:
            given_back(self.session, step, self.now, letter.refused_pause)
            return Recorded.REFUSED
        return self._failed(step, f"a result that can't be trusted ({why})", worker)

    def _failed(self, step: Step, fault: str, worker: str) -> Recorded:
        over = failed(self.session, step, AttemptOutcome.FAULT, fault, self.now, worker)
        return Recorded.GIVEN_UP if over else Recorded.AGAIN

    def _queue_measure(self, job: Job, work: PackedWork) -> None:
        queue = gpu_queue(job.device_class)
        order = self._orders.setdefault((queue, job.priority), QueueOrder(self.session, queue, job.priority))
        measure = Step(
            job_id=job.id,
            kind=StepKind.MEASURE,
            queue=queue,
            person_id=job.person_id,
            priority=job.priority,
            turn=order.next(job.person_id),
            # The server never reads the work: the worker that checks writes it for the worker that measures.
            work=work.packed.encode(),
            digests=" ".join(work.digests),
            work_digest=measure_digest(work.packed.encode()),
            queued_at=self.now,
        )
        self.session.add(measure)

    def _outcome_before(self, ticket: Ticket) -> Recorded:
        """The outcome of a result whose attempt is over: recorded before, or too late."""
        self.session.flush()
        # The step has lost its token by now, but the attempt keeps it.
        outcome = self.session.scalar(select(Attempt.outcome).where(Attempt.token == ticket.token))
        return Recorded.REPEATED if outcome in {AttemptOutcome.DONE, AttemptOutcome.FAULT} else Recorded.FENCED


def _check_trust(step: Step, letter: Letter) -> None:
    """Raises Distrusted."""
    if letter.distrust is not None:
        raise Distrusted(letter.distrust)
    if letter.origin is not None:
        check_origin(step, letter.result, letter.origin)
    check_work(step, letter.result)


def _seconds(said: float) -> float | None:
    return said if math.isfinite(said) and said >= 0 else None


def _log(result: StepResult, entry: Entry) -> None:
    level = logging.INFO if entry.outcome in _WELL else logging.WARNING
    why = f" ({entry.why})" if entry.why else ""
    with about(job=result.ticket.job, step=result.ticket.kind.value, attempt=entry.attempt):
        logger.log(level, "result of %s: %s%s", kept(result.worker), entry.outcome.value, why)


_WELL = frozenset({Recorded.FINAL, Recorded.GOES_ON, Recorded.REPEATED})
