"""Follow a submission until nothing more becomes of it: by the portal's events, and by asking where there are none."""

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
"""Of a portal that does not answer at all: its restart, or a laptop's sleep, takes less."""

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 5.0
_AWAY_PAUSE = 15.0
_EVENTS_AGAIN_SECONDS = 20.0


@dataclass(slots=True)
class Follower:
    """Gives each state of a submission as it is asked for, the last of them final.

    told: each event, which says more, and sooner
    troubled: told what keeps it from knowing more, once for each time
    """

    portal: Portal
    public_id: str
    told: Callable[[Progress], None] = lambda _: None
    troubled: Callable[[str], None] = lambda _: None
    _streams: bool = field(default=True, init=False)
    _stream_after: float = field(default=0.0, init=False)

    def states(self) -> Iterator[Submission]:
        """Until it is over. Raises PortalError: one that no further try will mend."""
        pause = _FIRST_PAUSE
        while True:
            if self._listen():
                pause = _FIRST_PAUSE
            # whatever a stream said, or left unsaid: what holds is asked for
            found = self._ask()
            yield found
            if found.over:
                return
            time.sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311 - so that not all ask at once
            pause = min(1.5 * pause, _LONGEST_PAUSE)

    def _listen(self) -> bool:
        """Whether a stream told something, which has ended."""
        if not self._streams or time.monotonic() < self._stream_after:
            return False
        heard = False
        try:
            with closing(
                events(self.portal.connection, f"{submission_path(self.public_id)}/events")
            ) as stream:
                for event in stream:
                    if event.name != "state":
                        continue
                    progress = _progress(event.data)
                    self.told(progress)
                    heard = True
                    if progress.final:
                        return True
        except (NotDone, Unreadable):
            # there is none for us; a submission that is not there is told when it is asked for
            self._streams = False
        except NoAnswer:
            self._stream_after = time.monotonic() + _EVENTS_AGAIN_SECONDS * random.uniform(0.5, 1.0)  # noqa: S311
        return heard

    def _ask(self) -> Submission:
        """How it stands, also through a portal that is away for a while."""
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
        raise Unreadable("the portal's stream holds an event that is no JSON.") from error


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
