"""The recorder: takes results from the broker and writes them. Several may run at once.

It writes what waits in one transaction. If that fails, it writes each result alone. A claim is settled once the
database has the result, and until then its worker keeps the result. While the database is unavailable, results wait. A
recorder that stops meanwhile returns them to the broker. A result that can never be written ends its attempt.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from server.database.engine import DatabaseUnavailable, Sessions, sessions
from server.database.faults import Outlook, explained, outlook
from server.dispatching.process_loop import Outage, hope_of, named
from server.grading.contradictions import Contradiction
from server.recording.origin import Distrust, Distrusted, WorkerKeys
from server.recording.record import REFUSAL_PAUSE, Letter, Recorded, Unread, read_result, record_all, record_fault
from worker.contract.broker import Inbox, body_in
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

MOST = 32
READ_SECONDS = 0.05
"""A transaction takes at most MOST results. It takes no more once reading them has lasted this long. So large results,
which may be hostile, are written nearly alone."""

_WAIT_SECONDS = 1.0
_MOST_KNOWN = 10_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Received:
    """A result from the broker. message: as it was there."""

    message: str
    sealed: Sealed
    read: StepResult | Unread

    @property
    def ticket(self) -> Ticket:
        return self.read.ticket

    @property
    def step(self) -> tuple[int, StepKind]:
        return self.ticket.job, self.ticket.kind


@dataclass(slots=True)
class Recorder:
    """Takes results and writes them.

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
    _broker: Outage = field(default_factory=lambda: Outage("the broker"))
    _returned: Counter[tuple[int, StepKind]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._sessions = sessions(self.engine)
        self._keys = WorkerKeys(self._sessions)

    def run(self, inbox: Inbox) -> None:
        """Write all results that come, until `stop` is set."""
        while not self.stop.is_set():
            self.heartbeat.beat()
            try:
                unwritten = self.write(read(inbox.waiting(_WAIT_SECONDS)))
                inbox.put_back([each.message for each in unwritten])
            except ConnectionError as error:
                self.stop.wait(self._broker.failed(error))
            else:
                self._broker.over()

    def write(self, results: Sequence[Received]) -> Sequence[Received]:
        """Write these results, whatever they hold. Returns the unwritten ones if the recorder stops first."""
        alone = results
        if len(results) > 1:
            try:
                alone = self._record(results)
            except Exception as error:  # noqa: BLE001 - alone, the result at fault shows it again
                logger.warning("writing %d results one by one: %s", len(results), named(error))
            else:
                self._settle([each for each in results if each not in alone])
        for number, each in enumerate(alone):
            self.heartbeat.beat()
            if not self._written(each):
                return alone[number:]
            self._settle([each])
        return []

    def _written(self, result: Received) -> bool:
        """Write it, however long the database is unavailable. Returns False if the recorder stops first."""
        tries = 0
        while True:
            try:
                with explained(self.engine):
                    self._write(result, last=tries >= TRIES)
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

    def _write(self, result: Received, *, last: bool) -> None:
        """last: whether an unknown fault ends the attempt instead of being tried again."""
        try:
            self._record([result])
        # `explained` turns this into an unavailable database, so the result is tried again.
        except PoolTimeout:
            raise
        except Exception as error:
            if isinstance(error, DBAPIError):
                hope = outlook(error)
                if hope is Outlook.PASSES or (hope is Outlook.UNKNOWN and not last):
                    raise
            # The same error would come with every copy of the message.
            logger.exception("the result of job %d cannot be recorded, so its attempt ends", result.ticket.job)
            self._end_attempt(result.ticket, f"its result cannot be recorded: {named(error)}")

    def _end_attempt(self, ticket: Ticket, why: str) -> None:
        try:
            record_fault(self._sessions, ticket, why)
        except (DatabaseUnavailable, DBAPIError, PoolTimeout):
            raise
        except Exception:
            logger.exception("dropped a result of job %d: the end of its attempt can't be recorded either", ticket.job)

    def _record(self, results: Sequence[Received]) -> Sequence[Received]:
        """Write all of them, or none. Returns those that must be written alone."""
        entries, contradictions = record_all(self._sessions, [self._letter(each) for each in results])
        for contradiction in contradictions:
            self.contradicted(contradiction)
        for result, entry in zip(results, entries, strict=True):
            if entry is None:
                continue
            if entry.distrust is not None:
                self.distrusted(entry.distrust)
            elif entry.outcome is Recorded.FENCED:
                self.late()
            other_version = isinstance(result.read, Unread) and result.read.other_version
            if entry.outcome is Recorded.REFUSED or (entry.outcome is Recorded.AGAIN and other_version):
                if len(self._returned) >= _MOST_KNOWN:
                    # This bounds the memory. A forgotten step only gets some more returns.
                    self._returned.clear()
                self._returned[result.step] += 1
        return [result for result, entry in zip(results, entries, strict=True) if entry is None]

    def _letter(self, result: Received) -> Letter:
        read, returns = result.read, self._returned[result.step]
        refused_pause = None if returns >= RETURNS else RETURN_PAUSE if returns else REFUSAL_PAUSE
        # During an upgrade, both versions run. That must not end jobs with a system error.
        if isinstance(read, Unread) and read.other_version and returns < RETURNS:
            back = StepResult(read.ticket, "", None, fault=f"given back: {read.why}", given_back=True)
            return Letter(back, pause=RETURN_PAUSE)
        origin = None
        if not (isinstance(read, Unread) and read.other_version):
            try:
                origin = self._keys.origin(result.sealed)
            except Distrusted as found:
                nothing = StepResult(read.ticket, result.sealed.name, None)
                return Letter(nothing, distrust=found.why, refused_pause=refused_pause)
        if isinstance(read, Unread):
            return Letter(StepResult(read.ticket, "", None, fault=f"its result cannot be read: {read.why}"))
        return Letter(read, origin, refused_pause=refused_pause)

    def _settle(self, results: Sequence[Received]) -> None:
        """Tell the workers that their results are recorded. A worker that misses this sends its result again."""
        for last in (*[False] * (SETTLE_TRIES - 1), True):
            try:
                self.claims.settle(*(each.ticket for each in results))
            except ConnectionError as error:
                if last:
                    logger.warning("could not tell a worker that its result is recorded: %s", error)
                else:
                    time.sleep(_BETWEEN_SECONDS)
            else:
                return


def read(messages: Iterable[str]) -> Sequence[Received]:
    """Read the first of these messages. Drops unreadable ones."""
    results: list[Received] = []
    began = 0.0
    for message in messages:
        began = began or time.monotonic()
        try:
            sealed = unseal(body_in(message))
            results.append(Received(message, sealed, read_result(sealed.body)))
        except MessageError as error:
            logger.error("dropped an unreadable result: %s", error)  # noqa: TRY400 - no trace is needed
        except Exception:
            logger.exception("dropped an unreadable result")
        if len(results) == MOST or time.monotonic() - began >= READ_SECONDS:
            break
    return results
