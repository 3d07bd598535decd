"""How many requests are answered at once, which is far fewer than the threads there are.

Most threads wait in streams of events and ask the database for nothing. What does ask it takes one of a few places, so
that connections to it suffice whatever comes. A request takes its place when all of it is here: whoever sends slowly
keeps nobody waiting.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING

from flask import Flask, request
from gunicorn.http.errors import ParseException

from server.web.problems import RETRY_SECONDS, Refused, once_more

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

PLACES = 8
WAIT_SECONDS = 20.0
BODY_SECONDS = 20.0
"""For all of a body, from when the rest of the request is here."""

LARGE_BODIES = 8
"""Larger ones than a request may usually be, in memory at once. Only a form with a file that is too large is. Of others
there are as many as threads."""

_NEEDS_NO_PLACE = {"/healthz", "/readyz"}  # they ask nobody, or one at a time
_ARRIVED, _NOT_TAKEN = "tilelab.arrived", "tilelab.not_taken"


class Bounded:
    """The application, entered by so many requests at once; the rest waits a while.

    A place is held until the answer is made, not until it is sent: a stream holds none while it goes on.
    """

    def __init__(
        self,
        app: WSGIApplication,
        body_bytes: int,
        large_bytes: int,
        places: int = PLACES,
        wait_seconds: float = WAIT_SECONDS,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        """Wrap the application, which refuses itself what is larger than it takes.

        body_bytes: of a request; one whose length is not told beforehand has no more
        large_bytes: of the few that may have more
        """
        self._app, self._body_bytes, self._large_bytes = app, body_bytes, large_bytes
        self._wait_seconds, self._body_seconds = wait_seconds, body_seconds
        self._places = threading.BoundedSemaphore(places)
        self._large = threading.BoundedSemaphore(LARGE_BODIES)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        if environ.get("PATH_INFO") in _NEEDS_NO_PLACE:
            return self._app(environ, start_response)
        length = _length(environ)
        if not self._body_bytes < (length or 0) <= self._large_bytes:
            return self._read_and_answer(environ, start_response, length)
        if not self._large.acquire(blocking=False):
            return self._turn_away(environ, start_response, "busy")
        try:
            return self._read_and_answer(environ, start_response, length)
        finally:
            self._large.release()

    def _read_and_answer(
        self, environ: WSGIEnvironment, start_response: StartResponse, length: int | None
    ) -> Iterable[bytes]:
        if (why := self._read(environ, length)) or not self._places.acquire(timeout=self._wait_seconds):
            return self._turn_away(environ, start_response, why or "busy")
        try:
            return self._app(environ, start_response)
        finally:
            self._places.release()

    def _read(self, environ: WSGIEnvironment, length: int | None) -> str:
        """Have the body here; gives why it is not, "" where it is or is too large to be looked at."""
        body, why = b"", ""
        if length is None or 0 < length <= self._large_bytes:
            with self._until_late(environ) as late:
                try:
                    body = environ["wsgi.input"].read(self._body_bytes + 1 if length is None else length)
                    whole = not late.is_set() if length is None else len(body) == length
                except (OSError, ParseException):
                    whole = False
            if not whole:
                why = "slow" if late.is_set() else "broken"
        environ["wsgi.input"] = BytesIO(body)
        if length is None:
            # from here on it is one whose length is known, and of what is too large more than anything takes
            known = len(body) if len(body) <= self._body_bytes else self._large_bytes + 1
            environ["CONTENT_LENGTH"] = str(known)
            environ.pop("HTTP_TRANSFER_ENCODING", None)
        environ[_ARRIVED] = datetime.now(UTC)
        return why

    @contextmanager
    def _until_late(self, environ: WSGIEnvironment) -> Iterator[threading.Event]:
        """End what is read from the connection when its time is over: then the one who reads finds nothing more."""
        late = threading.Event()
        connection: socket.socket | None = environ.get("gunicorn.socket")
        if connection is None:
            yield late
            return

        def stop() -> None:
            late.set()
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)

        timer = threading.Timer(self._body_seconds, stop)
        timer.daemon = True
        timer.start()
        try:
            yield late
        finally:
            timer.cancel()

    def _turn_away(
        self, environ: WSGIEnvironment, start_response: StartResponse, why: str
    ) -> Iterable[bytes]:
        """The application's own answer, which it gives before it looks at anything, and so without a place."""
        environ[_NOT_TAKEN] = why
        return self._app(environ, start_response)


def attach_bounds(app: Flask, body_bytes: int, large_bytes: int) -> None:
    """Let so many requests in at once. Comes before all else that looks at a request."""
    app.before_request(_refuse_what_was_not_taken)
    app.wsgi_app = Bounded(app.wsgi_app, body_bytes, large_bytes)  # type: ignore[method-assign]


def arrived() -> datetime:
    """When all of the present request was here, before it waited for anything of ours."""
    found: datetime = request.environ.get(_ARRIVED) or datetime.now(UTC)
    return found


def _length(environ: WSGIEnvironment) -> int | None:
    """As it was told; None for a body in pieces, whose length shows at its end."""
    if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        return None
    told = environ.get("CONTENT_LENGTH") or "0"
    return int(told) if told.isdecimal() else 0


def _refuse_what_was_not_taken() -> None:
    match request.environ.get(_NOT_TAKEN):
        case "busy":
            raise Refused(
                503, "busy", "The server is busy",
                "Nothing was done. Send the same request again in a few seconds.",
                {"Retry-After": str(RETRY_SECONDS)}, once_more(),
            )  # fmt: skip
        case "slow":
            raise Refused(
                408, "too_slow", "The request came too slowly",
                f"Nothing was done: all of it has to be here within {BODY_SECONDS:g} seconds. Send it again.", {},
                "Nothing was stored: what you sent did not arrive in time. Go back, and send it again when your "
                "connection is better.",
            )  # fmt: skip
        case "broken":
            raise Refused(
                400, "bad_request", "The request cannot be read", "Its body ends too early, or is no HTTP.",
                {}, "Nothing was stored: what you sent did not arrive whole. Go back, and send it again.",
            )  # fmt: skip
