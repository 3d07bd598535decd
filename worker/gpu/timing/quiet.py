"""Keeps starts of processes on a GPU apart from measurements there. Both run in processes of one worker.

While a process creates its context, the GPU switches between two contexts. A launch of some milliseconds then takes up
to a quarter longer. If processes start all the time, no number of repeats helps. Short launches are rarely affected.

Two byte locks on one file end with the process that has them. A measurement first locks the door, so that no
further start begins, and then waits for running starts. If it locks the door early, there is no wait.
"""

from __future__ import annotations

import contextlib
import fcntl
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from worker.gpu.locks import shared_file

_DOOR, _ROOM = 0, 1
_PATIENCE_SECONDS, _PATIENCE_OF_STARTS, _NAP_SECONDS = 3.0, 15.0, 0.001


class Quiet:
    """The locks for one process. descriptor: of the inherited file; None if nothing else starts on the GPU."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._file = descriptor

    @contextlib.contextmanager
    def soon(self) -> Iterator[None]:
        """Call before `alone`: no start begins, and running starts may end."""
        with self._held(_DOOR, fcntl.LOCK_EX, _PATIENCE_SECONDS):
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """For a measurement: waits until no start is running, but not for starts that take too long."""
        with self.soon(), self._held(_ROOM, fcntl.LOCK_EX, _PATIENCE_SECONDS):
            yield

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """For a part of a start: other starts may be running, but no measurement, unless it takes too long."""
        with contextlib.ExitStack() as room:
            with self._held(_DOOR, fcntl.LOCK_EX, _PATIENCE_OF_STARTS):
                room.enter_context(self._held(_ROOM, fcntl.LOCK_SH, _PATIENCE_OF_STARTS))
            yield

    @contextlib.contextmanager
    def _held(self, byte: int, kind: int, seconds: float) -> Iterator[None]:
        """Lock a byte, or continue without the lock if others don't release it in time."""
        end = time.monotonic() + seconds
        while not self._taken(byte, kind) and time.monotonic() < end:
            time.sleep(_NAP_SECONDS)
        try:
            yield
        finally:
            self._let_go(byte)

    def _taken(self, byte: int, kind: int) -> bool:
        if self._file is None:
            return True
        try:
            fcntl.lockf(self._file, kind | fcntl.LOCK_NB, 1, byte)
        except BlockingIOError:
            return False
        return True

    def _let_go(self, byte: int) -> None:
        """Release a byte. Does nothing if this process has no lock on it."""
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, byte)


NOBODY_ELSE = Quiet()
"""For a GPU on which nothing else starts."""


def quiet_file(folder: Path | None = None) -> IO[bytes]:
    """The file that all processes of one worker on one GPU inherit.

    folder: that the GPU's slots share; None for the only slot, whose file ends with its last process
    """
    return tempfile.TemporaryFile(prefix="tilelab-") if folder is None else shared_file(folder, "quiet")
