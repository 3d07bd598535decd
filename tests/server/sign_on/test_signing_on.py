"""Single sign-on with a real provider, as a browser sees it."""

from __future__ import annotations

import hmac
import html
import json
import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import select

from server.accounts import service
from server.accounts.links import create_link
from server.accounts.models import Identity, LinkPurpose, Person
from tests.server.sign_on.provider import Visitor
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of, stranger


def here(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}"


def sign_on(portal: Portal, name: str, browser: BrowserClient | None = None):
    """A browser that has been at the provider, and what it gets when it returns."""
    browser = browser or stranger(portal)
    started = browser.get("/sign-on/university?next=/account")
    assert started.status_code == 303, started.get_data(as_text=True)
    return browser, browser.get(here(Visitor().sign_in(started.headers["Location"], name)))


def people(portal: Portal) -> dict[str, str]:
    """By subject, the emails of the accounts that identities open."""
    with portal.course.sessions.begin() as session:
        rows = session.execute(select(Identity.subject, Person.email).join(Identity.person))
        return {row.subject: row.email for row in rows}


def test_a_person_on_the_roster_signs_in(signing: Portal) -> None:
    signing.course.person("ada")

    browser, answer = sign_on(signing, "ada")

    assert (answer.status_code, answer.headers["Location"]) == (303, "/account")
    assert "ada@example.edu" in browser.page("/account")
    assert people(signing) == {"ada": "ada@example.edu"}


def test_nobody_comes_in_by_an_email_that_the_provider_has_not_checked(signing: Portal) -> None:
    signing.course.person("ada")
    for name in ("unverified", "nobody"):
        _, answer = sign_on(signing, name)
        assert answer.status_code == 403, name
    assert people(signing) == {}


def test_a_new_person_gets_an_account(signing: Portal) -> None:
    browser, answer = sign_on(signing, "new")
    assert answer.status_code == 303
    assert "New Person" in browser.page("/account")


def test_a_recycled_email_does_not_open_the_account_of_its_former_owner(signing: Portal) -> None:
    sign_on(signing, "ada")
    _, answer = sign_on(signing, "heir")
    assert answer.status_code == 403
    assert people(signing) == {"ada": "ada@example.edu"}


def test_the_subject_decides_if_the_email_changes(signing: Portal) -> None:
    sign_on(signing, "ada")
    with signing.course.sessions.begin() as session:
        session.scalars(select(Person)).one().email = "countess@example.edu"

    browser, _ = sign_on(signing, "ada")

    assert "countess@example.edu" in browser.page("/account")


def test_who_took_an_email_with_a_code_loses_the_account_to_its_owner(signing: Portal) -> None:
    """The thief has a password, a browser and a token."""
    number = signing.course.person("ada")
    with signing.course.sessions.begin() as session:
        person = session.get_one(Person, number)
        person.proven_at = None
        service.set_password(session, person, "the thief's password")
        token = service.create_token(session, person, "thief")
    thief = client_of(signing, "ada")

    owner, _ = sign_on(signing, "ada")

    assert owner.get("/account").status_code == 200
    assert thief.get("/account").status_code == 303
    assert service.sign_in(signing.course.sessions, "ada@example.edu", "the thief's password") is None
    with signing.course.sessions.begin() as session:
        assert service.find_by_token(session, token) is None


def test_an_operator_is_not_found_by_email(signing: Portal) -> None:
    client_of(signing, "ada", admin=True)
    _, answer = sign_on(signing, "ada")
    assert answer.status_code == 403
    assert people(signing) == {}


def test_a_disabled_person_stays_out(signing: Portal) -> None:
    sign_on(signing, "ada")
    with signing.course.sessions.begin() as session:
        service.disable(session, session.scalars(select(Person)).one())
    _, answer = sign_on(signing, "ada")
    assert answer.status_code == 403


PASSWORD = "a password of mine"


