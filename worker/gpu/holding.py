"""One worker for each GPU: two that share one would time each other's work."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from worker.gpu.nvml import GpuFacts


class GpuHeld(RuntimeError):
    """A worker has this GPU already, or it cannot be found out; one line."""


def runtime_folder() -> Path:
    """Where the processes of a user on this machine meet. The same however a worker is started."""
    return Path(tempfile.gettempdir()) / f"tilelab-{os.getuid()}"


@contextlib.contextmanager
def held(gpus: Sequence[GpuFacts], folder: Path | None = None) -> Iterator[None]:
    """Hold these GPUs until the block ends, or this process, however it ends; raises GpuHeld."""
    with contextlib.ExitStack() as stack:
        for gpu in gpus:
            stack.enter_context(_lock(gpu, _own(folder or runtime_folder())))
        yield


def _own(folder: Path) -> Path:
    """The folder, made where it is missing; nobody else may write to it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise GpuHeld(f"{folder} cannot be made ({error.strerror}); TMPDIR names another place.") from error
    if found.st_uid != os.getuid() or found.st_mode & 0o022 or not folder.is_dir() or folder.is_symlink():
        raise GpuHeld(f"{folder} has to be a folder that only this user may write to; remove it.")
    return folder


def _lock(gpu: GpuFacts, folder: Path) -> IO[str]:
    path = folder / f"{gpu.uuid.replace('/', '-')}.lock"
    try:
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise GpuHeld(f"{path} cannot be opened ({error.strerror}).") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read(20).strip()
        file.close()
        by = f" (process {holder})" if holder.isdigit() else ""
        raise GpuHeld(
            f"GPU {gpu.index} ({gpu.name}, {gpu.uuid}) is another worker's already{by}; "
            "end that one, or leave this GPU out with --gpus."
        ) from None
    file.seek(0)
    file.truncate()
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file
