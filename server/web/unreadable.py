"""What cannot be read as a request never reaches the application; here it is answered as all other errors are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from http import HTTPStatus

from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine, ParseException

from server.http.problems import MEDIA_TYPE, Problem

LONGEST_LINE = 8190
"""In bytes: the method, the address with its query, the version. The most that gunicorn can be told."""

HEAD_SECONDS = 10.0
"""From the first byte of a request to the end of its headers."""

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
_TOO_SLOW = Problem(
    408, "too_slow", "The request came too slowly",
    f"Nothing was done: all headers have to be here within {HEAD_SECONDS:g} seconds. Send it again.",
)  # fmt: skip


def answer_to(error: ParseException) -> bytes:
    """The whole answer to what cannot be read; which address it was for is not known."""
    return _answer(_PROBLEMS.get(type(error), _NO_HTTP))


def answer_to_slow_head() -> bytes:
    """The whole answer to a request whose headers did not come in time."""
    return _answer(_TOO_SLOW)


def _answer(problem: Problem) -> bytes:
    body = json.dumps(asdict(problem)).encode()
    head = (
        f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}",
        "Connection: close",
        f"Content-Type: {MEDIA_TYPE}",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join((*head, "", "")).encode() + body
