"""A submission's progress as server-sent events: what happens is told while it happens.

Events are named `state`; `beat` every 15 seconds shows that the stream lives. It ends by itself after the last state,
when the server stops, when whoever listens may no longer see the submission, and after some minutes: whoever still
listens asks again, as browsers do.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from flask import Flask, Response, current_app
from sqlalchemy.exc import SQLAlchemyError

from server.http.problems import Refused
from server.submissions.progress.answer import progress_answer
from server.submissions.progress.hub import Form, Hub, TooMany, Watch
from server.submissions.progress.jobs import SubmissionStatus
from server.submissions.progress.phases import Progress

BEAT_SECONDS = 15.0
LIFETIME_SECONDS = 480.0
CHECK_SECONDS = 60.0
_RETRY_MS = 2_000
_KEY = "tilelab-hub"

Envelope = Callable[[str, bool], str]
"""What is sent of a text, and of whether it is the last."""

MaySee = Callable[[], bool]
"""Asks the database whether whoever listens may still see the submission."""

_checking = threading.Lock()
"""Streams look whether they may go on one after the other: all of them together take one connection."""


@dataclass(frozen=True, slots=True)
class Telling:
    """How a progress is told: in which form, and in what that is sent."""

    form: Form
    envelope: Envelope


def attach_hub(app: Flask, hub: Hub) -> None:
    """Let the application's requests find it."""
    app.extensions[_KEY] = hub


def hub_of(app: Flask) -> Hub:
    """That of the application."""
    hub: Hub = app.extensions[_KEY]
    return hub


def the_hub() -> Hub:
    """That of the application that answers the present request."""
    return hub_of(current_app)


def stream_for_programs(submission: int, person: int, status: SubmissionStatus, may_see: MaySee) -> Response:
    """The answer to a program that may see this submission: each event an object, see `ProgressAnswer`.

    raise (Refused): 429 or 503 where no further stream is given; then the submission itself is to be asked for
    """
    return event_stream(submission, person, status, Telling(_as_json, lambda text, _final: text), may_see)


def event_stream(
    submission: int, person: int, status: SubmissionStatus, telling: Telling, may_see: MaySee
) -> Response:
    """The answer whose body goes on until the submission is graded. status: as it was just read."""
    try:
        watch = the_hub().watch(submission, person, status)
    except TooMany as error:
        raise _refused(error) from error
    body = _Events(watch, the_hub(), telling, may_see)
    response = Response(body, mimetype="text/event-stream")
    response.headers["X-Accel-Buffering"] = "no"
    response.call_on_close(body.close)
    return response


class _Events:
    """The events, one text after the other; to be closed, also where none was ever asked for."""

    def __init__(self, watch: Watch, hub: Hub, telling: Telling, may_see: MaySee) -> None:
        self._watch, self._hub, self._telling, self._may_see = watch, hub, telling, may_see
        self._ends, self._checks = _in_about(LIFETIME_SECONDS), _in_about(CHECK_SECONDS)
        self._pieces = self._written()

    def __iter__(self) -> Iterator[str]:
        return self._pieces

    def close(self) -> None:
        self._watch.close()

    def _written(self) -> Iterator[str]:
        try:
            yield f"retry: {_RETRY_MS}\n\n"
            while time.monotonic() < self._ends and self._goes_on():
                told = self._watch.next(self._telling.form, BEAT_SECONDS)
                if told is None:
                    if self._hub.closing:
                        return
                    yield _event("beat", "{}")
                    continue
                text, final = told
                yield _event("state", self._telling.envelope(text, final))
                if final:
                    return
        finally:
            self._watch.close()

    def _goes_on(self) -> bool:
        """Whether whoever listens still may, looked at now and then: people sign out, and are dropped."""
        if time.monotonic() < self._checks:
            return True
        self._checks = _in_about(CHECK_SECONDS)
        try:
            with _checking:
                return self._may_see()
        except SQLAlchemyError:
            return True  # nothing new can be told while the database is away


def _in_about(seconds: float) -> float:
    """When that is: what began together, after a restart say, shall not go on together."""
    return time.monotonic() + seconds * random.uniform(0.8, 1.2)  # noqa: S311 - no secret


def _event(name: str, data: str) -> str:
    """One event. Data is JSON, which has no line breaks."""
    return f"event: {name}\ndata: {data}\n\n"


def _as_json(progress: Progress) -> str:
    return json.dumps(asdict(progress_answer(progress)))


def _refused(error: TooMany) -> Refused:
    if error.of_person:
        return Refused(
            429, "too_many_streams", "You watch too many submissions at once",
            "Close some, or ask for the submission itself now and then.", {"Retry-After": "10"},
        )  # fmt: skip
    return Refused(
        503, "no_stream_left", "The server has no further stream of events",
        "Ask for the submission itself now and then.", {"Retry-After": "10"},
    )  # fmt: skip
