"""Requests that come in pieces of any size."""

from __future__ import annotations

import pytest
from gunicorn.config import Config
from gunicorn.http.errors import InvalidRequestLine, LimitRequestHeaders, LimitRequestLine, ParseException

from server.http.arrival import Arrival, BodySizes, MissingBody

SIZES = BodySizes(100, 1000)
MANY = (
    b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
    b"POST /b HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
    b"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n\r\n\r\r\n2;x=y\r\n0\r\r\n0\r\n\r\n"
    b"POST /d HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n"
    b"GET /e HTTP/1.1\r\n\r\n"
)


def arrived(sent: bytes, step: int) -> list[tuple[str | None, bytes]]:
    arrival, found = Arrival(Config(), ("127.0.0.1", 1), SIZES), []
    for start in range(0, len(sent), step):
        ready = arrival.add(sent[start : start + step])
        while ready:
            assert arrival.request is not None
            assert arrival.request.body is not None
            body = arrival.request.body
            found.append((arrival.request.path, b"-" if isinstance(body, MissingBody) else body.read()))
            if isinstance(body, MissingBody):
                return found
            ready = arrival.next()
    return found


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_requests_are_whole_however_they_come(step):
    told = [("/a", b""), ("/b", b"hello"), ("/c", b"\r\n\r0\r"), ("/d", b"abc"), ("/e", b"")]
    assert arrived(MANY, step) == told


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (b"GET / HTTP/1.1\nHost: a\n\n", InvalidRequestLine),
        (b"x" * 70_000, LimitRequestLine),
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n", LimitRequestLine),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 11_000, LimitRequestHeaders),
    ],
)
def test_what_is_no_request_is_known_before_it_ends(sent, error):
    with pytest.raises(error):
        arrived(sent, 1000)


@pytest.mark.parametrize("head", [b"Content-Length: 1001", b"Transfer-Encoding: chunked"])
def test_what_is_too_large_is_not_waited_for(head):
    begun = b"POST / HTTP/1.1\r\n" + head + b"\r\n\r\n"
    assert arrived(begun + (b"3e8\r\n" + b"x" * 300 if b"chunked" in head else b""), 50) == [("/", b"-")]


def test_what_is_no_chunk_ends_the_body_and_whoever_reads_it_is_told():
    with pytest.raises(ParseException):
        arrived(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n", 5)