def with_password(portal: Portal, name: str, **person: Any) -> BrowserClient:
    """A browser of somebody who signed in with a password."""
    client_of(portal, name, **person)
    with portal.course.sessions.begin() as session:
        found = session.scalars(select(Person).where(Person.email == f"{name}@example.edu")).one()
        service.set_password(session, found, PASSWORD)
    return client_of(portal, name)


def connect(portal: Portal, browser: BrowserClient, name: str, password: str = PASSWORD):
    page = browser.post_form("/account/sign-on/university", present=password)
    found = re.search(r'href="(http:[^"]+)"', page.get_data(as_text=True))
    return browser.get(here(Visitor().sign_in(html.unescape(found[1]), name))) if found else page


def test_an_operator_connects_a_sign_in_and_disconnects_it(signing: Portal) -> None:
    operator = with_password(signing, "ina", admin=True)
    assert connect(signing, operator, "ada", "guessed").status_code == 422
    assert people(signing) == {}
    assert connect(signing, operator, "ada").status_code == 303
    assert people(signing) == {"ada": "ina@example.edu"}
    browser, _ = sign_on(signing, "ada")
    assert "ina@example.edu" in browser.page("/account")

    assert operator.post_form(f"/account/sign-on/{identity(signing)}/disconnect").status_code == 303
    assert people(signing) == {}
    assert browser.get("/account").status_code == 303


def test_the_only_way_in_stays(signing: Portal) -> None:
    browser, _ = sign_on(signing, "new")
    assert browser.post_form(f"/account/sign-on/{identity(signing)}/disconnect").status_code == 409
    assert people(signing) == {"new": "new@example.edu"}


def test_a_thief_with_a_code_connects_nothing_to_keep(signing: Portal) -> None:
    thief = with_password(signing, "ada", proven_at=None)
    assert connect(signing, thief, "new").status_code == 403
    _, answer = sign_on(signing, "ada")
    assert answer.status_code == 303
    assert people(signing) == {"ada": "ada@example.edu"}
    assert thief.get("/account").status_code == 303


def test_a_link_for_a_new_password_disconnects_all(signing: Portal) -> None:
    sign_on(signing, "ada")
    with signing.course.sessions.begin() as session:
        token = create_link(session, session.scalars(select(Person)).one(), LinkPurpose.RESET)
    stranger(signing).post(f"/reset/{token}", data={"password": PASSWORD, "again": PASSWORD})
    assert people(signing) == {}


def test_an_invitation_ends_with_the_owners_first_sign_in(signing: Portal) -> None:
    number = signing.course.person("ada")
    with signing.course.sessions.begin() as session:
        token = create_link(session, session.get_one(Person, number), LinkPurpose.INVITATION)
    sign_on(signing, "ada")
    late = stranger(signing).post(f"/invitation/{token}", data={"password": PASSWORD, "again": PASSWORD})
    assert late.status_code == 404
    assert people(signing) == {"ada": "ada@example.edu"}


def identity(portal: Portal) -> int:
    with portal.course.sessions.begin() as session:
        return session.scalars(select(Identity.id)).one()


def test_a_sign_in_opens_one_account_only(signing: Portal) -> None:
    sign_on(signing, "ada")
    assert connect(signing, with_password(signing, "tom"), "ada").status_code == 403
    assert people(signing) == {"ada": "ada@example.edu"}


def test_nobody_disconnects_another_persons_sign_in(signing: Portal) -> None:
    sign_on(signing, "ada")
    tom = client_of(signing, "tom")
    with signing.course.sessions.begin() as session:
        service.set_password(
            session, session.scalars(select(Person).where(Person.name == "tom")).one(), "toms password"
        )
    tom.post_form(f"/account/sign-on/{identity(signing)}/disconnect")
    assert people(signing) == {"ada": "ada@example.edu"}


