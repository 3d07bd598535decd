"""Requests that take their place when all of them is here, and are told so where there is none."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from server.http.concurrency_limit import READ_SLOTS, WRITE_SLOTS, Asker, ConcurrencyLimit, Outcome, RequestSlots
from tests.server.databases import ON_SQLITE
from tests.server.submissions.course_pages import DAY, FORM, KERNEL, PAGE, handed_in, now, words
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of

# What is decided is the same on either database.
pytestmark = ON_SQLITE


@pytest.fixture
def limit(portal: Portal) -> ConcurrencyLimit:
    found = portal.app.wsgi_app
    assert isinstance(found, ConcurrencyLimit)
    return found


@contextmanager
def nothing_free(limit: ConcurrencyLimit) -> Iterator[None]:
    limit._wait_seconds = 0.01
    with all_taken(limit.reads, READ_SLOTS), all_taken(limit.writes, WRITE_SLOTS):
        yield


@contextmanager
def all_taken(places: RequestSlots, most: int) -> Iterator[None]:
    askers = [Asker(number, 1, 0) for number in range(most)]
    for asker in askers:
        assert places.take(asker, 0, stays) is Outcome.TAKEN
    yield
    for asker in askers:
        places.give_back(asker)


def stays() -> bool:
    return False


def test_who_finds_no_place_is_told_so_as_a_page_or_as_a_problem(portal, limit, ada):
    with nothing_free(limit):
        read, sent = ada.get(PAGE), ada.post_form(FORM, source=KERNEL, mode="rank")
        asked = portal.get("ada", "/api/v1/submissions")
        assert portal.client.get("/healthz").status_code == 200
    for answer in (read, sent, asked):
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "5"
        assert answer.headers["Content-Security-Policy"]
    assert 'data-code="busy"' in read.text
    assert 'data-code="busy"' in sent.text
    assert "again in a few seconds" in sent.text
    assert KERNEL in sent.get_data(as_text=True)
    assert asked.get_json(force=True)["code"] == "busy"
    assert handed_in(portal) == []
    assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 303


def test_pages_are_read_while_a_writer_waits_for_the_database(portal, limit, ada):
    limit._wait_seconds = 0.05
    assert ada.get(PAGE).status_code == 200
    with portal.course.sessions.begin(), all_taken(limit.writes, WRITE_SLOTS):
        for _ in range(READ_SLOTS + 1):
            assert ada.get(PAGE).status_code == 200
        assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 503


def test_a_person_has_few_places_from_whatever_browser(portal, limit, ada):
    limit._wait_seconds = 0.05
    again, ben = client_of(portal, "ada"), client_of(portal, "ben")
    for client in (ada, again, ben):
        assert client.get(PAGE).status_code == 200
    taken = {limit.people.find(each.session_token, "127.0.0.1") for each in (ada, again)}
    assert len(taken) == 1
    person = Asker(("person", taken.pop()), 2, 16)
    for _ in range(2):
        assert limit.reads.take(person, 0, stays) is Outcome.TAKEN
    assert [client.get(PAGE).status_code for client in (ada, again, ben)] == [503, 503, 200]


def test_who_is_signed_in_never_waits_behind_strangers_of_the_address(portal, limit, ada):
    limit._wait_seconds = 0.05
    strangers = Asker(("address", "127.0.0.1"), 2, 0)
    for _ in range(2):
        assert limit.reads.take(strangers, 0, stays) is Outcome.TAKEN
    assert ada.get(PAGE).status_code == 200
    assert portal.get("ben", "/api/v1/submissions").status_code == 200
    assert portal.client.get("/sign-in").status_code == 503


def test_whoever_left_takes_no_place(limit):
    ours, theirs = socket.socketpair()
    theirs.close()
    told: list[str] = []
    with ours, nothing_free(limit):
        limit._wait_seconds = 10
        environ: dict[str, Any] = {
            "REQUEST_METHOD": "GET", "PATH_INFO": PAGE, "wsgi.input": io.BytesIO(), "gunicorn.socket": ours,
        }  # fmt: skip
        assert list(limit(environ, lambda status, *_: told.append(status))) == []
    assert told == ["499 Client Left"]


def test_a_form_of_an_account_is_refused_by_its_length(ada, monkeypatch):
    monkeypatch.setattr("werkzeug.formparser.FormDataParser._parse_urlencoded", None)
    assert ada.post("/sign-in", data={"email": "\u0301" * 10_000, "password": "x"}).status_code == 413


def test_a_body_that_ends_early_is_not_taken_for_a_whole_one(ada):
    answer = ada.post(
        FORM, input_stream=io.BytesIO(b"source=x"), content_type="application/x-www-form-urlencoded",
        environ_overrides={"wsgi.input_terminated": True, "CONTENT_LENGTH": "5000"},
    )  # fmt: skip
    assert answer.status_code == 400
    assert "only a part of your request arrived" in words(answer.get_data(as_text=True))


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

    def take(self, *_: object) -> Outcome:
        self._portal.course.change(closes_at=now(), due_at=now() - DAY)
        return Outcome.TAKEN

    def give_back(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("by", ["form", "program"])
def test_what_came_in_time_is_in_time_however_long_it_waits(portal, limit, ada, by):
    portal.token("ada")
    limit.writes = _Slow(portal)
    if by == "form":
        assert ada.post_form(FORM, source=KERNEL, mode="rank").status_code == 303
    else:
        assert portal.post("ada").status_code == 202
    assert len(handed_in(portal)) == 1
