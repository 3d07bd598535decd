"""Processes that come back when they die, as an init system keeps them, and what runs below them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.services import tethered
from tests.services.processes import alive, children_of

RESTART_SECONDS = 0.3


class Kept:
    """One process that is started anew whenever it ends, until `stop`. Its output is appended to a log.

    starts: how often it was started
    """

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.name = name
        self.starts = 0
        self._command = ["/usr/bin/env", *(f"{key}={value}" for key, value in environment.items()), *command]
        self._log = log
        self._over = threading.Event()
        self._may_start = threading.Event()
        self._may_start.set()
        self._process = self._start()
        self._thread = threading.Thread(target=self._keep, name=f"keep-{name}", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has just ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def crash(self, meanwhile: Callable[[], None]) -> None:
        """Kill it and everything below it at once; it starts again when something was done while nothing ran."""
        self._may_start.clear()
        try:
            pids = [self.pid, *below(self.pid)]
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
            while any(alive(pid) for pid in pids):
                time.sleep(0.01)
            meanwhile()
        finally:
            self._may_start.set()

    def stop(self, seconds: float = 60) -> None:
        """Ask it to end, wait, and kill what does not."""
        self._over.set()
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join()

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        return tethered.start(self._command, self._log)

    def _keep(self) -> None:
        while True:
            self._process.wait()
            self._may_start.wait()
            if self._over.wait(RESTART_SECONDS):
                return
            self._process = self._start()
            if self._over.is_set():
                self._process.terminate()


def below(pid: int) -> list[int]:
    """All processes below one, those that it started first."""
    found = children_of(pid)
    return [*found, *(deeper for child in found for deeper in below(child))]


def command_line(pid: int) -> str:
    """What a process was started as; nothing where it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
