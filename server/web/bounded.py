"""How many requests are answered at once, which is far fewer than the threads there are.

Most threads wait in streams of events and ask the database for nothing. What does ask it takes one of a few places, so
that connections to it suffice whatever comes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

PLACES = 8
WAIT_SECONDS = 20.0
_BUSY = {
    "type": "about:blank", "status": 503, "code": "busy", "title": "The server is busy",
    "detail": "Nothing was done. Send the same request again in a few seconds.",
}  # fmt: skip


class Bounded:
    """The application, entered by so many requests at once; the rest waits a while.

    A place is held until the answer is made, not until it is sent: a stream holds none while it goes on.
    """

    def __init__(
        self, app: WSGIApplication, body_bytes: int, places: int = PLACES, wait_seconds: float = WAIT_SECONDS
    ) -> None:
        """Wrap the application.

        body_bytes: of a request, read before it takes its place, for its sender may be slow
        """
        self._app, self._body_bytes, self._wait_seconds = app, body_bytes, wait_seconds
        self._places = threading.BoundedSemaphore(places)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        length = environ.get("CONTENT_LENGTH") or "0"
        if length.isdecimal() and 0 < int(length) <= self._body_bytes:
            environ["wsgi.input"] = BytesIO(environ["wsgi.input"].read(int(length)))
        if not self._places.acquire(timeout=self._wait_seconds):
            return _busy(start_response)
        try:
            return self._app(environ, start_response)
        finally:
            self._places.release()


def _busy(start_response: StartResponse) -> Iterable[bytes]:
    body = json.dumps(_BUSY).encode()
    headers = [
        ("Content-Type", "application/problem+json"),
        ("Content-Length", str(len(body))),
        ("Retry-After", "5"),
        ("Cache-Control", "no-store"),
    ]
    start_response("503 Service Unavailable", headers)
    return [body]
