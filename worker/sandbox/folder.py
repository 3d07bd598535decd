"""The empty folder that a sandboxed process runs in, and the removal of those whose owners were killed.

An owner holds a lock on its folder. The system lets go of it however the owner ends, so a folder whose lock is free is
nobody's any more.
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
    """A new folder below the temporary one, this process's until `close`; raises OSError where it cannot be made."""

    def __init__(self) -> None:
        while True:
            self.path = tempfile.mkdtemp(prefix=_PREFIX)
            with contextlib.suppress(FileNotFoundError):
                self._lock = _opened(self.path)
                # whoever sweeps can come in between; without locks on this file system nobody sweeps
                with contextlib.suppress(OSError):
                    fcntl.flock(self._lock, fcntl.LOCK_EX)
                if Path(self.path).exists():
                    return
                os.close(self._lock)

    def close(self) -> None:
        """Remove it with all that is in it. Safe to call twice."""
        if self._lock >= 0:
            with contextlib.suppress(RecursionError):  # of folders within folders without end
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
            logger.info("removed %d folders that killed processes had left behind", swept)


def _swept(name: str, place: int) -> bool:
    """Remove a folder if nobody owns it; whether it is gone."""
    with contextlib.suppress(OSError, RecursionError), _free(name, place):
        shutil.rmtree(name, dir_fd=place)
        return True
    return False


@contextlib.contextmanager
def _free(name: str, place: int) -> Iterator[None]:
    """Hold the lock of a folder of this user; raises OSError for what is none, or is held."""
    folder = _opened(name, place)
    try:
        if os.fstat(folder).st_uid != os.geteuid():
            raise PermissionError(name)
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(folder)


def _opened(path: str, place: int | None = None) -> int:
    """A descriptor of a folder itself, never of what a link leads to."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
