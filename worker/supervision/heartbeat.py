"""Heartbeats of a process: a touched file, or lines to the supervisor that started it.

`python -m worker.supervision.heartbeat FILE` checks the file, for example for a container's health check. Exit code: 0
if the file was touched in the last 30 seconds, otherwise 1.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

EVERY_SECONDS = 1.0
SILENT_SECONDS = 30.0
"""Longer than any process waits for a hanging broker or database."""

STUCK_SECONDS = 120.0
"""The longest allowed round of a main loop. A locked database may delay each statement by up to a minute."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Heartbeat:
    """Shows that a process's main loop runs.

    also: called with each heartbeat
    tell: descriptor of the supervisor's pipe. A thread writes there until a round takes longer than STUCK_SECONDS. So a
        stopped process falls silent at once, and a process that waits for a database doesn't.
    """

    file: Path | None
    also: Callable[[], None] = lambda: None
    tell: int | None = None
    _rounded: float = field(default_factory=time.monotonic, init=False)

    def __post_init__(self) -> None:
        if self.tell is not None:
            prepare(self.tell)
            threading.Thread(target=self._tell, args=(self.tell,), name="heartbeat", daemon=True).start()

    def beat(self) -> None:
        """Send a heartbeat. Call it in the main loop itself, because a separate thread would hide a stuck loop."""
        if self.file is not None:
            try:
                self.file.touch()
            except OSError as error:
                logger.warning("cannot write the heartbeat file: %s", error)
                self.file = None
        self._rounded = time.monotonic()
        self.also()

    def _tell(self, descriptor: int) -> None:
        while True:
            if time.monotonic() - self._rounded < STUCK_SECONDS:
                tell_beat(descriptor)
            time.sleep(EVERY_SECONDS)


def prepare(descriptor: int) -> None:
    """Prepare a supervisor's pipe for `tell_beat`: not inherited by children, and without blocking."""
    os.set_inheritable(descriptor, False)
    os.set_blocking(descriptor, False)


def tell_beat(descriptor: int) -> None:
    """Write an empty line as a heartbeat. It is lost if the supervisor doesn't read."""
    with contextlib.suppress(BlockingIOError, BrokenPipeError):
        os.write(descriptor, b"\n")


def silence(file: Path) -> float:
    """Seconds since the last heartbeat. Raises OSError if there was none."""
    return max(0.0, time.time() - file.stat().st_mtime)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a heartbeat file, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m worker.supervision.heartbeat", description="Check a process's heartbeat file."
    )
    parser.add_argument("file", type=Path, help="the process's --heartbeat file")
    parser.add_argument("--seconds", type=float, default=SILENT_SECONDS, help="longest allowed silence")
    given = parser.parse_args(arguments)
    try:
        quiet = silence(given.file)
    except OSError as error:
        sys.stderr.write(f"no heartbeat: cannot read {given.file} ({error.strerror})\n")
        return 1
    if quiet > given.seconds:
        sys.stderr.write(f"no heartbeat for {quiet:.0f} s\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
