"""The recorder: takes results from the broker and writes them. Several may run at once.

A result is acknowledged once the database has it. While the database is unavailable, the task waits. A recorder that
stops meanwhile returns the message to the broker. A result that can never be written ends its attempt.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from celery import Celery
from celery.exceptions import Reject
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from server.database.engine import DatabaseUnavailable, Sessions, sessions
from server.database.faults import Outlook, explained, outlook
from server.dispatching.process_loop import Outage, hope_of, named
from server.grading.contradictions import Contradiction
from server.recording.origin import Distrust, Distrusted, WorkerKeys
from server.recording.record import (
    REFUSAL_PAUSE,
    Recorded,
    Unread,
    give_back,
    read_result,
    record,
    record_fault,
    refuse,
)
from worker.contract.broker import RECORD_TASK
from worker.contract.claims import Claims
from worker.contract.credential import Sealed, unseal
from worker.contract.messages import MessageError, StepKind, StepResult, Ticket
from worker.supervision.heartbeat import Heartbeat

SETTLE_TRIES = 3
_BETWEEN_SECONDS = 0.25

TRIES = 8
"""Tries after an unknown fault of the database, with up to ten seconds of waits between them. Then the attempt ends.
If even that can't be written in as many tries again, the message is dropped."""

RETURNS = 40
RETURN_PAUSE = timedelta(seconds=30)
"""How often a step is queued again after a result of another version, and its wait each time. A refused result counts;
after the first one, the wait is shorter.

Together these are 20 minutes, enough to finish an upgrade. After that, each try uses one of the step's attempts."""

_MOST_KNOWN = 10_000

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Recorder:
    """The task that takes results.

    late: called for each result that no longer counts
    contradicted: called for two workers' verdicts that differ
    distrusted: called for each result that can't be trusted
    """

    engine: Engine
    claims: Claims
    heartbeat: Heartbeat
    stop: threading.Event = field(default_factory=threading.Event)
    late: Callable[[], None] = lambda: None
    contradicted: Callable[[Contradiction], None] = lambda _: None
    distrusted: Callable[[Distrust], None] = lambda _: None
    _keys: WorkerKeys = field(init=False)
    _sessions: Sessions = field(init=False)
    _database: Outage = field(default_factory=lambda: Outage("the database"))
    _returned: Counter[tuple[int, StepKind]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._sessions = sessions(self.engine)
        self._keys = WorkerKeys(self._sessions)

    def register(self, app: Celery) -> None:
        def take(body: object) -> None:
            if not self.run(body):
                raise Reject("this recorder stops", requeue=True)

        app.task(name=RECORD_TASK)(take)

    def run(self, body: object) -> bool:
        """Write the result in a message, whatever it holds. Returns False if the recorder stops first."""
        sealed = unseal(body)
        try:
            read = read_result(sealed.body)
        except MessageError as error:
            logger.error("dropped an unreadable result: %s", error)  # noqa: TRY400 - no trace is needed
            return True
        if not self._written(read, sealed):
            return False
        self._settle(read.ticket)
        return True

    def _written(self, read: StepResult | Unread, sealed: Sealed) -> bool:
        """Write it, however long the database is unavailable. Returns False if the recorder stops first."""
        tries = 0
        while True:
            try:
                with explained(self.engine):
                    self._write(read, sealed, last=tries >= TRIES)
            except (DatabaseUnavailable, DBAPIError) as error:
                # An outage may last for hours. Only faults that may never pass are counted.
                tries += hope_of(error) is not Outlook.PASSES
                if tries >= 2 * TRIES:
                    logger.exception("dropped a result: the database refuses it, and the end of its attempt too")
                    return True
                wait = self._database.failed(error)
            else:
                self._database.over()
                return True
            self.heartbeat.beat()
            if self.stop.wait(wait):
                return False

    def _write(self, read: StepResult | Unread, sealed: Sealed, *, last: bool) -> None:
        """last: whether an unknown fault ends the attempt instead of being tried again."""
        try:
            outcome = self._record(read, sealed)
        # `explained` turns this into an unavailable database, so the result is tried again.
        except PoolTimeout:
            raise
        except Exception as error:
            if isinstance(error, DBAPIError):
                hope = outlook(error)
                if hope is Outlook.PASSES or (hope is Outlook.UNKNOWN and not last):
                    raise
            # The same error would come with every copy of the message.
            logger.exception("the result of job %d cannot be recorded, so its attempt ends", read.ticket.job)
            record_fault(self._sessions, read.ticket, f"its result cannot be recorded: {named(error)}")
        else:
            if outcome is Recorded.FENCED:
                self.late()

    def _record(self, read: StepResult | Unread, sealed: Sealed) -> Recorded:
        returns = self._returned[_step(read)]
        refused_pause = None if returns >= RETURNS else RETURN_PAUSE if returns else REFUSAL_PAUSE
        # During an upgrade, both versions run. That must not end jobs with a system error.
        if isinstance(read, Unread) and read.other_version:
            if returns < RETURNS:
                return self._counted(read, give_back(self._sessions, read, RETURN_PAUSE))
            return self._unreadable(read)
        try:
            origin = self._keys.origin(sealed)
        except Distrusted as found:
            outcome = refuse(self._sessions, read.ticket, sealed.name, found.why, pause=refused_pause)
            self.distrusted(found.why)
            return self._counted(read, outcome)
        if isinstance(read, Unread):
            return self._unreadable(read)
        outcome = record(
            self._sessions, read, contradicted=self.contradicted, origin=origin, distrusted=self.distrusted,
            refused_pause=refused_pause,
        )  # fmt: skip
        return self._counted(read, outcome)

    def _unreadable(self, read: Unread) -> Recorded:
        return record_fault(self._sessions, read.ticket, f"its result cannot be read: {read.why}")

    def _counted(self, read: StepResult | Unread, outcome: Recorded) -> Recorded:
        if outcome is Recorded.REFUSED or (outcome is Recorded.AGAIN and isinstance(read, Unread)):
            if len(self._returned) >= _MOST_KNOWN:
                # This bounds the memory. A forgotten step only gets some more returns.
                self._returned.clear()
            self._returned[_step(read)] += 1
        return outcome

    def _settle(self, ticket: Ticket) -> None:
        """Tell the worker that its result is recorded. A worker that misses this sends its result again."""
        for last in (*[False] * (SETTLE_TRIES - 1), True):
            try:
                self.claims.settle(ticket)
            except ConnectionError as error:
                if last:
                    logger.warning("could not tell a worker that its result is recorded: %s", error)
                else:
                    time.sleep(_BETWEEN_SECONDS)
            else:
                return


def _step(read: StepResult | Unread) -> tuple[int, StepKind]:
    return read.ticket.job, read.ticket.kind
