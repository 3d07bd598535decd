"""How answers travel: packed, encrypted, and without waiting for who writes."""

from __future__ import annotations

import gzip
import re

from werkzeug.test import TestResponse

from tests.server.databases import ON_SQLITE
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient

pytestmark = ON_SQLITE


def test_pages_come_packed_too_and_hold_no_secret_twice_in_the_same_letters(portal: Portal, ada: BrowserClient):
    answer = ada.get("/", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert int(answer.headers["Content-Length"]) == len(answer.get_data())
    plain = ada.get("/")
    assert "Content-Encoding" not in plain.headers
    tokens = [
        re.findall(r'name="csrf" value="(\w+)"', page)
        for page in (gzip.decompress(answer.get_data()).decode(), plain.get_data(as_text=True))
    ]
    assert tokens[0][0][:64] != tokens[1][0][:64]
    assert tokens[0][0][64:] != tokens[1][0][64:]
    for wrong in ("", "x", "é", tokens[0][0][:-1] + "g", tokens[0][0][64:], tokens[0][0][:64]):
        assert ada.post("/account/profile", data={"csrf": wrong}).status_code == 403
    for token in tokens:
        assert ada.post("/account/profile", data={"csrf": token[0]}).status_code != 403


def test_who_came_encrypted_comes_so_again_also_where_no_address_is_set(portal: Portal):
    said = "Strict-Transport-Security"
    answer = portal.client.get("/", base_url="https://localhost")
    assert answer.headers[said].startswith("max-age=")
    assert said not in portal.client.get("/").headers
    joined = join(portal, "https://localhost")
    assert joined.status_code == 303
    cookie = joined.headers["Set-Cookie"]
    assert cookie.startswith("__Host-tilelab=")
    assert "Secure" in cookie


def join(portal: Portal, base_url: str) -> TestResponse:
    portal.course.change_course(enrolment_code="k7qf-m2xp-9d4t")
    new = {
        "code": "k7qf-m2xp-9d4t", "name": "Ada", "email": "ada@example.edu", "password": "two green teapots",
    }  # fmt: skip
    return portal.client.post("/join", data=new, base_url=base_url)


def test_a_program_that_reads_waits_for_no_writer(portal: Portal):
    assert portal.get("ada", "/api/v1/me").status_code == 200
    with portal.course.sessions.begin():
        assert portal.get("ada", "/api/v1/me").status_code == 200
