"""The recorder: takes results from the broker and writes them. Any number may run at once.

A result is acknowledged when it is in the database. While that is away its task waits; a recorder that is told to stop
meanwhile gives the message back. What cannot be written ever ends its attempt.
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
from server.recording.record import Recorded, Unread, give_back, read_result, record, record_fault
from worker.contract.broker import RECORD_TASK
from worker.contract.claims import Claims
from worker.contract.messages import MessageError, StepKind, StepResult, Ticket
from worker.supervision.heartbeat import Heartbeat

SETTLE_TRIES = 3
_BETWEEN_SECONDS = 0.25

TRIES = 8
"""At what fails in the database and is not known to pass, with ten seconds of waits between them. Then the attempt is
over; and after as many more, if not even that can be written, the message is dropped."""

RETURNS = 40
RETURN_PAUSE = timedelta(seconds=30)
"""How often a step is given back, and for how long, because its result came from another version: twenty minutes are
enough to end an upgrade. After that it costs attempts."""

_MOST_KNOWN = 10_000

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Recorder:
    """What the task does with a message. late: called for a result that no longer counts."""

    engine: Engine
    claims: Claims
    heartbeat: Heartbeat
    stop: threading.Event = field(default_factory=threading.Event)
    late: Callable[[], None] = lambda: None
    _sessions: Sessions = field(init=False)
    _database: Outage = field(default_factory=lambda: Outage("the database"))
    _returned: Counter[tuple[int, StepKind]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._sessions = sessions(self.engine)

    def register(self, app: Celery) -> None:
        def take(body: object) -> None:
            if not self.run(body):
                raise Reject("this recorder stops", requeue=True)

        app.task(name=RECORD_TASK)(take)

    def run(self, body: object) -> bool:
        """Write a result, and never mind what is in a message; False where it has to stop before it could."""
        try:
            read = read_result(body)
        except MessageError as error:
            logger.error("a result cannot be read, and is dropped: %s", error)  # noqa: TRY400 - no trace is needed
            return True
        if not self._written(read):
            return False
        self._settle(read.ticket)
        return True

    def _written(self, read: StepResult | Unread) -> bool:
        """Write it, however long the database is away; False where this process has to stop before."""
        tries = 0
        while True:
            try:
                with explained(self.engine):
                    self._write(read, last=tries >= TRIES)
            except (DatabaseUnavailable, DBAPIError) as error:
                tries += hope_of(error) is not Outlook.PASSES
                if tries >= 2 * TRIES:
                    logger.exception("a result can be written in no way, and is dropped")
                    return True
                wait = self._database.failed(error)
            else:
                self._database.over()
                return True
            self.heartbeat.beat()
            if self.stop.wait(wait):
                return False

    def _write(self, read: StepResult | Unread, *, last: bool) -> None:
        """last: what fails now, and may fail for ever, ends the attempt."""
        try:
            outcome = self._record(read)
        except PoolTimeout:
            raise
        except Exception as error:
            if isinstance(error, DBAPIError):
                hope = outlook(error)
                if hope is Outlook.PASSES or (hope is Outlook.UNKNOWN and not last):
                    raise
            # whatever it is, it would come again with every copy of the message
            logger.exception("the result of job %d cannot be recorded: its attempt is over", read.ticket.job)
            record_fault(self._sessions, read.ticket, f"its result cannot be recorded: {named(error)}")
        else:
            if outcome is Recorded.FENCED:
                self.late()

    def _record(self, read: StepResult | Unread) -> Recorded:
        if isinstance(read, StepResult):
            return record(self._sessions, read)
        if read.other_version and self._returned[_step(read)] < RETURNS:
            outcome = give_back(self._sessions, read, RETURN_PAUSE)
            if outcome is Recorded.AGAIN:
                self._count(read)
            return outcome
        return record_fault(self._sessions, read.ticket, f"its result cannot be read: {read.why}")

    def _count(self, read: Unread) -> None:
        if len(self._returned) >= _MOST_KNOWN:
            self._returned.clear()
        self._returned[_step(read)] += 1

    def _settle(self, ticket: Ticket) -> None:
        """Tell the worker. One that does not hear it sends its result again, and then hears it."""
        for last in (*[False] * (SETTLE_TRIES - 1), True):
            try:
                self.claims.settle(ticket)
            except ConnectionError as error:
                if last:
                    logger.warning("a worker could not be told that its result is recorded: %s", error)
                else:
                    time.sleep(_BETWEEN_SECONDS)
            else:
                return


def _step(read: Unread) -> tuple[int, StepKind]:
    return read.ticket.job, read.ticket.kind
