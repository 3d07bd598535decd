"""The recorder: takes results from the broker and writes them. Any number may run at once.

A result is acknowledged when it is in the database. While that is away its task waits; a recorder that is told to stop
meanwhile gives the message back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from celery import Celery
from celery.exceptions import Reject
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from server.database.engine import DatabaseUnavailable, Sessions, sessions
from server.database.faults import explained
from server.grading.record import Recorded, read_result, record, record_unreadable
from server.grading.running import Outage
from worker.broker import RECORD_TASK
from worker.claims import Claims
from worker.heartbeat import Heartbeat
from worker.messages import MessageError, StepResult, Ticket

SETTLE_TRIES = 3
_BETWEEN_SECONDS = 0.25

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

    def __post_init__(self) -> None:
        self._sessions = sessions(self.engine)

    def register(self, app: Celery) -> None:
        """Be the task of this application."""

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
        ticket = read.ticket if isinstance(read, StepResult) else read[0]
        if not self._written(read):
            return False
        self._settle(ticket)
        return True

    def _written(self, read: StepResult | tuple[Ticket, str]) -> bool:
        """Write it, however long the database is away; False where this process has to stop before."""
        while True:
            try:
                with explained(self.engine):
                    self._write(read)
            except DatabaseUnavailable as error:
                wait = self._database.failed(error)
            else:
                self._database.over()
                return True
            self.heartbeat.beat()
            if self.stop.wait(wait):
                return False

    def _write(self, read: StepResult | tuple[Ticket, str]) -> None:
        if not isinstance(read, StepResult):
            record_unreadable(self._sessions, *read)
            return
        try:
            outcome = record(self._sessions, read)
        except PoolTimeout:
            raise
        except Exception as error:
            if isinstance(error, DBAPIError) and _away(error):
                raise
            # whatever it is, it would come again with every copy of the message
            self._refuse(read, error)
        else:
            if outcome is Recorded.FENCED:
                self.late()

    def _refuse(self, result: StepResult, error: Exception) -> None:
        """What cannot be written now cannot be later: its attempt is over."""
        logger.error("a result cannot be recorded", exc_info=error)
        record_unreadable(self._sessions, result.ticket, type(error).__name__)

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


def _away(error: DBAPIError) -> bool:
    """Whether it is the database that failed, not what was to be written."""
    return isinstance(error, OperationalError) or error.connection_invalidated
