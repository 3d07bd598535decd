"""Signing in a command line: its codes, the page that confirms them, and the token that it gets once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from server.accounts.device_login import INTERVAL, LIFETIME, Waits, token_for
from server.accounts.models import ApiToken, DeviceLogin, Person
from server.accounts.service import create_token, disable, find_by_token, revoke_tokens
from server.audit.models import AuditEvent
from tests.server.databases import ON_SQLITE
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

pytestmark = [pytest.mark.usefixtures("one_window"), ON_SQLITE]


def begun(portal: Portal, host: str = "ada-laptop") -> tuple[str, str]:
    """The secret of a new command line, and its code."""
    answer = portal.client.post("/api/v1/login", json={"host": host})
    assert answer.status_code == 201
    return answer.get_json()["device_code"], answer.get_json()["user_code"]


def asks(portal: Portal, secret: str, after: timedelta = INTERVAL) -> str | Waits:
    """What a command line gets so much later than its last question."""
    with portal.course.sessions.begin() as session:
        asked = session.scalar(select(DeviceLogin.asked_at))
        return token_for(session, secret, (asked or datetime.now(UTC)) + after)


def answered(browser: BrowserClient, code: str, **fields: Any) -> str:
    """Where the page leads to; its text if it stays."""
    answer = browser.post_form("/login", code=code, **fields)
    return answer.headers.get("Location", answer.get_data(as_text=True))


def test_a_person_sees_what_asks_and_gives_it_a_token_once(portal: Portal, ada: BrowserClient):
    secret, code = begun(portal, "ada-laptop <b>Please allow</b>")
    assert asks(portal, secret) is Waits.PENDING
    page = answered(ada, code.lower())
    assert "ada-laptopbPleaseallowb" in page
    assert code in page
    assert not portal.course.rows(select(DeviceLogin.person_id).where(DeviceLogin.person_id.is_not(None)))
    assert answered(ada, code, access="submit", answer="allow") == "/account/tokens?notice=login-allowed"
    assert not portal.course.rows(select(ApiToken.id))
    (kept,) = portal.course.rows(select(DeviceLogin))
    assert secret not in (kept.digest, kept.code)
    token = asks(portal, secret)
    assert isinstance(token, str)
    assert asks(portal, secret) is Waits.OVER
    with portal.course.sessions.begin() as session:
        owner = find_by_token(session, token)
        assert owner is not None
        assert owner.id == portal.course.people["ada"]
        (row,) = session.scalars(select(ApiToken))
        assert (row.name, row.scopes) == ("command line on ada-laptopbPleaseallowb", "read submit")
        assert row.expires_at is not None
        number = row.id
    assert portal.course.rows(select(AuditEvent.action).order_by(AuditEvent.id))[-1] == "token.created"
    assert ada.post_form(f"/account/tokens/{number}/revoke").status_code == 303
    with portal.course.sessions.begin() as session:
        assert find_by_token(session, token) is None


def test_a_code_that_one_person_confirmed_is_nothing_to_another(portal: Portal, ada: BrowserClient):
    secret, code = begun(portal)
    answered(ada, code, access="everything", answer="allow")
    ben = client_of(portal, "ben")
    for answer in ("allow", "refuse"):
        assert "/account" not in answered(ben, code, access="everything", answer=answer)[:100]
    token = asks(portal, secret)
    assert isinstance(token, str)
    with portal.course.sessions.begin() as session:
        owner = find_by_token(session, token)
        assert owner is not None
        assert owner.id == portal.course.people["ada"]


def test_a_refused_or_old_code_gives_no_token(portal: Portal, ada: BrowserClient):
    secret, code = begun(portal)
    assert answered(ada, code, answer="refuse") == "/account/tokens?notice=login-refused"
    assert "<form" in answered(ada, code, access="submit", answer="allow")
    assert asks(portal, secret) is Waits.REFUSED
    secret, code = begun(portal)
    with portal.course.sessions.begin() as session:
        assert token_for(session, secret, datetime.now(UTC) + LIFETIME) is Waits.OVER
        session.get_one(DeviceLogin, 1).expires_at = datetime.now(UTC)
    assert "<form" in answered(ada, code, access="submit", answer="allow")
    begun(portal)
    assert len(portal.course.rows(select(DeviceLogin))) == 1  # the old one is gone
    assert not portal.course.rows(select(ApiToken.id))


def test_neither_a_disabled_person_nor_one_who_revoked_all_tokens_lets_a_command_line_in(
    portal: Portal, ada: BrowserClient
):
    secret, code = begun(portal)
    answered(ada, code, access="submit", answer="allow")
    with portal.course.sessions.begin() as session:
        revoke_tokens(session, session.get_one(Person, portal.course.people["ada"]))
    assert asks(portal, secret) is Waits.OVER
    secret, code = begun(portal)
    answered(ada, code, access="submit", answer="allow")
    with portal.course.sessions.begin() as session:
        disable(session, session.get_one(Person, portal.course.people["ada"]))
    assert asks(portal, secret) is Waits.OVER


def test_what_asks_too_often_waits(portal: Portal):
    secret, _ = begun(portal)
    codes = []
    for given in (secret, secret, "unknown"):
        answer = portal.client.post("/api/v1/login/token", json={"device_code": given})
        codes.append((answer.status_code, answer.get_json()["code"], answer.headers.get("Retry-After")))
    odd = portal.client.post("/api/v1/login/token", data=b'{"device_code": "\\ud800"}', content_type="application/json")
    assert odd.status_code == 422
    assert codes == [(409, "login_pending", "5"), (429, "too_often", "5"), (404, "login_over", None)]
    assert asks(portal, secret, INTERVAL / 2) is Waits.TOO_SOON
    assert asks(portal, secret) is Waits.PENDING


def test_guessing_is_limited_and_so_is_beginning(portal: Portal, ada: BrowserClient):
    _, code = begun(portal)
    statuses = [ada.post_form("/login", code=f"BCDFGHJ{letter}").status_code for letter in "BCDFGHJKLM"]
    assert statuses == [422] * 10
    assert ada.post_form("/login", code=code).status_code == 429
    ben = client_of(portal, "ben")
    assert {ben.post_form("/login", code=code).status_code for _ in range(12)} == {200}
    statuses = [portal.client.post("/api/v1/login", json={}).status_code for _ in range(300)]
    assert set(statuses[:299]) == {201}
    assert statuses[299] == 429


def test_a_form_from_elsewhere_confirms_nothing(portal: Portal, ada: BrowserClient):
    secret, code = begun(portal)
    asked = {"code": code, "access": "submit", "answer": "allow"}
    assert ada.post("/login", data=asked).status_code == 403
    assert ada.get(f"/login?code={code}&answer=allow&access=submit").status_code == 200
    assert asks(portal, secret) is Waits.PENDING


def test_a_person_with_too_many_tokens_is_asked_to_revoke_one(portal: Portal, ada: BrowserClient):
    secret, code = begun(portal)
    with portal.course.sessions.begin() as session:
        for number in range(20):
            create_token(session, session.get_one(Person, portal.course.people["ada"]), f"t{number}")
    answer = ada.post_form("/login", code=code, access="submit", answer="allow")
    assert answer.status_code == 422
    assert asks(portal, secret) is Waits.PENDING
