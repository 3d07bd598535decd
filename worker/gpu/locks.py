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
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
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


SLOTS = "a", "b"
"""The slots of a GPU. While one measures a kernel, the other prepares the next."""


def slots_folder(gpu: GpuFacts) -> Path:
    """The folder of the files through which the slots on a GPU take turns."""
    return runtime_folder() / f"{gpu.uuid.replace('/', '-')}.slots"


class Turn:
    """The right to use a GPU for one kernel. Use it as a context manager, or call `close`.

    It ends with the process that has it. Processes on the GPU don't inherit it.

    waited: seconds of all waits so far
    """

    def __init__(self, path: Path | None) -> None:
        """Take nothing yet. path: of the file that all slots of the GPU lock; None if there is only one slot."""
        self.waited = 0.0
        self._file = path.open("a+b") if path is not None else None

    def take(self, wanted: Callable[[], bool]) -> bool:
        """Wait until no other slot has the GPU, and while it is still wanted. Returns whether it was taken."""
        began = time.perf_counter()
        try:
            while wanted():
                if self._taken():
                    return True
                time.sleep(_NAP_SECONDS)
        finally:
            self.waited += time.perf_counter() - began
        return False

    def _taken(self) -> bool:
        if self._file is None:
            return True
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Let the next one have it. Safe to call twice."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
