"""Everything that a fault campaign runs against: real services, and every part of Tilelab as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from server.database.engine import Sessions, connect, sessions
from server.database.schema import upgrade
from server.fleet.worker_keys import register_key
from tests.faults.course import ROOT, furnish
from tests.faults.kept import Kept, below
from tests.faults.small_disk import FEW_BYTES, filled, small_disk
from tests.faults.target import SETTINGS
from tests.services.faulty_disk import FaultyDisk
from tests.services.postgres_server import PostgresServer
from tests.services.redis_server import RedisServer, free_port

STAND_IN = "cpu"
"""What the CPU device in a GPU's place calls its class."""


def _locked(connection: psycopg.Connection) -> bool:
    """Begin a transaction that locks what is written most; False where it met another halfway and had to give way."""
    connection.execute("BEGIN")
    try:
        connection.execute("LOCK TABLE submissions, jobs, steps IN EXCLUSIVE MODE")
    except psycopg.errors.DeadlockDetected:
        connection.execute("ROLLBACK")
        return False
    return True


class House:
    """One course with its server and its workers. Use as a context manager.

    tokens: of the students, by which they hand in
    temporary: where the workers' processes have their folders
    disk_is_small: whether that can be filled
    """

    restarts_hanging = False

    def __init__(self, folder: Path, *, students: int, device_class: str = STAND_IN) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self._undo = ExitStack()
        self.disk_is_small = self._undo.enter_context(small_disk(self.temporary))
        self.redis = self._undo.enter_context(RedisServer(folder / "redis"))
        self._clock = FaultyDisk(folder / "faulty", folder / "no-database")
        self._database_disk_is_small = self._undo.enter_context(small_disk(folder / "postgres", FEW_BYTES))
        server = PostgresServer(folder / "postgres", max_wal_size="64MB", min_wal_size="32MB")
        self.postgres = self._undo.enter_context(server)
        self.postgres.create_database("tilelab")
        self.database_url = self.postgres.url("tilelab")
        engine = connect(self.database_url)
        self._undo.callback(engine.dispose)
        upgrade(engine)
        self.sessions: Sessions = sessions(engine)
        with self.sessions.begin() as session:
            self.tokens: Sequence[str] = furnish(session, students, device_class)
            register_key(session, self.redis.worker_url, datetime.now(UTC))
        self.port = free_port()
        self.parts: dict[str, Kept] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_parts()
        self._undo.close()

    def stop_parts(self) -> list[int]:
        """End all parts, the workers first; every process that ran in them until now."""
        pids = [pid for part in self.parts.values() for pid in (part.pid, *below(part.pid))]
        for part in reversed(self.parts.values()):
            part.stop()
        return pids

    def pids(self, name: str) -> list[int]:
        """Of the part with this name, and of `name-2` and so on; Redis belongs to no part."""
        return [part.pid for each, part in self.parts.items() if each.rstrip("-0123456789") == name]

    def workers(self) -> list[int]:
        """The processes below which students' files are run."""
        return [part.pid for name, part in self.parts.items() if name.startswith("worker")]

    def kill_redis(self, seconds: float) -> None:
        """Kill Redis, and have it back after some seconds, empty."""
        self.redis.kill()
        time.sleep(seconds)
        self.redis.start()

    def pause_redis(self, seconds: float) -> None:
        """Let Redis answer nobody for some seconds."""
        self.redis.pause()
        time.sleep(seconds)
        self.redis.resume()

    def kill_postgres(self, seconds: float) -> bool:
        """Kill PostgreSQL with all its processes, and have it back after some seconds."""
        self.postgres.kill()
        time.sleep(seconds)
        self.postgres.start()
        return True

    @contextmanager
    def database_read_only(self) -> Iterator[None]:
        """As when the server became a standby, for all who are connected."""
        with self.postgres.connect() as connection:
            connection.execute("ALTER SYSTEM SET default_transaction_read_only = on")
            connection.execute("SELECT pg_reload_conf()")
            yield
            connection.execute("ALTER SYSTEM RESET default_transaction_read_only")
            connection.execute("SELECT pg_reload_conf()")

    @contextmanager
    def database_locked(self) -> Iterator[None]:
        with self.postgres.connect("tilelab") as connection:
            while not _locked(connection):
                pass
            yield
            connection.execute("ROLLBACK")

    def database_full(self) -> AbstractContextManager[None] | None:
        return self._full() if self._database_disk_is_small else None

    @contextmanager
    def _full(self) -> Iterator[None]:
        """PostgreSQL may end for it; then it is started again, as by whatever keeps it running."""
        with filled(self.folder / "postgres"):
            yield
        if not self.postgres.running:
            self.postgres.start()
        self.postgres.wait_ready()

    def clock_off_by(self, seconds: int) -> AbstractContextManager[None]:
        return self._clock.clock_off_by(seconds)

    def lose_power(self) -> bool:
        return False

    def resume_workers(self) -> None:
        """What an operator does for workers that are out; one that is not goes on as it was."""
        command = [sys.executable, "-m", "worker.commands", "worker", "resume", "--all"]
        environment = os.environ | {"REDIS_URL": self.redis.url, "PYTHONPATH": str(ROOT)}
        subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=False, timeout=60)

    def start(self, commands: Mapping[str, list[str]]) -> None:
        """Start parts, by name; each is kept alive."""
        environment = {
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis.url,
            "TMPDIR": str(self.temporary),
            **SETTINGS,
            **self._clock.environment,
            "PYTHONPATH": str(ROOT),
        }
        for name, command in commands.items():
            own = environment if not name.startswith("worker") else self._for_worker(environment)
            self.parts[name] = Kept(name, command, own, self.folder / f"{name}.log")

    def _for_worker(self, environment: Mapping[str, str]) -> dict[str, str]:
        """What a worker gets: its own address of the broker is the only secret it needs."""
        own = {name: value for name, value in environment.items() if name != "DATABASE_URL"}
        return {**own, "REDIS_URL": self.redis.worker_url}
