"""Working folders for sandboxed processes, and the removal of folders whose owners were killed.

An owner holds a lock on its folder. The system releases the lock however the owner ends, so an unlocked folder has no
owner.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "tilelab-sandbox-"

logger = logging.getLogger(__name__)


class OwnFolder:
    """A new temporary folder, locked by this process until `close`. Raises OSError if it can't be created."""

    def __init__(self) -> None:
        while True:
            self.path = tempfile.mkdtemp(prefix=_PREFIX)
            with contextlib.suppress(FileNotFoundError):
                self._lock = _opened(self.path)
                # a sweep may run in between; on a file system without locks there are no sweeps
                with contextlib.suppress(OSError):
                    fcntl.flock(self._lock, fcntl.LOCK_EX)
                if Path(self.path).exists():
                    return
                os.close(self._lock)

    def close(self) -> None:
        """Remove the folder with its content. Safe to call twice."""
        if self._lock >= 0:
            with contextlib.suppress(RecursionError):  # for endlessly nested folders
                shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def sweep() -> None:
    """Remove this user's folders whose owners were killed. Never raises."""
    with contextlib.suppress(OSError):
        place = _opened(tempfile.gettempdir())
        try:
            with os.scandir(place) as found:
                names = [entry.name for entry in found if entry.name.startswith(_PREFIX)]
            swept = sum(_swept(name, place) for name in names)
        finally:
            os.close(place)
        if swept:
            logger.info("removed %d folders of killed processes", swept)


def _swept(name: str, place: int) -> bool:
    """Remove a folder without an owner. Returns whether it was removed."""
    with contextlib.suppress(OSError, RecursionError), _free(name, place):
        shutil.rmtree(name, dir_fd=place)
        return True
    return False


@contextlib.contextmanager
def _free(name: str, place: int) -> Iterator[None]:
    """Lock a folder of this user. Raises OSError if it isn't one, or if it is locked."""
    folder = _opened(name, place)
    try:
        if os.fstat(folder).st_uid != os.geteuid():
            raise PermissionError(name)
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(folder)


def _opened(path: str, place: int | None = None) -> int:
    """Open a folder without following links."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
