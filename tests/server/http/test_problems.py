"""Errors as they are told: in words for whoever reads them, also where nothing can be asked."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import defaultdict

import pytest
from sqlalchemy import text
from sqlalchemy.orm.exc import StaleDataError
from werkzeug.test import TestResponse

from server.courses.models import Membership, Role
from server.web.app import create_app
from tests.server.databases import ON_POSTGRESQL, ON_SQLITE
from tests.server.submissions.course_pages import FORM, HOME, KERNEL, PAGE, now, typed, words
from tests.server.web.conftest import Portal, settings
from tests.server.web.signed_in import COOKIE, BrowserClient, client_of, stranger

HOST = "http://localhost"


@pytest.mark.one_in(3, "one of three")
@pytest.mark.parametrize("path", ["/", PAGE, "/none"])
def test_who_is_signed_in_is_told_that_the_database_is_away(path, caplog):
    app = create_app(settings("postgresql://tilelab:geheim@127.0.0.1:1/tilelab"))
    client = BrowserClient(app, app.response_class, use_cookies=True)
    client.set_cookie(COOKIE, "a-session")
    answer = client.get(path)
    page = answer.get_data(as_text=True)
    assert answer.headers["Content-Security-Policy"]
    assert "Traceback" not in caplog.text
    if path == "/none":
        assert answer.status_code == 404
        assert 'data-code="not_found"' in page
    else:
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert 'data-code="database_away"' in page
        assert "Load this page again" in page
        assert "Idempotency" not in page
    assert "/sign-in" not in page


@ON_SQLITE
def test_a_fault_while_a_fault_is_told_writes_no_secret_down(portal: Portal, monkeypatch, caplog):
    def broken(*_: object, **__: object) -> None:
        raise ValueError("of a test")

    monkeypatch.setattr("server.enrolment.links.find_link", broken)
    monkeypatch.setitem(portal.app.error_handler_spec[None][None], Exception, broken)
    with caplog.at_level(logging.DEBUG):
        answer = stranger(portal).get("/reset/the-token-of-a-link")
    assert answer.status_code == 500
    assert "of a test" in caplog.text
    assert "the-token" not in caplog.text


@ON_POSTGRESQL
def test_a_form_sent_twice_at_the_same_moment_is_no_fault(portal: Portal):
    """The second looks before the first is done, and writes after."""
    client = client_of(portal, "bob", role=None)
    answers: list[TestResponse] = []
    portal.course.change_course(enrolment_code="k7qf-m2xp-9d4t")
    with portal.course.sessions.begin() as session:
        session.add(
            Membership(
                course_id=portal.course.course, person_id=portal.course.people["bob"], role=Role.STUDENT,
                created_at=now(),
            )
        )  # fmt: skip
        session.flush()
        second = threading.Thread(target=lambda: answers.append(client.post_form("/join", code="k7qf-m2xp-9d4t")))
        second.start()
        _wait_for_a_lock(portal)
    second.join()
    assert answers[0].status_code == 409
    assert 'data-code="changed_meanwhile"' in answers[0].text


def _wait_for_a_lock(portal: Portal) -> None:
    for _ in range(1000):
        with portal.course.sessions.begin() as session:
            if session.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")):
                return
        time.sleep(0.01)
    raise AssertionError("nobody waits")


@ON_SQLITE
def test_what_somebody_else_took_away_is_no_fault(portal: Portal, monkeypatch):
    def gone(*_: object) -> None:
        raise StaleDataError("UPDATE statement on table 'extensions' expected to update 1 row(s); 0 were matched.")

    monkeypatch.setattr("server.submissions.api.read_submission", gone)
    answer = portal.get("ada", "/api/v1/submissions/abc")
    assert (answer.status_code, answer.get_json(force=True)["code"]) == (409, "changed_meanwhile")


@ON_SQLITE
def test_pages_say_what_a_reader_does_next(portal: Portal, ada: BrowserClient):
    wrong_method = ada.post_form(PAGE)
    assert wrong_method.status_code == 405
    assert wrong_method.headers["Allow"]
    assert "Allow" not in words(wrong_method.get_data(as_text=True))
    assert "/api/v1" not in words(ada.get("/none").get_data(as_text=True))
    assert "/api/v1" in portal.client.get("/api/v1/none").get_json(force=True)["detail"]


@ON_SQLITE
def test_the_address_of_a_form_leads_to_the_page_above(portal: Portal, ada: BrowserClient):
    assert ada.get(FORM).status_code == 303
    assert ada.get(FORM).headers["Location"] == PAGE
    assert ada.get("/submissions/a%0d%0aä/cancel").headers["Location"] == "/submissions/a%0D%0A%C3%A4"
    pages = portal.app.url_map.bind("localhost")
    methods: dict[str, set[str]] = defaultdict(set)
    for rule in portal.app.url_map.iter_rules():
        methods[rule.rule] |= rule.methods or set()
    forms = [rule for rule, known in methods.items() if not rule.startswith("/api/") and "GET" not in known]
    assert len(forms) > 40
    for form in forms:
        answer = ada.get(re.sub("<[^>]*>", "7", re.sub(r"<any\((\w+)[^>]*>", r"\1", form)))
        assert answer.status_code == 303, form
        assert pages.test(answer.headers["Location"], "GET"), form


@ON_SQLITE
def test_who_was_signed_out_meanwhile_keeps_what_was_typed_and_comes_back(portal: Portal):
    client = stranger(portal)
    here = {"Referer": f"{HOST}{PAGE}?from=x", "Origin": HOST}
    answer = client.post(FORM, data={"source": KERNEL, "mode": "rank"}, headers=here)
    page = answer.get_data(as_text=True)
    assert answer.status_code == 401
    assert typed(page) == KERNEL
    assert "/sign-in?next=%2Fcourses%2Fgpu%2Ftiled%2F%3Ffrom%3Dx" in page
    for came_from in ("http://elsewhere.example/", f"{HOST}{FORM}", "http:" + "//[", ""):
        answer = client.post(HOME + "tiled/submissions", headers={**here, "Referer": came_from})
        assert 'href="/sign-in"' in answer.get_data(as_text=True), came_from
