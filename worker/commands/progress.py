"""A line on the terminal that shows the current step of a slow command."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable
from typing import Self

_PATIENCE = 1.5
_BEAT = 0.5
_CLEAR = "\r\033[K"


class Progress:
    """A context manager that shows the current step and the elapsed seconds on standard error, if it's a terminal."""

    def __init__(self) -> None:
        self._what = "starting"
        self._done = threading.Event()
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True) if sys.stderr.isatty() else None

    def show(self, what: str) -> None:
        self._what = what

    def write_above(self, lines: Iterable[str]) -> None:
        """Write lines that stay on standard error."""
        text = "".join(f"{line}\n" for line in lines)
        _write(text if self._thread is None else _CLEAR + text)

    def __enter__(self) -> Self:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        if self._done.wait(_PATIENCE):
            return
        while not self._done.wait(_BEAT):
            seconds = time.monotonic() - self._started
            _write(f"{_CLEAR}tilelab: {self._what}, {seconds:.0f} s")
        _write(_CLEAR)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
