"""Keeps starts on a GPU away from what is timed there: both in processes of their own, of one worker.

A process that makes its context lets the GPU change back and forth between two contexts: a launch of some milliseconds
that runs meanwhile takes up to a quarter longer, and no number of repeats helps where starts never cease. A short
launch is mostly missed by it.

Two byte locks on one open file, which end with the process that has them: whoever wants to be alone closes the door
first, so that no further start begins, and then waits for those under way.
"""

from __future__ import annotations

import contextlib
import fcntl
import tempfile
from collections.abc import Iterator
from typing import IO

_DOOR, _ROOM = 0, 1


class Quiet:
    """One process's view of it. descriptor: of the file, inherited; None where nothing else starts on the GPU."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._file = descriptor

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """For what is timed: no start is under way."""
        with self._held(fcntl.LOCK_EX, _DOOR), self._held(fcntl.LOCK_EX, _ROOM):
            yield

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """For a part of a start: others may be under way, but nothing is timed."""
        with contextlib.ExitStack() as room:
            with self._held(fcntl.LOCK_EX, _DOOR):
                room.enter_context(self._held(fcntl.LOCK_SH, _ROOM))
            yield

    @contextlib.contextmanager
    def _held(self, kind: int, byte: int) -> Iterator[None]:
        if self._file is None:
            yield
            return
        fcntl.lockf(self._file, kind, 1, byte)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, byte)


NOBODY_ELSE = Quiet()
"""Where nothing else starts on the GPU."""


def quiet_file() -> IO[bytes]:
    """The file that all processes of one worker on one GPU inherit. It has no name, and ends with the last of them."""
    return tempfile.TemporaryFile(prefix="tilelab-")
