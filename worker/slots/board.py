"""Keeps a worker's record on the board, and brings back what an operator wants."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from worker.contract.fleet import Fleet, Wanted, WorkerRecord, WorkerState

BEAT_SECONDS = 2.0
_SOON_SECONDS = 0.1


class Board:
    """A thread that tells the record every two seconds, and soon after it changed.

    Without Redis it keeps trying, and says so once.
    """

    def __init__(
        self,
        fleet: Fleet,
        record: Callable[[], WorkerRecord],
        wanted: Callable[[WorkerState, Wanted], None],
        say: Callable[[str, str], None],
    ) -> None:
        """Called from the thread: `record` gives what to tell; `wanted` takes the answer, and which state it answers;
        `say` takes a line for the operator and its level.
        """
        self._fleet = fleet
        self._record = record
        self._wanted = wanted
        self._say = say
        self._told: WorkerState | None = None
        self._away = False
        self._changed, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="board", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def changed(self) -> None:
        self._changed.set()

    def close(self) -> None:
        """Take the worker off the board."""
        self._over.set()
        self._changed.set()
        self._thread.join()
        with contextlib.suppress(ConnectionError):
            self._fleet.leave(self._record().id)

    def _run(self) -> None:
        while not self._over.is_set():
            self._changed.clear()
            self._tell()
            self._changed.wait(BEAT_SECONDS)
            self._over.wait(_SOON_SECONDS)  # what changes together is told together

    def _tell(self) -> None:
        record = self._record()
        try:
            # a worker that takes itself out stays so until an operator says otherwise from then on
            if record.state is WorkerState.OUT and self._told is not WorkerState.OUT:
                self._fleet.want(record.id, Wanted.DRAIN)
            wanted = self._fleet.tell(record)
        except ConnectionError as error:
            if not self._away:
                self._say(f"{error} This worker keeps trying.", "warning")
            self._away = True
            return
        if self._away:
            self._say("Redis answers again", "info")
        self._away, self._told = False, record.state
        self._wanted(record.state, wanted)
