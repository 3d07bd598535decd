"""The terminal output and the log of `tilelab up`."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from kernels.rendering.text_safety import safe
from worker.supervision.parts import Event, What

_LOG_BYTES = 8 * 2**20
_LOGS_KEPT = 2
_MODE = 0o600
_LONGEST_LAST = 160


@dataclass(slots=True)
class TerminalOutput:
    """Prints whole lines from any thread.

    describe: returns more about a part that is ready
    log: gets the parts' output
    verbose: print the parts' output, too
    """

    write: Callable[[str], None]
    log: logging.Logger
    describe: Callable[[str], str] = lambda _part: ""
    verbose: bool = False
    _died: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def say(self, text: str = "") -> None:
        with self._lock, contextlib.suppress(OSError, ValueError):  # a closed terminal must not end the server
            for line in text.split("\n"):
                self.write(line)

    def line(self, part: str, text: str) -> None:
        self.log.info("%s: %s", part, safe(text))
        if self.verbose:
            self.say(f"{part}: {safe(text)}")

    def event(self, event: Event, *, waited_for: bool) -> None:
        """Print and log a part's event. waited_for: the part reports when it is ready."""
        self.log.info("%s: %s (process %d)", event.part, event.what, event.pid)
        if event.what is What.DIED:
            self._died.add(event.part)
            # its last line usually says why it ended, except after a signal
            why = "" if event.code is not None and event.code < 0 else _last(event)
            self._about(event.part, f"{_end_of(event)}; starts again in {event.pause:.1f} s{why}")
        elif event.what is What.READY or (event.what is What.STARTED and not waited_for):
            again = " again" if event.part in self._died else ""
            more = self.describe(event.part)
            self._about(event.part, f"{'ready' if waited_for else 'running'}{again}{f': {more}' if more else ''}")
        elif event.what is What.FAILED:
            self._about(event.part, f"can't run{_last(event)}")
        elif event.what is What.KILLED:
            self._about(event.part, "didn't end in time and was killed")

    def _about(self, part: str, text: str) -> None:
        self.say(f"  {part:<11} {text}")


class _LogFile(RotatingFileHandler):
    """A log file that only its owner can read. If it isn't writable, lines go to standard error after one warning."""

    _warned = False

    def _open(self) -> TextIOWrapper:
        file = super()._open()
        try:
            os.fchmod(file.fileno(), _MODE)  # also for files of earlier versions
        except OSError:
            file.close()
            raise
        return file

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        error = sys.exc_info()[1]
        why = getattr(error, "strerror", None) or str(error)
        with contextlib.suppress(OSError, ValueError):
            if not self._warned:
                self._warned = True
                sys.stderr.write(
                    f"tilelab: warning: can't write {self.baseFilename} ({why}). "
                    "Log lines go to standard error until this works again.\n"
                )
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()


def log_to(path: Path) -> logging.Logger:
    """A rotating log file. While it isn't writable, lines go to standard error."""
    logger = logging.getLogger("tilelab.up")
    handler = _LogFile(path, maxBytes=_LOG_BYTES, backupCount=_LOGS_KEPT, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger.handlers[:] = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
    return logger


def _end_of(event: Event) -> str:
    if event.silent_seconds:
        return f"hung ({event.silent_seconds:.0f} s without a sign of life) and was killed"
    if event.code is None:
        return "couldn't be started"
    if event.code < 0:
        return f"was ended by {signal.Signals(-event.code).name}"
    return f"ended with exit code {event.code}"


def _last(event: Event) -> str:
    text = safe(event.last).strip()
    return f" ({text[:_LONGEST_LAST]})" if text else ""
