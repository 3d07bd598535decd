"""Answers to requests that never reach the application: unreadable, too slow, or held back for too long."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from http import HTTPStatus

from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine, ParseException

from server.http.concurrency_limit import TOO_MANY
from server.http.problems import MEDIA_TYPE, RETRY_SECONDS, Problem

LONGEST_LINE = 8190
"""In bytes: method, address with query, version. The most that gunicorn allows."""

HEAD_SECONDS = 10.0
"""From the first byte of a request to the end of its headers."""

_PROBLEMS: Mapping[type[ParseException], Problem] = {
    LimitRequestLine: Problem(
        414, "address_too_long", "The address is too long",
        f"The limit is about {LONGEST_LINE:,} bytes with its query. Send less in the query.",
    ),
    LimitRequestHeaders: Problem(
        431, "headers_too_large", "The headers are too large",
        "Send fewer or shorter headers. In a browser: delete this site's cookies, and sign in again.",
    ),
}  # fmt: skip
_NO_HTTP = Problem(
    400, "bad_request", "The request cannot be read",
    "It isn't valid HTTP/1.1. Check the program that sent it, and any proxy in between.",
)  # fmt: skip
_TOO_SLOW = Problem(
    408, "too_slow", "The request came too slowly",
    f"Nothing was done. All headers must arrive within {HEAD_SECONDS:g} seconds. Send the request again.",
)  # fmt: skip


def answer_to(error: ParseException) -> bytes:
    """The answer to an unreadable request, whose address is unknown."""
    return _answer(_PROBLEMS.get(type(error), _NO_HTTP))


def answer_to_slow_head() -> bytes:
    """The answer to a request whose headers took too long."""
    return _answer(_TOO_SLOW)


def answer_to_held_back() -> bytes:
    """The answer to a request that got no thread in time."""
    return _answer(TOO_MANY, f"Retry-After: {RETRY_SECONDS}")


def _answer(problem: Problem, *headers: str) -> bytes:
    body = json.dumps(asdict(problem)).encode()
    head = (
        f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}",
        "Connection: close",
        f"Content-Type: {MEDIA_TYPE}",
        f"Content-Length: {len(body)}",
        *headers,
    )
    return "\r\n".join((*head, "", "")).encode() + body
