"""Sign in and out in the portal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from server.accounts import password_sign_in
from server.accounts.access import local_path
from server.accounts.models import BrowserSession, Person
from server.accounts.service import disable, set_password
from tests.server.databases import ON_SQLITE
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import COOKIE, client_of, stranger

PASSWORD = "correct horse"
ONE_DATABASE = ON_SQLITE
pytestmark = pytest.mark.usefixtures("one_window")


@pytest.fixture
def ada(portal: Portal) -> Person:
    number = portal.course.person("ada")
    with portal.course.sessions.begin() as session:
        person = session.get_one(Person, number)
        set_password(session, person, PASSWORD)
        return person


def sign_in(client, password=PASSWORD, email="ada@example.edu", **more):
    return client.post_form("/sign-in", email=email, password=password, **more)


def test_who_signs_in_gets_a_session_and_goes_on_to_where_they_wanted(portal, ada):
    client = stranger(portal)
    answer = sign_in(client, email=" ADA@example.edu ", next="/account")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/account")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Sign out" in client.page("/account")
    assert client.get("/sign-in?next=/account").headers["Location"] == "/account"


def test_signing_out_ends_the_session_itself(portal, ada):
    client = stranger(portal)
    sign_in(client)
    kept = client.session_token
    assert client.post_form("/sign-out").headers["Location"] == "/sign-in?notice=signed-out"
    assert client.session_token == ""
    client.set_cookie(COOKIE, kept)
    assert client.get("/account").headers["Location"].startswith("/sign-in")
    assert client.post_form("/sign-out").status_code == 303


def test_a_long_email_is_refused_before_anything_looks_at_it(portal, monkeypatch):
    monkeypatch.setattr(password_sign_in, "sign_in", None)
    answer = sign_in(stranger(portal), email="a" * 255)
    assert answer.status_code == 422
    assert "254 characters" in answer.get_data(as_text=True)


def test_every_failure_is_told_alike(portal, ada):
    with portal.course.sessions.begin() as session:
        shut_out = session.get_one(Person, portal.course.person("bob"))
        set_password(session, shut_out, PASSWORD)
        disable(session, shut_out)
    portal.course.person("never set one")
    client = stranger(portal)
    told = set()
    for email, password in (
        ("ada@example.edu", "wrong"),
        ("nobody@example.edu", PASSWORD),
        ("bob@example.edu", PASSWORD),
        ("never set one@example.edu", PASSWORD),
        ("no address", PASSWORD),
        ("a\x00@b", PASSWORD),
        ("ada@example.edu", "x" * 3000),
    ):
        answer = sign_in(client, password, email)
        assert answer.status_code == 422
        assert "Set-Cookie" not in answer.headers
        told.add(answer.get_data(as_text=True).partition('role="alert"')[2].partition("</div>")[0])
    assert len(told) == 1
    assert "Email or password is incorrect" in told.pop()


def test_what_is_missing_is_named_at_its_field(portal):
    page = sign_in(stranger(portal), "", "").get_data(as_text=True)
    assert page.count('aria-invalid="true"') == 2
    assert 'href="#email"' in page


def test_a_session_is_new_each_time_and_the_one_before_ends(portal, ada):
    client = stranger(portal)
    sign_in(client)
    first = client.session_token
    sign_in(client)
    assert client.session_token != first
    client.set_cookie(COOKIE, first)
    assert client.get("/account").status_code == 303


def test_a_cookie_of_an_attackers_choice_is_not_kept(portal, ada):
    client = stranger(portal)
    client.set_cookie(COOKIE, "planted")
    sign_in(client)
    assert client.session_token != "planted"


def test_over_https_the_cookie_is_bound_to_this_host(portal, ada):
    site = portal.app.extensions["tilelab"]
    told = replace(site.settings, public_url="https://tilelab.example")
    portal.app.extensions["tilelab"] = replace(site, settings=told)
    cookie = sign_in(stranger(portal)).headers["Set-Cookie"]
    assert cookie.startswith("__Host-tilelab=")
    assert "; Secure" in cookie
    assert "Path=/" in cookie


def used_up(monkeypatch: pytest.MonkeyPatch, limit: str, count: int) -> None:
    """A limit that is reached sooner."""
    monkeypatch.setattr(password_sign_in, limit, replace(getattr(password_sign_in, limit), count=count))


def sign_in_from(portal, address, password=PASSWORD, email="ada@example.edu"):
    data = {"email": email, "password": password}
    return stranger(portal).post("/sign-in", data=data, environ_base={"REMOTE_ADDR": address})


def test_too_many_wrong_passwords_wait_also_for_accounts_that_there_are_not(portal, ada):
    for email in ("ada@example.edu", "nobody@example.edu"):
        client = stranger(portal)
        for _ in range(10):
            assert sign_in(client, "wrong", email).status_code == 422
        answer = sign_in(client, PASSWORD, email)
        assert answer.status_code == 429
        assert 0 < int(answer.headers["Retry-After"]) <= 600
        assert 'data-refused="too_often"' in answer.get_data(as_text=True)
        assert "Set-Cookie" not in answer.headers
    assert sign_in_from(portal, "192.0.2.7").status_code == 303, "their owner is let in from another address"


@ONE_DATABASE
def test_one_address_shuts_nobody_out_everywhere(portal, ada, monkeypatch):
    used_up(monkeypatch, "_FROM_HERE", 3)
    used_up(monkeypatch, "_FROM_ANYWHERE", 5)
    for _ in range(10):
        sign_in(stranger(portal), "wrong")
    assert sign_in_from(portal, "192.0.2.7").status_code == 303


@ONE_DATABASE
def test_a_browser_that_was_signed_in_waits_for_nobody_else(portal, ada, monkeypatch):
    used_up(monkeypatch, "_ANYBODY", 5)
    used_up(monkeypatch, "_FROM_ANYWHERE", 5)
    known = stranger(portal)
    sign_in(known)
    known.post_form("/sign-out")
    for number in range(6):
        sign_in_from(portal, f"192.0.2.{number}", "wrong")
        sign_in(stranger(portal), "wrong", f"s{number}@example.edu")
    assert sign_in(stranger(portal)).status_code == 429
    assert sign_in_from(portal, "192.0.2.99").status_code == 429
    assert sign_in(known).status_code == 303
    assert sign_in(known, email="bob@example.edu").status_code == 429, "it is known for that account alone"
    known.post_form("/sign-out")
    for _ in range(10):
        assert sign_in(known, "wrong").status_code == 422
    assert sign_in(known).status_code == 429, "and guesses no more than others"


@ONE_DATABASE
def test_what_a_browser_keeps_lets_nobody_in(portal, ada):
    client = stranger(portal)
    sign_in(client)
    kept = client.get_cookie(f"{COOKIE}-earlier")
    assert kept is not None
    client.post_form("/sign-out")
    client.set_cookie(COOKIE, kept.value)
    assert client.get("/account").status_code == 303


def test_the_right_password_counts_as_no_failure(portal, ada):
    client = stranger(portal)
    for _ in range(12):
        assert sign_in(client).status_code == 303


def test_a_foreign_page_cannot_sign_anybody_in(portal, ada):
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = stranger(portal).post("/sign-in", data={"email": ada.email, "password": PASSWORD}, headers=headers)
        assert answer.status_code == 403
    client = client_of(portal, "ada")
    assert client.post("/sign-out").status_code == 403


@pytest.mark.parametrize("path", ["/", "/courses/gpu/tiled?left=1&right=2", "/a%20b", "/courses/é"])
def test_where_one_may_go_on(path):
    assert local_path(path) == path


@pytest.mark.parametrize(
    "path",
    ["", "//evil.example", "/\\evil.example", "\\\\evil", "https://evil.example", "evil", "/a\r\nSet-Cookie: x",
     "/\t/evil", "javascript:alert(1)", "///evil", "/x" * 400, "http:/evil", " /x", "//[/x"],
)  # fmt: skip
def test_where_nobody_is_sent(path):
    assert local_path(path) == ""


def test_next_leads_nowhere_else(portal, ada):
    client = stranger(portal)
    assert "evil" not in client.page("/sign-in?next=//evil.example")
    assert sign_in(client, next="//evil.example").headers["Location"] == "/"


def test_a_session_does_not_survive_its_account(portal):
    client = client_of(portal, "eve")
    with portal.course.sessions.begin() as session:
        disable(session, session.get_one(Person, portal.course.person("eve")))
        assert all(row.ended_at is not None for row in session.query(BrowserSession))
    assert client.get("/account").status_code == 303
