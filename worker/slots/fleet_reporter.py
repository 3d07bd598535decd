"""Reports a worker's record to Redis, and receives operators' orders."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from worker.contract.fleet import Fleet, Wanted, WorkerRecord, WorkerState

BEAT_SECONDS = 2.0
_SOON_SECONDS = 0.1


class FleetReporter:
    """A thread that reports the record every two seconds, and soon after a change.

    Without Redis it keeps trying, and says so once.
    """

    def __init__(
        self,
        fleet: Fleet,
        record: Callable[[], WorkerRecord],
        wanted: Callable[[WorkerState, Wanted], None],
        say: Callable[[str, str], None],
    ) -> None:
        """The functions are called from the thread.

        record: returns the record to report
        wanted: gets an order, and the reported state that it answers
        say: prints a line with a level for the operator
        """
        self._fleet = fleet
        self._record = record
        self._wanted = wanted
        self._say = say
        self._told: WorkerState | None = None
        self._away = False
        self._changed, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="fleet reporter", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def changed(self) -> None:
        self._changed.set()

    def close(self) -> None:
        """Remove the worker's record."""
        self._over.set()
        self._changed.set()
        self._thread.join()
        with contextlib.suppress(ConnectionError):
            self._fleet.leave(self._record().id)

    def _run(self) -> None:
        while not self._over.is_set():
            # A change during the report asks for another report, so clear this first.
            self._changed.clear()
            self._tell()
            self._changed.wait(BEAT_SECONDS)
            self._over.wait(_SOON_SECONDS)  # report changes that come together only once

    def _tell(self) -> None:
        record = self._record()
        try:
            # a worker that took itself out needs a new order to resume, so earlier orders are overwritten
            if record.state is WorkerState.OUT and self._told is not WorkerState.OUT:
                self._fleet.want(record.id, Wanted.DRAIN)
            wanted = self._fleet.tell(record)
        except ConnectionError as error:
            if not self._away:
                self._say(f"{error} Trying again.", "warning")
            self._away = True
            return
        if self._away:
            self._say("Redis answers again", "info")
        self._away, self._told = False, record.state
        self._wanted(record.state, wanted)
