"""Invitations, and links that set a password anew."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from server.accounts.links import LIFETIMES, create_link, path_of
from server.accounts.models import LinkPurpose, OneTimeLink, Person
from server.accounts.service import disable, set_password, valid_tokens
from server.courses.models import Membership, Role
from server.enrolment.links import use_link
from server.operations.erase import erase_person
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of, stranger

PASSWORD = "two green teapots"
PURPOSES = list(LinkPurpose)
TYPED = {"password": PASSWORD, "again": PASSWORD}


def link_for(portal: Portal, name: str = "ada", purpose: LinkPurpose = LinkPurpose.RESET, **more) -> str:
    number = portal.course.person(name)
    with portal.course.sessions.begin() as session:
        return path_of(purpose, create_link(session, session.get_one(Person, number), purpose, **more))


def can_sign_in(portal: Portal, password: str = PASSWORD) -> bool:
    answer = stranger(portal).post_form("/sign-in", email="ada@example.edu", password=password)
    return answer.status_code == 303


@pytest.mark.parametrize("purpose", PURPOSES)
def test_with_a_link_one_sets_a_password_and_is_signed_in(portal, purpose):
    path = link_for(portal, purpose=purpose)
    client = stranger(portal)
    for _ in range(3):
        assert "ada@example.edu" in client.page(path)
        assert client.head(path).status_code == 200
    answer = client.post_form(path, **TYPED)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/?notice=password-set")
    assert "ada@example.edu" in client.page("/account")
    assert can_sign_in(portal)


def test_it_works_once(portal):
    path = link_for(portal)
    assert stranger(portal).post_form(path, **TYPED).status_code == 303
    other = {"password": "of somebody else", "again": "of somebody else"}
    assert stranger(portal).post_form(path, **other).status_code == 404
    assert stranger(portal).get(path).status_code == 404
    assert not can_sign_in(portal, "of somebody else")


@pytest.mark.parametrize(
    "change",
    [{"role": Role.ASSISTANT}, {"dropped_at": datetime.now(UTC)}, {"disabled_at": datetime.now(UTC)}],
    ids=["demoted", "dropped", "shut out"],
)
def test_it_ends_with_the_right_of_who_handed_it_out(portal, change):
    maker = portal.course.person("ina", Role.INSTRUCTOR)
    path = link_for(portal, created_by=maker)
    assert stranger(portal).get(path).status_code == 200
    with portal.course.sessions.begin() as session:
        row = session.scalars(select(Membership).where(Membership.person_id == maker)).one()
        for name, value in change.items():
            setattr(row.person if name == "disabled_at" else row, name, value)
    assert stranger(portal).get(path).status_code == 404
    assert stranger(portal).post_form(path, **TYPED).status_code == 404


def test_a_reset_revokes_tokens_where_it_is_ticked(portal):
    for ticked, left in (("", 1), ("yes", 0)):
        path = link_for(portal)
        portal.token("ada")
        client = stranger(portal)
        assert re.search(r'name="tokens" value="yes" checked', client.page(path))
        assert client.post_form(path, **TYPED, tokens=ticked).status_code == 303
        with portal.course.sessions.begin() as session:
            assert len(valid_tokens(session, portal.course.person("ada"))) == left


def test_a_mistake_uses_nothing_up(portal):
    path = link_for(portal)
    for typed in ({"password": "short", "again": "short"}, {"password": PASSWORD, "again": "else"}, {}):
        answer = stranger(portal).post_form(path, **typed)
        assert answer.status_code == 422
        assert 'role="alert"' in answer.get_data(as_text=True)
    assert stranger(portal).post_form(path, **TYPED).status_code == 303


@pytest.mark.parametrize("purpose", PURPOSES)
def test_it_expires(portal, purpose):
    ago = datetime.now(UTC) - LIFETIMES[purpose]
    assert stranger(portal).get(link_for(portal, purpose=purpose, now=ago)).status_code == 404
    near = link_for(portal, purpose=purpose, now=ago + timedelta(minutes=5))
    assert stranger(portal).get(near).status_code == 200


def test_a_newer_link_takes_its_place(portal):
    first, second = link_for(portal), link_for(portal)
    assert stranger(portal).get(first).status_code == 404
    assert stranger(portal).get(second).status_code == 200


def test_everybody_who_was_in_is_out_and_every_other_link_is_over(portal):
    before = client_of(portal, "ada")
    invitation = link_for(portal, purpose=LinkPurpose.INVITATION)
    reset = link_for(portal)
    assert stranger(portal).post_form(reset, **TYPED).status_code == 303
    assert before.get("/account").status_code == 303
    assert stranger(portal).get(invitation).status_code == 404


def test_who_is_signed_in_as_somebody_else_is_told_and_changes_over(portal):
    client = client_of(portal, "bob")
    kept = client.session_token
    path = link_for(portal)
    assert "You are signed in as bob" in client.page(path)
    client.post_form(path, **TYPED)
    assert "ada@example.edu" in client.page("/account")
    client.set_cookie("tilelab", kept)
    assert client.get("/account").status_code == 303


def test_what_is_no_link_is_told_like_one_that_is_over(portal):
    path = link_for(portal)
    stranger(portal).post_form(path, **TYPED)
    over = stranger(portal).get(path).get_data(as_text=True)
    for other in (
        "/reset/none",
        "/reset/\x00",
        path.replace("/reset/", "/invitation/"),
        "/reset/é",
        "/reset/" + "x" * 4000,
    ):
        answer = stranger(portal).get(other)
        assert answer.status_code == 404
        assert answer.get_data(as_text=True) == over
        assert stranger(portal).post_form(other, **TYPED).status_code == 404


def test_a_link_lets_in_nobody_who_was_shut_out_or_erased(portal):
    path, other = link_for(portal), link_for(portal, "eve")
    with portal.course.sessions.begin() as session:
        disable(session, session.get_one(Person, portal.course.person("ada")))
    erase_person(portal.course.sessions, portal.course.person("eve"))
    assert stranger(portal).get(path).status_code == 404
    assert stranger(portal).post_form(other, **TYPED).status_code == 404


def test_only_a_hash_of_it_is_kept(portal):
    path = link_for(portal)
    assert portal.course.row(select(OneTimeLink.digest)) not in path


def test_of_many_at_once_one_gets_it(portal):
    token = link_for(portal).removeprefix("/reset/")
    with portal.course.sessions.begin() as session:
        assert use_link(session, LinkPurpose.RESET, token) is not None
        assert use_link(session, LinkPurpose.RESET, token) is None


def test_a_password_set_by_the_staff_ends_links_and_sessions_too(portal):
    path, client = link_for(portal), client_of(portal, "ada")
    with portal.course.sessions.begin() as session:
        set_password(session, session.get_one(Person, portal.course.person("ada")), PASSWORD)
    assert stranger(portal).get(path).status_code == 404
    assert client.get("/account").status_code == 303


def test_a_fault_writes_no_link_into_the_log(portal, monkeypatch, caplog):
    def broken(*_: object) -> None:
        raise ValueError

    path = link_for(portal)
    monkeypatch.setattr("server.enrolment.views.links.find_link", broken)
    assert stranger(portal).get(path).status_code == 500
    assert "a request failed" in caplog.text
    assert path.rpartition("/")[2] not in caplog.text
