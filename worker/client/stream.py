"""Server-sent events, read as they come: bounded, and given up when nothing comes for a while."""

from __future__ import annotations

import http.client
from collections.abc import Generator
from dataclasses import dataclass

from worker.client.errors import NoAnswer, Unreadable
from worker.client.http import Connection

SILENCE_SECONDS = 45.0
"""The portal sends a sign of life more often than that."""

_LINE_BYTES = 8 * 2**20
_EVENT_BYTES = 24 * 2**20


@dataclass(frozen=True, slots=True)
class Event:
    """One event; name: "message" where it has none."""

    name: str
    data: str


def events(connection: Connection, path: str) -> Generator[Event, None, None]:
    """The events of a stream until it ends; raises PortalError where it breaks, or there is none."""
    headers = {"Accept": "text/event-stream"}
    with connection.open("GET", path, headers=headers, seconds=SILENCE_SECONDS) as answer:
        if answer.headers.get_content_type() != "text/event-stream":
            raise Unreadable("the portal's answer is no stream of events.")
        name, size = "message", 0
        data: list[str] = []
        while line := _line(answer):
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if not text:
                if data:
                    yield Event(name, "\n".join(data))
                name, data, size = "message", [], 0
                continue
            field, _, value = text.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                name = value
            elif field == "data":
                data.append(value)
            size += len(text)
            if size > _EVENT_BYTES:
                raise Unreadable("the portal's stream holds an event without an end.")


def _line(answer: http.client.HTTPResponse) -> bytes:
    try:
        line = answer.readline(_LINE_BYTES + 1)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoAnswer("the portal's stream of events broke.") from error
    if len(line) > _LINE_BYTES:
        raise Unreadable("the portal's stream holds a line without an end.")
    return line
