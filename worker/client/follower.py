"""Follow a submission until it is graded or cancelled, by events or by polling."""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field

from worker.client.answers import Progress, Submission, read
from worker.client.errors import NoAnswer, NotDone, Unreadable
from worker.client.http import Connection
from worker.client.portal import Portal, submission_path

GIVEN_UP_SECONDS = 600.0
"""Give up on a portal that doesn't answer for this long. Its restart or a laptop's sleep takes less."""

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 5.0
_AWAY_PAUSE = 15.0
_EVENTS_AGAIN_SECONDS = 20.0


@dataclass(slots=True)
class Follower:
    """Yields each state of a submission; the last one is final.

    told: called with each event, which has more detail and comes sooner
    troubled: called once with the reason whenever the portal doesn't answer
    """

    portal: Portal
    public_id: str
    told: Callable[[Progress], None] = lambda _: None
    troubled: Callable[[str], None] = lambda _: None
    _streams: bool = field(default=True, init=False)
    _stream_after: float = field(default=0.0, init=False)

    def states(self) -> Iterator[Submission]:
        """Yield states until grading is over. Raises PortalError if a retry can't help."""
        pause = _FIRST_PAUSE
        while True:
            if self._listen():
                pause = _FIRST_PAUSE
            # events are only hints: request the true state
            found = self._ask()
            yield found
            if found.over:
                return
            time.sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311 - so that not all ask at once
            pause = min(1.5 * pause, _LONGEST_PAUSE)

    def _listen(self) -> bool:
        """Read a stream of events to its end, and return whether there were any."""
        if not self._streams or time.monotonic() < self._stream_after:
            return False
        heard = False
        try:
            with closing(events(self.portal.connection, f"{submission_path(self.public_id)}/events")) as stream:
                for event in stream:
                    if event.name != "state":
                        continue
                    progress = _progress(event.data)
                    self.told(progress)
                    heard = True
                    if progress.final:
                        return True
        except (NotDone, Unreadable):
            # no stream here; `_ask` reports a missing submission
            self._streams = False
        except NoAnswer:
            self._stream_after = time.monotonic() + _EVENTS_AGAIN_SECONDS * random.uniform(0.5, 1.0)  # noqa: S311
        return heard

    def _ask(self) -> Submission:
        """The current state. Tries again while the portal is away."""
        began, pause, told = time.monotonic(), 1.0, False
        while True:
            try:
                return self.portal.submission(self.public_id)
            except NoAnswer as error:
                if time.monotonic() - began > GIVEN_UP_SECONDS:
                    raise
                if not told:
                    self.troubled(str(error))
                    told = True
                wait = max(pause, error.retry_after or 0.0)
            except NotDone as error:
                if error.status != 429:
                    raise
                wait = max(pause, error.retry_after or 0.0)
            time.sleep(wait)
            pause = min(2 * pause, _AWAY_PAUSE)


def _progress(data: str) -> Progress:
    try:
        return read(Progress, json.loads(data))
    except (ValueError, RecursionError) as error:
        raise Unreadable("unexpected event from the portal, not JSON.") from error


SILENCE_SECONDS = 45.0
"""The portal sends keep-alive lines more often than this."""

_LINE_BYTES = 8 * 2**20
_EVENT_BYTES = 24 * 2**20


@dataclass(frozen=True, slots=True)
class Event:
    """One event. name: "message" if it has none."""

    name: str
    data: str


def events(connection: Connection, path: str) -> Generator[Event, None, None]:
    """Yield a stream's events until it ends. Raises PortalError if it breaks or doesn't exist."""
    headers = {"Accept": "text/event-stream"}
    with connection.open("GET", path, headers=headers, seconds=SILENCE_SECONDS) as answer:
        if answer.headers.get_content_type() != "text/event-stream":
            raise Unreadable("unexpected answer, not a stream of events.")
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
                raise Unreadable("an event from the portal is too long.")


def _line(answer: http.client.HTTPResponse) -> bytes:
    try:
        line = answer.readline(_LINE_BYTES + 1)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoAnswer("the portal's stream of events broke.") from error
    if len(line) > _LINE_BYTES:
        raise Unreadable("a line from the portal is too long.")
    return line
