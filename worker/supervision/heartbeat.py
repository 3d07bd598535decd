"""A process says that it goes round: by a file's time of change, or by lines to the supervisor that started it.

`python -m worker.supervision.heartbeat FILE` says whether it does, for whatever watches over processes, such as the
health check of a container: exit code 0 where the file was touched in the last 30 seconds, else 1.
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
"""More than any process here waits for a broker or a database that hangs."""

STUCK_SECONDS = 120.0
"""One round may take so long: a locked database holds up each of its statements for up to a minute."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Heartbeat:
    """What a process shows of its rounds.

    also: what else is to be done with each beat
    tell: descriptor of a supervisor's pipe. A thread beats there until a round has taken STUCK_SECONDS: a stopped
        process falls silent at once, and one that waits for a database does not
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
        """Now. Call it from what goes round itself: a thread of its own would beat for one that is stuck."""
        if self.file is not None:
            try:
                self.file.touch()
            except OSError as error:
                logger.warning("the heartbeat file cannot be written: %s", error)
                self.file = None
        self._rounded = time.monotonic()
        self.also()

    def _tell(self, descriptor: int) -> None:
        while True:
            if time.monotonic() - self._rounded < STUCK_SECONDS:
                tell_beat(descriptor)
            time.sleep(EVERY_SECONDS)


def prepare(descriptor: int) -> None:
    """Make a supervisor's pipe ready for `tell_beat`: no child inherits it, and nobody waits for a reader."""
    os.set_inheritable(descriptor, False)
    os.set_blocking(descriptor, False)


def tell_beat(descriptor: int) -> None:
    """An empty line is a beat. A reader who is gone or does not read misses it."""
    with contextlib.suppress(BlockingIOError, BrokenPipeError):
        os.write(descriptor, b"\n")


def silence(file: Path) -> float:
    """Seconds since the last beat; raises OSError where there was none."""
    return max(0.0, time.time() - file.stat().st_mtime)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m worker.supervision.heartbeat", description="Does a process go round?"
    )
    parser.add_argument("file", type=Path, help="what the process was given as --heartbeat")
    parser.add_argument("--seconds", type=float, default=SILENT_SECONDS, help="of silence that are too much")
    given = parser.parse_args(arguments)
    try:
        quiet = silence(given.file)
    except OSError as error:
        sys.stderr.write(f"no heartbeat: {given.file} cannot be read ({error.strerror})\n")
        return 1
    if quiet > given.seconds:
        sys.stderr.write(f"no heartbeat for {quiet:.0f} s\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
