"""The portal as it runs on a machine with two cores, and signed-in people."""

from __future__ import annotations

import secrets
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from sqlalchemy import insert

from bench.queue.ground import Ground
from server.accounts.digest import digest_of
from server.accounts.models import ApiToken, BrowserSession
from server.database.engine import Sessions
from tests.services.processes import children_of
from tests.services.redis_server import free_port

PROCESSES = 2
COOKIE = "tilelab"
_STARTS_SECONDS = 120


@dataclass(slots=True)
class Web:
    """`tilelab serve web` on its own port, with one database of a ground. name: of the part."""

    ground: Ground
    database_url: str
    name: str = "web"
    port: int = 0

    def start(self) -> None:
        """Start it, on the same port each time, and wait until it answers."""
        self.port = self.port or free_port()
        words = ["serve", "web", "--port", str(self.port), "--processes", str(PROCESSES)]
        environment = {"DATABASE_URL": self.database_url, "TILELAB_UNDER_WAY": "1000000"}
        self.ground.start(self.name, ["-m", "worker.commands", *words], **environment)
        self.ground.wait_for(lambda: answers(self.port, "/readyz"), "the portal", _STARTS_SECONDS)

    def kill(self) -> None:
        process = self.ground.parts.pop(self.name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    @property
    def processes(self) -> list[int]:
        """Return the processes that answer, and their supervisor."""
        root = self.ground.parts[self.name].pid
        found = [root, *children_of(root)]
        return found + [deeper for pid in found[1:] for deeper in children_of(pid)]

    def megabytes(self) -> float:
        """Return the memory of its processes; shared memory counts once."""
        return sum(_proportional(pid) for pid in self.processes) / 1024


@dataclass(slots=True)
class Browser:
    """An open connection with a person's cookie."""

    port: int
    cookie: str = ""
    _connection: HTTPConnection | None = None

    def get(self, path: str) -> tuple[float, bytes]:
        """Return the seconds until a page was complete, and the page. Raise RuntimeError for any other answer."""
        headers = {"Cookie": f"{COOKIE}={self.cookie}"} if self.cookie else {}
        began = time.perf_counter()
        connection = self._connection or HTTPConnection("127.0.0.1", self.port, timeout=60)
        self._connection = connection
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
        except (HTTPException, ConnectionError):
            # the server closes connections that were idle for long
            connection.close()
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
        body = answer.read()
        seconds = time.perf_counter() - began
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body[:300]!r}")
        return seconds, body


def answers(port: int, path: str) -> bool:
    """Whether that address answers with success."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def sign_in(made: Sessions, people: Sequence[int]) -> list[str]:
    """Return cookies, one for each person."""
    now = datetime.now(UTC)
    cookies = [secrets.token_urlsafe(32) for _ in people]
    rows = [
        {
            "person_id": person, "digest": digest_of(cookie), "user_agent": "bench", "created_at": now, "used_at": now,
            "expires_at": now + timedelta(days=1),
        }
        for person, cookie in zip(people, cookies, strict=True)
    ]  # fmt: skip
    with made.begin() as session:
        session.execute(insert(BrowserSession), rows)
    return cookies


def tokens(made: Sessions, people: Sequence[int]) -> list[str]:
    """Return API tokens, one for each person."""
    found = [f"tl_{secrets.token_urlsafe(32)}" for _ in people]
    rows = [
        {"person_id": person, "name": "bench", "digest": digest_of(token), "created_at": datetime.now(UTC)}
        for person, token in zip(people, found, strict=True)
    ]
    with made.begin() as session:
        session.execute(insert(ApiToken), rows)
    return found


def percentile(values: Sequence[float], part: float) -> float:
    """Return the value that `part` of the values don't exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def _proportional(pid: int) -> float:
    """Return the memory of a process in KiB; shared memory counts in part."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) for line in lines if line.startswith("Pss:")), 0.0)
