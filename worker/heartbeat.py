"""A file whose time of change says that a process goes round.

`python -m worker.heartbeat FILE` says whether it does, for whatever watches over processes, such as the health check of
a container: exit code 0 where the file was touched in the last 30 seconds, else 1.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

EVERY_SECONDS = 1.0
SILENT_SECONDS = 30.0
"""More than any process here waits for a broker or a database that hangs."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Heartbeat:
    """file: None for none; also: what else is to be done with each beat."""

    file: Path | None
    also: Callable[[], None] = lambda: None

    def beat(self) -> None:
        """Now. Call it from what goes round itself: a thread of its own would beat for one that is stuck."""
        if self.file is not None:
            try:
                self.file.touch()
            except OSError as error:
                logger.warning("the heartbeat file cannot be written: %s", error)
                self.file = None
        self.also()


def silence(file: Path) -> float:
    """Seconds since the last beat; raises OSError where there was none."""
    return max(0.0, time.time() - file.stat().st_mtime)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m worker.heartbeat", description="Does a process go round?"
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
