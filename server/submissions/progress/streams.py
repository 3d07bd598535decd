"""A submission's progress as server-sent events, for its page and for the API."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flask import Flask, Response, current_app
from sqlalchemy.exc import SQLAlchemyError

from kernels.verdict import Verdict
from server.fields import answer_json
from server.grading.models import JobState
from server.grading.queue import Place
from server.http.problems import Refused
from server.submissions.progress.hub import Form, Hub, TooMany, Watch
from server.submissions.progress.jobs import SubmissionStatus
from server.submissions.progress.phases import Progress, ProgressPhase
from worker.contract.answers import Wait


@dataclass(frozen=True, slots=True)
class ProgressAnswer:
    """The progress of a submission in one event.

    final: whether this is the last event; then read the submission for its result
    headline: the current activity in a few words
    position, wait: as in the submission itself
    attempt: the number of the open step's attempt; 0 if no step is open
    printed: the start of what the kernel printed in the test case `printed_case`; "" if nothing is known
    """

    state: JobState
    verdict: Verdict | None
    final: bool
    headline: str
    position: int | None
    wait: Wait | None
    attempt: int
    phases: tuple[ProgressPhase, ...]
    printed_case: str
    printed: str


def wait_answer(place: Place | None) -> Wait | None:
    return None if place is None else Wait(place.seconds, place.reason)


def progress_answer(progress: Progress) -> ProgressAnswer:
    status = progress.status
    return ProgressAnswer(
        state=status.state,
        verdict=status.verdict,
        final=status.over,
        headline=progress.headline,
        position=status.position,
        wait=wait_answer(status.place),
        attempt=0 if status.open_step is None else status.open_step.attempt,
        phases=tuple(progress.phases),
        printed_case=progress.printed_case,
        printed=progress.printed,
    )


BEAT_SECONDS = 15.0
LIFETIME_SECONDS = 480.0
CHECK_SECONDS = 60.0
_RETRY_MS = 2_000
_KEY = "tilelab-hub"

Envelope = Callable[[str, bool], str]
"""Wraps a text for sending, with whether it is the last."""

MaySee = Callable[[], bool]
"""Asks the database whether the reader may still see the submission."""

_checking = threading.Lock()
"""Streams recheck their permission one after the other, so all together use one database connection."""


@dataclass(frozen=True, slots=True)
class EventFormat:
    """The format of a stream's events: the text of a progress, and its envelope."""

    form: Form
    envelope: Envelope


def attach_hub(app: Flask, hub: Hub) -> None:
    app.extensions[_KEY] = hub


def hub_of(app: Flask) -> Hub:
    hub: Hub = app.extensions[_KEY]
    return hub


def the_hub() -> Hub:
    return hub_of(current_app)


def stream_for_programs(submission: int, person: int, status: SubmissionStatus, may_see: MaySee) -> Response:
    """A stream for a program; each event is a JSON object, see `ProgressAnswer`.

    raise (Refused): 429 or 503 if too many streams are open; the program then polls the submission
    """
    events = EventFormat(_as_json, lambda text, _final: text)
    return event_stream(submission, person, status, events, may_see)


def event_stream(
    submission: int, person: int, status: SubmissionStatus, events: EventFormat, may_see: MaySee
) -> Response:
    """A response that streams events until the submission is graded. status: as the request read it."""
    try:
        watch = the_hub().watch(submission, person, status)
    except TooMany as error:
        raise _refused(error) from error
    body = _Events(watch, the_hub(), events, may_see)
    response = Response(body, mimetype="text/event-stream")
    # Otherwise nginx collects events in a buffer before it passes them on.
    response.headers["X-Accel-Buffering"] = "no"
    response.call_on_close(body.close)
    return response


class _Events:
    """The events as texts. The caller closes it, even if it never reads one."""

    def __init__(self, watch: Watch, hub: Hub, events: EventFormat, may_see: MaySee) -> None:
        self._watch, self._hub, self._format, self._may_see = watch, hub, events, may_see
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
                update = self._watch.next(self._format.form, BEAT_SECONDS)
                if update is None:
                    if self._hub.closing:
                        return
                    yield _event("beat", "{}")
                    continue
                text, final = update
                yield _event("state", self._format.envelope(text, final))
                if final:
                    return
        finally:
            self._watch.close()

    def _goes_on(self) -> bool:
        """Whether the reader may still see the submission. Rechecked at times: people sign out or are dropped."""
        if time.monotonic() < self._checks:
            return True
        self._checks = _in_about(CHECK_SECONDS)
        try:
            with _checking:
                return self._may_see()
        except SQLAlchemyError:
            return True  # no new progress can leak while the database is unavailable


def _in_about(seconds: float) -> float:
    """A time with random spread, so that streams opened together, as after a restart, don't stay in step."""
    return time.monotonic() + seconds * random.uniform(0.8, 1.2)  # noqa: S311 - no secret


def _event(name: str, data: str) -> str:
    """Format an event. Its data is JSON without line breaks."""
    return f"event: {name}\ndata: {data}\n\n"


def _as_json(progress: Progress) -> str:
    return json.dumps(progress_answer(progress), default=answer_json)


def _refused(error: TooMany) -> Refused:
    if error.of_person:
        return Refused(
            429, "too_many_streams", "You follow too many submissions at once",
            "Close some streams, or poll the submission instead.", {"Retry-After": "10"},
        )  # fmt: skip
    return Refused(
        503, "no_stream_left", "The server has no free stream",
        "Poll the submission instead.", {"Retry-After": "10"},
    )  # fmt: skip
