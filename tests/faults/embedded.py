"""One machine with `tilelab up`: SQLite, a broker of its own, and one process that keeps all others alive."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import event

from server.database.engine import Sessions, connect, sessions
from tests.faults.course import ROOT, furnish
from tests.faults.kept import Kept, below, command_line
from tests.faults.small_disk import small_disk
from tests.faults.target import SETTINGS
from tests.services.faulty_disk import FaultyDisk
from tests.services.redis_server import free_port

_START_SECONDS = 180.0
_LOOKS_EVERY_SECONDS = 1.2
_WORDS = {
    "portal": "serve web",
    "dispatcher": "serve dispatcher",
    "recorder": "serve recorder",
    "worker": "worker start",
}
_BROKERS = ("redis-server", "valkey-server")


class Embedded:
    """A target that keeps itself alive, on a disk and with a clock that fail on demand. Use as a context manager."""

    restarts_hanging = True

    def __init__(self, folder: Path, *, students: int) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self._port = free_port()
        self._undo = ExitStack()
        self.disk_is_small = self._undo.enter_context(small_disk(self.temporary))
        command = [sys.executable, "-m", "worker.commands", "up", "--data", str(folder / "data")]
        self._file = folder / "data" / "tilelab.sqlite3"
        self._disk = FaultyDisk(folder / "faulty", self._file)
        environment = {
            **SETTINGS, **self._disk.environment, "TMPDIR": str(self.temporary), "PYTHONPATH": str(ROOT)
        }  # fmt: skip
        self._up = Kept("up", [*command, "--port", str(self._port)], environment, folder / "up.log")
        self._undo.callback(self._up.stop)
        self._wait_ready()
        self._engine = connect(f"sqlite:///{self._file}")
        event.listen(self._engine, "connect", _write_to_the_log_alone)
        self._undo.callback(self._engine.dispose)
        self.sessions: Sessions = sessions(self._engine)
        with self.sessions.begin() as session:
            self.tokens: Sequence[str] = furnish(session, students, device_class="")
        # the portal writes to the same log when it is asked, and so syncs what this process wrote
        time.sleep(_LOOKS_EVERY_SECONDS)
        self._wait_ready()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def pids(self, name: str) -> list[int]:
        pid = self._find(*_BROKERS) if name == "Redis" else self._find(_WORDS[name])
        return [] if pid is None else [pid]

    def workers(self) -> list[int]:
        return self.pids("worker")

    def kill_redis(self, seconds: float) -> None:
        """Kill it; `tilelab up` has it back when it likes."""
        if (pid := self._find(*_BROKERS)) is not None:
            os.kill(pid, signal.SIGKILL)
        time.sleep(seconds)

    def pause_redis(self, seconds: float) -> None:
        if (pid := self._find(*_BROKERS)) is not None:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(seconds)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def kill_postgres(self, seconds: float) -> bool:
        return False

    def database_read_only(self) -> AbstractContextManager[None]:
        return self._disk.read_only()

    @contextmanager
    def database_locked(self) -> Iterator[None]:
        with closing(sqlite3.connect(self._file, 30, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")

    def database_full(self) -> AbstractContextManager[None]:
        return self._disk.full()

    def clock_off_by(self, seconds: int) -> AbstractContextManager[None]:
        return self._disk.clock_off_by(seconds)

    def lose_power(self) -> bool:
        # while others have it open: the last to close it would write what it never synced
        self._engine.dispose()
        self._up.crash(self._disk.lose_power)
        return True

    def resume_workers(self) -> None:
        command = [sys.executable, "-m", "worker.commands", "worker", "resume", "--all"]
        socket = self.folder / "data" / "run" / "redis.sock"
        environment = os.environ | {"REDIS_URL": f"unix://{socket}", "PYTHONPATH": str(ROOT)}
        subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=False, timeout=60)

    def stop_parts(self) -> list[int]:
        pids = [self._up.pid, *below(self._up.pid)]
        self._up.stop()
        return pids

    def _find(self, *words: str) -> int | None:
        for pid in below(self._up.pid):
            line = command_line(pid)
            if any(word in line for word in words):
                return pid
        return None

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            with suppress(urllib.error.URLError, OSError), urllib.request.urlopen(f"{self.url}/readyz") as answer:
                if answer.status == 200:
                    return
            time.sleep(0.5)
        raise TimeoutError(f"`tilelab up` is not ready:\n{(self.folder / 'up.log').read_text()[-3000:]}")


def _write_to_the_log_alone(connection: Any, _record: object) -> None:
    """Not on the faulty disk, so it never writes to the file itself: whoever syncs the log next copies its writes."""
    connection.execute("PRAGMA wal_autocheckpoint=0")
