"""Clients that begin a request and never end it: half with half a head, half with a body that trickles."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

_HEAD = "POST /api/v1/submissions HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
_BODY = "Content-Length: 60000\r\n\r\n{{"


@contextmanager
def slow_clients(url: str, count: int) -> Iterator[list[socket.socket]]:
    """So many connections, each with the beginning of a request."""
    place = urlsplit(url)
    with ExitStack() as undo:
        found = []
        for number in range(count):
            connection = socket.create_connection((place.hostname or "", place.port or 80), timeout=10)
            undo.enter_context(connection)
            text = _HEAD.format(host=place.netloc) + (_BODY.format() if number % 2 else "X-Half: ")
            with suppress(OSError):
                connection.sendall(text.encode())
            found.append(connection)
        yield found


def trickle(connections: list[socket.socket], seconds: float) -> None:
    """Send a byte on each now and then; the server may hang up."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for connection in connections:
            with suppress(OSError):
                connection.sendall(b"x")
        time.sleep(1.0)
