"""Keeps starts on a GPU away from what is timed there: both in processes of their own, of one worker.

A process that makes its context lets the GPU change back and forth between two contexts: a launch of some milliseconds
that runs meanwhile takes up to a quarter longer, and no number of repeats helps where starts never cease. A short
launch is mostly missed by it.

Two byte locks on one open file, which end with the process that has them: whoever wants to be alone closes the door
first, so that no further start begins, and then waits for those under way. Done some time before, that is no wait.
"""

from __future__ import annotations

import contextlib
import fcntl
import tempfile
import time
from collections.abc import Iterator
from typing import IO

_DOOR, _ROOM = 0, 1
_PATIENCE_SECONDS, _NAP_SECONDS = 3.0, 0.001


class Quiet:
    """One process's view of it. descriptor: of the file, inherited; None where nothing else starts on the GPU."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._file = descriptor

    @contextlib.contextmanager
    def soon(self) -> Iterator[None]:
        """Before `alone`: no start begins, those under way may end."""
        with self._held_at_last(_DOOR):
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """For what is timed: no start is under way. A start that takes too long is not waited for."""
        with self._held_at_last(_DOOR), self._held_at_last(_ROOM):
            yield

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """For a part of a start: others may be under way, but nothing is timed."""
        with contextlib.ExitStack() as room:
            with self._held(_DOOR, fcntl.LOCK_EX):
                room.enter_context(self._held(_ROOM, fcntl.LOCK_SH))
            yield

    @contextlib.contextmanager
    def _held(self, byte: int, kind: int) -> Iterator[None]:
        if self._file is not None:
            fcntl.lockf(self._file, kind, 1, byte)
        try:
            yield
        finally:
            self._let_go(byte)

    @contextlib.contextmanager
    def _held_at_last(self, byte: int) -> Iterator[None]:
        """Held by this process alone; or not at all, where others do not let go of it."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not self._taken(byte) and time.monotonic() < end:
            time.sleep(_NAP_SECONDS)
        try:
            yield
        finally:
            self._let_go(byte)

    def _taken(self, byte: int) -> bool:
        if self._file is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except BlockingIOError:
            return False
        return True

    def _let_go(self, byte: int) -> None:
        """Of a byte that this process does not hold, there is nothing to let go of."""
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, byte)


NOBODY_ELSE = Quiet()
"""Where nothing else starts on the GPU."""


def quiet_file() -> IO[bytes]:
    """The file that all processes of one worker on one GPU inherit. It has no name, and ends with the last of them."""
    return tempfile.TemporaryFile(prefix="tilelab-")
