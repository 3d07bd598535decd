"""A portal as a student finds it: `tilelab up --demo` with all its processes, on a port and a folder of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.up.demo import DemoUser, read_demo
from server.up.watch import NoAnswer, ask
from tests.services.tethered import start, wait_until

VERDICT_MS = 180_000
"""How long a page may wait for a verdict: the worker may only just have started, and all cores may be busy."""
_STARTS_SECONDS = 180.0
_ENDS_SECONDS = 60.0
_OURS = {"DATABASE_URL", "DATABASE_URL_FILE", "REDIS_URL", "REDIS_URL_FILE"}


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where it answers, and who may sign in."""

    url: str
    data: Path
    people: tuple[DemoUser, ...]

    def person(self, role: str) -> DemoUser:
        """The first with that role: instructor, student."""
        return next(person for person in self.people if person.role == role)

    def tilelab(self, *words: str) -> str:
        """What an operator's command prints, such as `tilelab admin …`, run on this portal's database."""
        settings = {"DATABASE_URL": f"sqlite:///{self.data / 'tilelab.sqlite3'}"}
        return subprocess.run(
            [sys.executable, "-P", "-m", "worker.commands", *words], env={**_environment(), **settings},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True,
        ).stdout  # fmt: skip

    def hand_in(self, person: DemoUser, assignment: str, source: str, mode: str = "check") -> str:
        """Hand in over the API; gives the submission's address there."""
        asked = {"assignment": assignment, "source": source, "mode": mode}
        answer = ask(self.url, "POST", "/api/v1/submissions", headers=_bearer(person), body=asked, seconds=60)
        assert answer.status == 202, answer
        return str(answer.body["url"])

    def state(self, person: DemoUser, address: str) -> Any:
        """What the API says at an address."""
        return ask(self.url, "GET", address, headers=_bearer(person), seconds=60).body


@contextmanager
def deployed(data: Path) -> Iterator[Deployment]:
    """One that answers, until it is left; whatever happens, nothing of it stays. Its worker comes a little later."""
    log = data.with_name(f"{data.name}.log")
    command = [sys.executable, "-P", "-m", "worker.commands", "up", "--demo", "--port", "0", "--data", str(data)]
    clean = [f"{name}={value}" for name, value in _environment().items()]
    process = start(["/usr/bin/env", "-i", *clean, *command], log)
    try:
        wait_until(lambda: _ready(data), process, log, _STARTS_SECONDS)
        told = json.loads((data / "demo.json").read_text())
        yield Deployment(told["url"], data, tuple(read_demo(data / "demo.json")))
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_ENDS_SECONDS)
        finally:
            process.kill()
            process.wait()


def _ready(data: Path) -> bool:
    try:
        url = json.loads((data / "demo.json").read_text())["url"]
        return ask(url, "GET", "/readyz", seconds=10).status == 200
    except (OSError, ValueError, NoAnswer):
        return False


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _OURS}


def _bearer(person: DemoUser) -> dict[str, str]:
    return {"Authorization": f"Bearer {person.token}"}
