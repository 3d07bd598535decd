"""A disk that can be filled without harm to anyone: a small one in memory, for the workers' temporary files."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OPTIONS = "size=256m,nr_inodes=1000"


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """Put a small disk in a folder's place; says whether that worked: it takes the right to mount."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", _OPTIONS, "none", folder], capture_output=True, check=False
    )
    try:
        yield mounted.returncode == 0
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "-l", folder], check=True)