def begun(browser: BrowserClient) -> tuple[str, str]:
    """Where the provider asks for an attempt to connect, and the name of its cookie."""
    page = browser.post_form("/account/sign-on/university", present=PASSWORD).get_data(as_text=True)
    address = html.unescape(re.findall(r'href="(http:[^"]+)"', page)[0])
    return address, f"tilelab-sign-on-{parse_qs(urlsplit(address).query)['state'][0][:8]}"


def test_a_planted_attempt_connects_nothing(signing: Portal) -> None:
    """The cookie of a thief's own attempt to connect, in the browser of an operator."""
    thief = with_password(signing, "tom")
    address, name = begun(thief)
    planted = thief.get_cookie(name)
    assert planted is not None
    operator = with_password(signing, "ina", admin=True)
    operator.set_cookie(name, planted.decoded_value)

    assert operator.get(here(Visitor().sign_in(address, "new"))).status_code == 400
    assert people(signing) == {}


def test_a_session_alone_connects_nothing(signing: Portal) -> None:
    """The session's holder makes up an attempt, as if the password had been typed."""
    operator = with_password(signing, "ina", admin=True)
    address, name = begun(operator)
    kept = operator.get_cookie(name)
    assert kept is not None
    *attempt, _ = json.loads(kept.decoded_value)
    made_up = hmac.digest(operator.session_token.encode(), f"connect {attempt[1]}".encode(), "sha256").hex()
    operator.set_cookie(name, json.dumps([*attempt, made_up]))
    assert operator.get(here(Visitor().sign_in(address, "new"))).status_code == 400
    assert people(signing) == {}


def test_an_attempt_to_connect_ends_after_ten_minutes(signing: Portal, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = with_password(signing, "ina", admin=True)
    address, _ = begun(operator)
    monkeypatch.setattr("server.sign_on.views._UNDER_WAY", timedelta(seconds=-1))
    assert operator.get(here(Visitor().sign_in(address, "new"))).status_code == 400
    assert people(signing) == {}


def test_an_account_without_a_password_connects_nothing_more(signing: Portal) -> None:
    browser, _ = sign_on(signing, "ada")
    assert browser.get("/account/sign-on/university").status_code == 403
    assert browser.post_form("/account/sign-on/university").status_code == 403


def test_a_password_that_no_longer_signs_in_still_proves_who_connects(passwordless: Portal) -> None:
    ada = with_password(passwordless, "ada")
    assert ada.post_form("/account/sign-on/university").status_code == 422


def test_a_password_that_no_longer_signs_in_makes_no_new_session(passwordless: Portal) -> None:
    ada = with_password(passwordless, "ada")
    new = "another one of mine"
    assert ada.post_form("/account/password", present=PASSWORD, password=new, again=new).status_code == 403


def test_a_declined_sign_in_says_so(signing: Portal) -> None:
    browser = stranger(signing)
    address = browser.get("/sign-on/university").headers["Location"]
    state = parse_qs(urlsplit(address).query)["state"][0]
    answer = browser.get("/sign-on/university/answer", query_string={"error": "access_denied", "state": state})
    assert answer.status_code == 403


# -- without passwords ------------------------------------------------------------------------------------------------


def test_only_operators_have_passwords(passwordless: Portal) -> None:
    for name in ("ada", "ina"):
        with_password(passwordless, name, admin=name == "ina")
    assert [enter(passwordless, name) for name in ("ada", "ina")] == [422, 303]


def enter(portal: Portal, name: str) -> int:
    form = {"email": f"{name}@example.edu", "password": PASSWORD}
    return stranger(portal).post("/sign-in", data=form).status_code


def test_links_and_codes_lead_to_the_provider(passwordless: Portal) -> None:
    number = passwordless.course.person("ada")
    with passwordless.course.sessions.begin() as session:
        token = create_link(session, session.get_one(Person, number), LinkPurpose.RESET)
    browser = stranger(passwordless)
    assert browser.get(f"/reset/{token}").status_code == 403
    assert browser.get("/join?code=abc").headers["Location"].startswith("/sign-in?next=")
    assert browser.post("/join", data={"code": "abc"}).status_code == 401
