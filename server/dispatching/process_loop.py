"""What the processes of grading share: to outlast what is away, to say so once, and to show that they live."""

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
"""After a round that moved something: a slot may have room already for what waits behind it."""
LONGEST_WAIT = 5.0
_LONGEST_REASON = 300

logger = logging.getLogger(__name__)


class CannotGoOn(RuntimeError):
    """The database refuses something, and would refuse it again; the text says in a line what it said."""


def hope_of(error: DatabaseUnavailable | DBAPIError) -> Outlook:
    """What another try would bring; DatabaseUnavailable tells by what it was made of."""
    found = error if isinstance(error, DBAPIError) else error.__cause__
    return outlook(found) if isinstance(found, DBAPIError) else Outlook.PASSES


def named(error: Exception) -> str:
    """What it is, in a line, without the statement and what was to be written."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return f"{type(cause).__name__}: {' '.join(str(cause).split())}"[:_LONGEST_REASON].rstrip(": ")


@dataclass(slots=True)
class Outage:
    """Something that is away now and then: one line when it goes, one when it is back, and longer and longer waits."""

    what: str
    _since: float | None = None
    _wait: float = 0.0

    def failed(self, error: Exception) -> float:
        """It is away; returns the seconds to wait before the next try."""
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
    """Wait until the database is there, with the tables of this version; False where `stop` came first."""
    outage = Outage("the database")
    while not stop.is_set():
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
    """A dispatcher, round after round."""

    dispatcher: Dispatcher
    heartbeat: Heartbeat
    stop: threading.Event = field(default_factory=threading.Event)
    _database: Outage = field(default_factory=lambda: Outage("the database"))
    _broker: Outage = field(default_factory=lambda: Outage("the broker"))

    def run(self) -> None:
        """Until `stop` is set; raises CannotGoOn."""
        wait_for_database(self.dispatcher.engine, self.stop, self.heartbeat)
        while not self.stop.is_set():
            wait = self._round()
            self.heartbeat.beat()
            self.stop.wait(wait)

    def _round(self) -> float:
        """One round; returns the seconds to wait after it."""
        try:
            moved = self.dispatcher.tick()
        except (DatabaseUnavailable, DBAPIError) as error:
            wrong = isinstance(error, DBAPIError)  # what was asked of it, and not the database
            if wrong or hope_of(error) is Outlook.LASTS:
                why = named(error) if wrong else str(error)
                raise CannotGoOn(f"The database refuses what the dispatcher needs of it: {why}") from error
            return self._database.failed(error)
        except ConnectionError as error:
            return self._broker.failed(error)
        self._database.over()
        self._broker.over()
        return BUSY_SECONDS if moved else TICK_SECONDS


def on_signals(stop: threading.Event) -> None:
    """Let SIGTERM and SIGINT set the event; call it in the main thread."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
