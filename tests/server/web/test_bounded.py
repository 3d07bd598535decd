"""Requests that take their place when all of them is here, and are told so where there is none."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from server.web.bounded import LARGE_BODIES, PLACES, Bounded
from tests.server.databases import ON_SQLITE
from tests.server.web.conftest import Portal
from tests.server.web.course_pages import DAY, FORM, KERNEL, PAGE, change, handed_in, now, words
from tests.server.web.signed_in import BrowserClient, client_of

# What is decided is the same on either database.
pytestmark = ON_SQLITE


@pytest.fixture
def bounded(portal: Portal) -> Bounded:
    found = portal.app.wsgi_app
    assert isinstance(found, Bounded)
    return found


@pytest.fixture
def ada(portal: Portal) -> BrowserClient:
    return client_of(portal, "ada")


@contextmanager
def nothing_free(bounded: Bounded) -> Iterator[None]:
    bounded._wait_seconds = 0.01
    for _ in range(PLACES):
        assert bounded._places.acquire(blocking=False)
    try:
        yield
    finally:
        for _ in range(PLACES):
            bounded._places.release()


def test_who_finds_no_place_is_told_so_as_a_page_or_as_a_problem(portal, bounded, ada):
    with nothing_free(bounded):
        read, sent = ada.get(PAGE), ada.post_form(FORM, source=KERNEL, mode="rank")
        asked = portal.get("ada", "/api/v1/submissions")
        assert portal.client.get("/healthz").status_code == 200
    for answer in (read, sent, asked):
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "5"
        assert answer.headers["Content-Security-Policy"]
    assert "Load this page again" in words(read.get_data(as_text=True))
    assert "Go back in a few seconds" in words(sent.get_data(as_text=True))
    assert KERNEL in sent.get_data(as_text=True)
    assert asked.get_json(force=True)["code"] == "busy"
    assert handed_in(portal) == []
    assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 303


def half_sent(bounded: Bounded, path: str, **headers: str) -> tuple[str, str]:
    """The answer to a request whose sender goes on no more."""
    ours, theirs = socket.socketpair()
    begun: dict[str, Any] = {}
    with ours, theirs, ours.makefile("rb") as body:
        theirs.sendall(b"source=")
        environ = {
            "REQUEST_METHOD": "POST", "PATH_INFO": path, "SERVER_NAME": "test", "SERVER_PORT": "80",
            "wsgi.url_scheme": "http", "wsgi.input": body, "wsgi.input_terminated": True, "gunicorn.socket": ours,
            "wsgi.errors": io.StringIO(), **headers,
        }  # fmt: skip
        pieces = bounded(environ, lambda status, _headers, *_: begun.update(status=status))  # type: ignore[arg-type]
        return begun["status"], b"".join(pieces).decode()


@pytest.mark.parametrize(
    "headers", [{"CONTENT_LENGTH": "5000"}, {"HTTP_TRANSFER_ENCODING": "chunked"}], ids=["length", "pieces"]
)
def test_who_stops_sending_keeps_no_place_and_is_told(bounded, headers):
    bounded._body_seconds = 0.05
    with nothing_free(bounded):
        status, told = half_sent(bounded, FORM, **headers)
    assert status.startswith("408")
    assert "did not arrive in time" in words(told)


def test_a_body_that_ends_early_is_not_taken_for_a_whole_one(ada):
    answer = ada.post(
        FORM, input_stream=io.BytesIO(b"source=x"), content_type="application/x-www-form-urlencoded",
        environ_overrides={"wsgi.input_terminated": True, "CONTENT_LENGTH": "5000"},
    )  # fmt: skip
    assert answer.status_code == 400
    assert "did not arrive whole" in words(answer.get_data(as_text=True))


def test_few_large_bodies_are_held_at_once(bounded, ada):
    for _ in range(LARGE_BODIES):
        assert bounded._large.acquire(blocking=False)
    large = {"source": "x" * 300_000, "mode": "rank"}
    assert ada.post_form(FORM, **large).status_code == 503
    assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 303
    bounded._large.release()
    assert ada.post_form(FORM, **large).status_code == 422


def test_one_in_pieces_is_no_larger_than_others(ada):
    answer = ada.post(
        FORM, input_stream=io.BytesIO(b"source=" + b"x" * 400_000),
        content_type="application/x-www-form-urlencoded", headers={"Transfer-Encoding": "chunked"},
        environ_overrides={"wsgi.input_terminated": True},
    )  # fmt: skip
    assert answer.status_code == 413


class _Slow:
    """A place that comes free when the assignment has closed."""

    def __init__(self, portal: Portal) -> None:
        self._portal = portal

    def acquire(self, **_: float) -> bool:
        change(self._portal, closes_at=now(), due_at=now() - DAY)
        return True

    def release(self) -> None:
        pass


@pytest.mark.parametrize("by", ["form", "program"])
def test_what_came_in_time_is_in_time_however_long_it_waits(portal, bounded, ada, by):
    portal.token("ada")
    bounded._places = _Slow(portal)
    if by == "form":
        assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 303
    else:
        assert portal.post("ada").status_code == 202
    assert len(handed_in(portal)) == 1
