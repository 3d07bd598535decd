"""Streams of events as a test reads them, without a socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask.testing import FlaskClient


class Stream:
    """A stream of events, read piece by piece."""

    def __init__(self, client: FlaskClient, name: str, path: str = "/submissions/{}/events", **more: Any) -> None:
        self.answer = client.get(path.format(name), buffered=False, **more)
        assert self.answer.status_code == 200, self.answer.status
        self.pieces: Any = iter(self.answer.response)

    def next(self) -> Any:
        """The next event but heartbeats; None at the end."""
        for piece in self.pieces:
            lines = dict(line.split(": ", 1) for line in piece.decode().strip().split("\n") if ": " in line)
            if lines.get("event") == "state":
                return json.loads(lines["data"])
        return None

    def last(self) -> Any:
        """The last one."""
        told = None
        while (event := self.next()) is not None:
            told = event
        return told

    def close(self) -> None:
        self.answer.close()


@contextmanager
def opened(*args: Any, **more: Any) -> Iterator[Stream]:
    """One that is closed in the end."""
    stream = Stream(*args, **more)
    try:
        yield stream
    finally:
        stream.close()
