"""Locks that give each GPU to only one worker. Two workers on a GPU would disturb each other's times."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from worker.gpu.nvml import GpuFacts


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
