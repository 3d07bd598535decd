"""What cannot be read as a request never reaches the application; here it is answered as all other errors are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from http import HTTPStatus
from socket import socket
from typing import Any

from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine, ParseException
from gunicorn.util import write_nonblock
from gunicorn.workers.gthread import ThreadWorker

from server.web.problems import MEDIA_TYPE, Problem

LONGEST_LINE = 8190
"""In bytes: the method, the address with its query, the version. The most that gunicorn can be told."""

_PROBLEMS: Mapping[type[ParseException], Problem] = {
    LimitRequestLine: Problem(
        414, "address_too_long", "The address is too long",
        f"With its query it may have about {LONGEST_LINE:,} bytes. Send less in the query.",
    ),
    LimitRequestHeaders: Problem(
        431, "headers_too_large", "The headers are too large",
        "Send fewer, or shorter ones. In a browser: delete this site's cookies, and sign in again.",
    ),
}  # fmt: skip
_NO_HTTP = Problem(
    400, "bad_request", "The request cannot be read",
    "It is not HTTP/1.1 as this server reads it. Send it with another program, or without what stands in between.",
)  # fmt: skip


class AnsweringWorker(ThreadWorker):
    """Says in a problem's form why a request cannot be read: which address it was for is not known."""

    def handle_error(self, req: Any, client: socket, addr: Any, exc: BaseException) -> None:
        """Answer, and leave the connection to be closed. Once a request was read, a fault is ours."""
        if req is not None or not isinstance(exc, ParseException):
            super().handle_error(req, client, addr, exc)
            return
        self.log.warning(
            "a request that cannot be read, from %s: %s", addr[0] if addr else "?", type(exc).__name__
        )
        with suppress(OSError):
            write_nonblock(client, _answer(_PROBLEMS.get(type(exc), _NO_HTTP)))


def _answer(problem: Problem) -> bytes:
    body = json.dumps(asdict(problem)).encode()
    head = (
        f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}",
        "Connection: close",
        f"Content-Type: {MEDIA_TYPE}",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join((*head, "", "")).encode() + body
