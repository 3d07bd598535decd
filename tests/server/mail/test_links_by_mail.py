"""Invitations and links for a new password that go out by e-mail, and the ways to turn off the other e-mails."""

from __future__ import annotations

import re
import smtplib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, select, update

from server.accounts.models import Identity, Person
from server.mail.sender import Mailer
from tests.server.databases import ON_SQLITE
from tests.server.mail.smtp import Inbox, inbox
from tests.server.mail.test_mail import PORTAL, body, commented
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of, stranger

pytestmark = ON_SQLITE
TYPED = {"password": "two green teapots", "again": "two green teapots"}


@pytest.fixture
def mails(portal: Portal, monkeypatch: pytest.MonkeyPatch) -> Iterator[Inbox]:
    """A portal that sends e-mail to this inbox."""
    here = portal.app.extensions["tilelab"]
    with inbox() as kept:
        settings = replace(here.settings, mail=kept.server)
        monkeypatch.setitem(portal.app.extensions, "tilelab", replace(here, settings=settings))
        yield kept


def sent(portal: Portal, mails: Inbox, minutes: float = 1) -> int:
    """Send what is due after so many minutes."""
    engine = portal.course.sessions.kw["bind"]
    assert isinstance(engine, Engine)
    return Mailer(engine, mails.server, PORTAL).round(datetime.now(UTC) + timedelta(minutes=minutes))


def links(mails: Inbox, name: str = "ada") -> list[str]:
    """The links that this person got."""
    theirs = [body(each) for each in mails.received if str(each["To"]) == f"{name}@example.edu"]
    return [re.findall(rf"{PORTAL}(/(?:invitation|reset)/\S+)", each)[0] for each in theirs]


def has_password(portal: Portal, name: str) -> None:
    with portal.course.sessions.begin() as session:
        session.execute(update(Person).where(Person.email == f"{name}@example.edu").values(password="x"))


def test_invitations_go_out_once_to_who_has_no_password(portal: Portal, ina: BrowserClient, mails: Inbox) -> None:
    for name in ("ada", "bob"):
        portal.course.person(name)
    has_password(portal, "bob")
    for _ in range(2):
        assert ina.post_form("/staff/gpu/roster/invitations/mail").status_code == 303
    sent(portal, mails)
    (link,) = links(mails)
    assert links(mails, "bob") == []
    assert "List-Unsubscribe" not in mails.received[0]
    ada = stranger(portal)
    assert ada.post_form(link, **TYPED).status_code == 303
    assert "ada@example.edu" in ada.page("/account")
    assert stranger(portal).get(link).status_code == 404


def test_a_link_whose_e_mail_went_twice_works_either_way(portal: Portal, ina: BrowserClient, mails: Inbox) -> None:
    portal.course.person("ada")
    has_password(portal, "ina")
    ina.post_form("/staff/gpu/roster/invitations/mail")
    mails.silent = True
    with pytest.raises(smtplib.SMTPServerDisconnected):
        sent(portal, mails)
    assert sent(portal, mails, minutes=5) >= 1
    assert [stranger(portal).get(link).status_code for link in links(mails)] == [200, 200]


def test_a_withdrawn_link_is_not_sent(portal: Portal, ina: BrowserClient, mails: Inbox) -> None:
    number = portal.course.person("ada")
    ina.post_form("/staff/gpu/roster/invitations/mail")
    ina.post_form(f"/staff/gpu/roster/{number}/link")
    sent(portal, mails)
    assert mails.subjects("ada") == []


def test_a_forgotten_password_is_replaced_by_e_mail(portal: Portal, mails: Inbox, one_window: None) -> None:
    portal.course.person("ada")
    has_password(portal, "ada")
    answers = [stranger(portal).post_form("/forgot", email=f"{name}@example.edu") for name in ("ada", "nobody")]
    assert {(each.status_code, each.headers["Location"]) for each in answers} == {(303, "/sign-in?notice=link-asked")}
    assert sent(portal, mails) == 1
    (link,) = links(mails)
    assert link.startswith("/reset/")
    assert stranger(portal).post_form(link, **TYPED).status_code == 303
    assert (
        stranger(portal).post_form("/sign-in", email="ada@example.edu", password=TYPED["password"]).status_code == 303
    )


def test_an_e_mail_alone_opens_no_operator_and_no_account_of_a_provider(portal: Portal, mails: Inbox) -> None:
    now = datetime.now(UTC)
    client_of(portal, "ina", admin=True)
    client_of(portal, "eve", creates_courses=True)
    number = portal.course.person("ada")
    with portal.course.sessions.begin() as session:
        session.add(Identity(person_id=number, issuer="https://i.example", subject="s", created_at=now, used_at=now))
    for name in ("ina", "eve", "ada"):
        has_password(portal, name)
        assert stranger(portal).post_form("/forgot", email=f"{name}@example.edu").status_code == 303
    assert sent(portal, mails) == 0


def test_a_link_that_one_asked_for_vouches_for_no_name(portal: Portal, mails: Inbox, one_window: None) -> None:
    number = portal.course.person("ada")
    has_password(portal, "ada")
    with portal.course.sessions.begin() as session:
        session.get_one(Person, number).proven_at = None
    stranger(portal).post_form("/forgot", email="ada@example.edu")
    sent(portal, mails)
    assert stranger(portal).post_form(links(mails)[0], **TYPED).status_code == 303
    assert portal.course.row(select(Person.proven_at).where(Person.id == number)) is None


def test_links_by_e_mail_are_limited(portal: Portal, mails: Inbox, one_window: None) -> None:
    portal.course.person("ada")
    codes = [stranger(portal).post_form("/forgot", email="ADA@example.edu").status_code for _ in range(4)]
    assert codes == [303, 303, 303, 429]


def test_without_a_mail_server_no_link_is_offered(portal: Portal, ina: BrowserClient) -> None:
    assert stranger(portal).get("/forgot").status_code == 404
    assert ina.post_form("/staff/gpu/roster/invitations/mail").status_code == 404


def test_a_reader_turns_off_one_kind_without_signing_in(portal: Portal, mails: Inbox) -> None:
    commented(portal.course, "ada", datetime.now(UTC))
    assert sent(portal, mails) == 1
    header = str(mails.received[0]["List-Unsubscribe"]).strip(" <>")
    path = header.removeprefix(PORTAL)
    assert header in body(mails.received[0])
    reader = stranger(portal)
    assert reader.get(path).status_code == 200
    assert reader.post(path, data={"List-Unsubscribe": "One-Click"}).status_code == 200
    assert portal.course.row(select(Person.mails_off).where(Person.name == "ada")) == "answers"
    commented(portal.course, "ada", datetime.now(UTC))
    assert sent(portal, mails) == 0
    assert {reader.get(f"{path}{more}").status_code for more in ("x", "%00")} == {404}


def test_an_operator_tries_the_mail_server(portal: Portal, mails: Inbox) -> None:
    operator = client_of(portal, "olga", None, admin=True)
    assert operator.post_form("/fleet/mail").status_code == 303
    assert "1 waiting" in operator.page("/fleet")
    assert sent(portal, mails) == 1
    assert [str(each["To"]) for each in mails.received] == ["olga@example.edu"]
    assert "waiting, the oldest" not in operator.page("/fleet")
