"""A disk and a clock that fail on demand, for processes that use one SQLite database: see faulty_disk.c.

A loss of power drops everything that was not synced. The disk can be read-only or full, and the clock wrong. It takes
Linux and a C compiler.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.services.tethered import ServiceFailed

SOURCE = Path(__file__).with_suffix(".c")
_STATE = struct.Struct("=qBB6x")


class FaultyDisk:
    """The disk below one database file, for processes that are started with `environment`.

    folder: for what it keeps; made if it is not there
    """

    def __init__(self, folder: Path, database: Path) -> None:
        self._database = database.resolve()
        self._synced = folder / "synced"
        self._synced.mkdir(parents=True)
        self._state = folder / "state"
        self._tell()
        library = compiled(folder)
        self.environment: Mapping[str, str] = {
            "LD_PRELOAD": str(library),
            "FAULTY_DISK": str(folder),
            "FAULTY_FILE": str(self._database),
        }

    def sync(self) -> None:
        """Let everything that is there now be on the disk. For before the first process starts."""
        for file in self._files():
            shutil.copy(file, self._synced / file.name)

    def lose_power(self) -> None:
        """Leave what was synced, and nothing else. Every process that had the database open must be gone."""
        for file in self._files():
            file.unlink()
        for copy in self._synced.iterdir():
            if copy.suffix != ".part":
                shutil.copy(copy, self._database.with_name(copy.name))

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Nothing can be written, as after an error that lets the kernel mount a disk read-only."""
        yield from self._while(read_only=True)

    @contextmanager
    def full(self) -> Iterator[None]:
        """No file can grow."""
        yield from self._while(full=True)

    @contextmanager
    def clock_off_by(self, seconds: int) -> Iterator[None]:
        """The time of day is wrong; clocks that count from the start of the machine are not."""
        yield from self._while(clock_seconds=seconds)

    def _while(self, *, clock_seconds: int = 0, read_only: bool = False, full: bool = False) -> Iterator[None]:
        self._tell(clock_seconds, read_only, full)
        try:
            yield
        finally:
            self._tell()

    def _tell(self, clock_seconds: int = 0, read_only: bool = False, full: bool = False) -> None:
        """In one write, to the file that all processes have mapped."""
        descriptor = os.open(self._state, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(descriptor, _STATE.pack(clock_seconds, read_only, full), 0)
        finally:
            os.close(descriptor)

    def _files(self) -> list[Path]:
        return list(self._database.parent.glob(f"{self._database.name}*"))


def compiled(folder: Path) -> Path:
    """The library, made in this folder."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise ServiceFailed("no C compiler (`cc`) to make the faulty disk with")
    library = folder / "faulty_disk.so"
    subprocess.run(
        [compiler, "-O1", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True, capture_output=True, text=True
    )
    return library
