"""The loop of the dispatcher, and what it shares with the recorder: outages, signals and faults of the database."""

from __future__ import annotations

import logging
import signal
import threading
import time
from dataclasses import dataclass, field

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from server.database.engine import DatabaseUnavailable
from server.database.faults import Outlook, outlook
from server.database.schema import check
from server.dispatching.dispatcher import Dispatcher
from worker.supervision.heartbeat import Heartbeat

TICK_SECONDS = 0.1
BUSY_SECONDS = 0.02
"""The wait after a round that changed something: a slot may be free already for the next step."""
# Grading continues at most this long after a service is back.
LONGEST_WAIT = 5.0
_LONGEST_REASON = 300

logger = logging.getLogger(__name__)


class CannotGoOn(RuntimeError):
    """The database refuses a statement, and would refuse it again; the text is its reason in one line."""


def hope_of(error: DatabaseUnavailable | DBAPIError) -> Outlook:
    """Whether another try may succeed. DatabaseUnavailable is judged by its cause."""
    found = error if isinstance(error, DBAPIError) else error.__cause__
    return outlook(found) if isinstance(found, DBAPIError) else Outlook.PASSES


def named(error: Exception) -> str:
    """The error in one line, without the statement and its values."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return f"{type(cause).__name__}: {' '.join(str(cause).split())}"[:_LONGEST_REASON].rstrip(": ")


@dataclass(slots=True)
class Outage:
    """Outages of a service: one log line when it goes, one when it returns, and ever longer waits."""

    what: str
    _since: float | None = None
    _wait: float = 0.0

    def failed(self, error: Exception) -> float:
        """Note a failed try. Returns the seconds to wait before the next try."""
        if self._since is None:
            self._since = time.monotonic()
            self._wait = TICK_SECONDS
            logger.warning("%s is away, waiting for it: %s", self.what, error)
        else:
            self._wait = min(2 * self._wait, LONGEST_WAIT)
        return self._wait

    def over(self) -> None:
        if self._since is not None:
            logger.info("%s is back after %.1f s", self.what, time.monotonic() - self._since)
            self._since = None


def wait_for_database(engine: Engine, stop: threading.Event, heartbeat: Heartbeat) -> bool:
    """Wait for the database, with the tables of this version; False if `stop` was set first."""
    outage = Outage("the database")
    while not stop.is_set():
        # A process that waits for the database is alive. A restart wouldn't help.
        heartbeat.beat()
        try:
            check(engine)
        except DatabaseUnavailable as error:
            stop.wait(outage.failed(error))
        else:
            outage.over()
            return True
    return False


@dataclass(slots=True)
class Rounds:
    """Runs a dispatcher round after round."""

    dispatcher: Dispatcher
    heartbeat: Heartbeat
    stop: threading.Event = field(default_factory=threading.Event)
    _database: Outage = field(default_factory=lambda: Outage("the database"))
    _broker: Outage = field(default_factory=lambda: Outage("the broker"))

    def run(self) -> None:
        """Run until `stop` is set; raises CannotGoOn."""
        wait_for_database(self.dispatcher.engine, self.stop, self.heartbeat)
        while not self.stop.is_set():
            wait = self._round()
            self.heartbeat.beat()
            self.stop.wait(wait)

    def _round(self) -> float:
        try:
            moved = self.dispatcher.tick()
        except (DatabaseUnavailable, DBAPIError) as error:
            wrong = isinstance(error, DBAPIError)  # the statement failed, not the database
            if wrong or hope_of(error) is Outlook.LASTS:
                why = named(error) if wrong else str(error)
                raise CannotGoOn(f"The database refuses a statement of the dispatcher: {why}") from error
            return self._database.failed(error)
        except ConnectionError as error:
            return self._broker.failed(error)
        self._database.over()
        self._broker.over()
        return BUSY_SECONDS if moved else TICK_SECONDS


def on_signals(stop: threading.Event) -> None:
    """Set the event on SIGTERM and SIGINT; call this in the main thread."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
