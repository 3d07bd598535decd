"""Disks that can be filled without harm to anyone: small ones in memory."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FEW_FILES = "size=256m,nr_inodes=1000"
FEW_BYTES = "size=640m"


@contextmanager
def small_disk(folder: Path, options: str = FEW_FILES) -> Iterator[bool]:
    """Put a small disk in a folder's place; says whether that worked: it takes the right to mount."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True, check=False)
    try:
        yield mounted.returncode == 0
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "-l", folder], check=True)


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Leave no byte free on the disk of FEW_BYTES that is there."""
    file = folder / "fill"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        size, step = 0, 2**24
        while step >= 2**12:
            try:
                os.posix_fallocate(descriptor, size, step)
                size += step
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                step //= 2
        yield
    finally:
        os.close(descriptor)
        file.unlink()
