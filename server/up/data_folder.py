"""The data folder of one machine, with its database, the demo's accounts, and its log."""

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

# The kernel's limit for the path of a socket is 108 bytes.
_LONGEST_SOCKET_PATH = 100
_SOCKET = "redis.sock"
_SHORT = "/tmp"  # noqa: S108 - the folder made there has a unique name, and only its owner can use it
_PLAIN = re.compile(r"[\w./-]+", re.ASCII)


class DataFolderError(RuntimeError):
    """The folder can't be used. The text says why and what to do."""


def default_folder() -> Path:
    """The user's folder for data that can't be rebuilt."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "tilelab"


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The data folder, locked by this process until it ends."""

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
        """A path for the broker's socket, in a folder that only this user can enter.

        If the data folder's path is too long or has special characters, the socket is in a temporary folder.
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
    """Create the folder if it is missing, and lock it. Raises DataFolderError if another process uses it."""
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
