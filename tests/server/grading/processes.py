"""Dispatcher, recorder and slots as the processes that they are, around a database and a Redis of a test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.services.redis_server import as_worker

SECONDS = 120.0
_WORKPLACES = "tests.server.grading.workplaces"


def until(holds: Callable[[], Any], what: str = "") -> Any:
    """Wait until it holds; what it says then."""
    deadline = time.monotonic() + SECONDS
    while not (found := holds()):
        assert time.monotonic() < deadline, f"in vain: {what or holds}"
        time.sleep(0.05)
    return found


class House:
    """The processes by name. Whatever still runs at the end is killed."""

    def __init__(self, folder: Path, database_url: str, redis_url: str, **settings: str) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._environment = {
            **os.environ, "DATABASE_URL": database_url, "REDIS_URL": redis_url, "TILELAB_LEASE_SECONDS": "4",
            "TILELAB_REPUBLISH_SECONDS": "2", **settings,
        }  # fmt: skip

    def serve(self, part: str, name: str = "") -> str:
        """Start a dispatcher or a recorder; its name."""
        name = name or part
        heartbeat = str(self.folder / f"{name}.beat")
        self._start(name, "-m", "worker.commands", "serve", part, "--heartbeat", heartbeat)
        return name

    def slot(self, queue: str, workplace: str, name: str) -> str:
        """Start a slot; its name."""
        self._start(
            name, "-m", "worker.slots.slot", "--name", name, "--queue", queue, "--worker", "host-1.test",
            "--arch", "sm_90",
            "--cache", str(self.folder), "--parent", str(os.getpid()),
            "--workplace", f"{_WORKPLACES}:{workplace}", REDIS_URL=as_worker(self._environment["REDIS_URL"]),
        )  # fmt: skip
        return name

    def slots(self) -> None:
        """One for checks and one for measurements on an H200."""
        self.slot("cpu", "Checks", "cpu-0")
        self.slot("gpu.h200", "Measures", "gpu-0")

    def _start(self, name: str, *words: str, **more: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**self._environment, **more}, start_new_session=True,
            )  # fmt: skip

    def log(self, name: str) -> str:
        """All that it said."""
        return (self.folder / f"{name}.log").read_text()

    def send(self, name: str, number: signal.Signals) -> None:
        os.kill(self.processes[name].pid, number)

    def kill(self, name: str) -> None:
        """As a crash."""
        self.send(name, signal.SIGKILL)
        self.processes.pop(name).wait(SECONDS)

    def end(self, name: str) -> int:
        """In order; its exit code."""
        self.send(name, signal.SIGTERM)
        return self.processes.pop(name).wait(SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait(SECONDS)
