"""Locks that give each GPU to only one worker, and there to one slot at a time.

Two kernels on a GPU would disturb each other's times.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Self

from worker.gpu.nvml import GpuFacts

_NAP_SECONDS = 0.0005
_PATIENCE_SECONDS = 300.0
"""Far more than all time limits of a step on the GPU."""


class GpuInUse(RuntimeError):
    """Another worker uses this GPU, or the lock can't be read. The text is one line."""


def runtime_folder() -> Path:
    """A folder shared by all processes of a user on this machine, however a worker is started."""
    return Path(tempfile.gettempdir()) / f"tilelab-{os.getuid()}"


@contextlib.contextmanager
def locked(gpus: Sequence[GpuFacts], folder: Path | None = None) -> Iterator[None]:
    """Lock these GPUs until the block or the process ends. Raises GpuInUse."""
    with contextlib.ExitStack() as stack:
        for gpu in gpus:
            stack.enter_context(_lock(gpu, _own(folder or runtime_folder())))
        yield


def _own(folder: Path) -> Path:
    """The folder, created if missing. Raises GpuInUse if other users may write to it."""
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise GpuInUse(f"cannot create {folder} ({error.strerror}). Set TMPDIR to another folder.") from error
    # Another user could replace the lock files, or name a false holder.
    if found.st_uid != os.getuid() or found.st_mode & 0o022 or not folder.is_dir() or folder.is_symlink():
        raise GpuInUse(f"{folder} must be a folder that only this user can write to. Remove it.")
    return folder


def _lock(gpu: GpuFacts, folder: Path) -> IO[str]:
    path = folder / f"{gpu.uuid.replace('/', '-')}.lock"
    try:
        # Opening must not empty the file, because it names the process with the lock.
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise GpuInUse(f"cannot open {path} ({error.strerror}).") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read(20).strip()
        file.close()
        by = f" (process {holder})" if holder.isdigit() else ""
        raise GpuInUse(
            f"another worker{by} already uses GPU {gpu.index} ({gpu.name}, {gpu.uuid}). "
            "End that worker, or leave out this GPU with --gpus."
        ) from None
    file.seek(0)
    file.truncate()
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def slots_folder(gpu: GpuFacts) -> Path:
    """The folder of the files that the slots of a GPU share."""
    return runtime_folder() / f"{gpu.uuid.replace('/', '-')}.slots"


def shared_file(folder: Path, name: str) -> IO[bytes]:
    """A file that the slots of a GPU share. Raises GpuInUse if other users may write to its folder."""
    if folder.parent == runtime_folder():
        _own(folder.parent)
    try:
        descriptor = os.open(_own(folder) / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise GpuInUse(f"cannot open {folder / name} ({error.strerror}).") from error
    return os.fdopen(descriptor, "r+b")


class SlotLock:
    """Lets one slot of a GPU measure at a time. Use it as a context manager.

    The lock ends with the slot's process. The processes on the GPU don't inherit it.

    waited: seconds of all waits so far
    """

    def __init__(self, folder: Path | None) -> None:
        """Lock nothing yet. folder: of the slots; None for the only one. Raises GpuInUse like `shared_file`."""
        self.waited = 0.0
        self._file = shared_file(folder, "lock") if folder is not None else None

    def take(self, wanted: Callable[[], bool]) -> bool:
        """Wait until no other slot measures. Returns False if it is no longer wanted, or the wait takes too long."""
        began = time.monotonic()
        try:
            while wanted() and time.monotonic() < began + _PATIENCE_SECONDS:
                if self._try():
                    return True
                time.sleep(_NAP_SECONDS)
        finally:
            self.waited += time.monotonic() - began
        return False

    def _try(self) -> bool:
        if self._file is None:
            return True
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Let another slot measure."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
