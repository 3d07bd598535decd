"""The folder that holds what one machine keeps: its database, who may sign in to the demo, its log."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_LOCK = "lock"
_DATABASE = "tilelab.sqlite3"
_DEMO = "demo.json"
_LOG = "tilelab.log"

# The kernel takes 108 bytes for the path of a socket, its end included.
_LONGEST_SOCKET_PATH = 100
_SOCKET = "redis.sock"
_SHORT = "/tmp"  # noqa: S108 - the folder made there has a name of its own, and is for its owner alone
_PLAIN = re.compile(r"[\w./-]+", re.ASCII)


class DataFolderError(RuntimeError):
    """The folder cannot be used; the text says why and what to do."""


def default_folder() -> Path:
    """Where a user's programs keep what they cannot make again."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "tilelab"


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The folder, held by this process until it ends."""

    path: Path
    lock: IO[str]

    @property
    def database_url(self) -> str:
        return f"sqlite:///{self.path / _DATABASE}"

    @property
    def demo(self) -> Path:
        return self.path / _DEMO

    @property
    def log(self) -> Path:
        return self.path / _LOG

    @contextmanager
    def socket(self) -> Iterator[Path]:
        """A place for the broker's socket, in a folder that nobody else may enter.

        It is in a folder elsewhere, gone afterwards, where this one's path is longer than the kernel takes, or has
        characters that mean something in an address.
        """
        folder = self.path / "run"
        if len(os.fsencode(folder / _SOCKET)) > _LONGEST_SOCKET_PATH or not _PLAIN.fullmatch(str(folder)):
            with tempfile.TemporaryDirectory(prefix="tilelab-", dir=_SHORT) as made:
                yield Path(made) / _SOCKET
            return
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
        yield folder / _SOCKET


def take(path: Path) -> DataFolder:
    """Make the folder where it is missing, and hold it; raises DataFolderError where another process does."""
    path = path.expanduser().absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (path / _LOCK).open("a+", encoding="utf-8")
    except OSError as error:
        raise DataFolderError(
            f"{path}: can't write to this folder ({error.strerror}). Choose another with --data."
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read(20).strip()
        lock.close()
        by = f" (process {holder})" if holder.isdigit() else ""
        raise DataFolderError(
            f"{path}: another `tilelab up`{by} uses this folder. End it, or choose another folder with --data."
        ) from None
    lock.seek(0)
    lock.truncate()
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return DataFolder(path, lock)
