"""What people change about their own account."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
from sqlalchemy import select

from server.accounts import views
from server.accounts.models import ApiToken, Person
from server.accounts.pseudonyms import BOARD_NAME, board_name
from server.accounts.random_names import draw_name, looks_random
from server.accounts.service import set_password, valid_tokens
from server.audit.models import AuditEvent
from tests.server.databases import ON_SQLITE
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of, stranger

OLD, NEW = "correct horse", "two green teapots"
PAGES = ("/account", "/account/password", "/account/sessions", "/account/tokens")
ONE_DATABASE = ON_SQLITE
pytestmark = pytest.mark.usefixtures("one_window")


def person(portal: Portal, name: str = "ada") -> Person:
    with portal.course.sessions.begin() as session:
        return session.get_one(Person, portal.course.person(name))


def shown(portal: Portal, name: str = "ada") -> str:
    """What boards call them, which a query says too."""
    with portal.course.sessions.begin() as session:
        found = session.get_one(Person, portal.course.person(name))
        assert session.scalar(select(BOARD_NAME).where(Person.id == found.id)) == board_name(found)
        return board_name(found)


def save(client, shown="pseudonym", pseudonym="", time_zone="", name=None):
    """Send the form, with the name that stands in it where none is given."""
    if name is None:
        found = re.search(r'<input id="name"[^>]* value="([^"]*)"', client.page("/account"))
        assert found
        name = html.unescape(found[1])
    return client.post_form("/account", name=name, shown=shown, pseudonym=pseudonym, time_zone=time_zone)


@pytest.mark.parametrize("path", PAGES)
def test_each_page_is_for_who_is_signed_in(portal, path):
    answer = stranger(portal).get(path)
    assert answer.status_code == 303
    assert answer.headers["Location"].startswith("/sign-in?next=%2Faccount")
    assert stranger(portal).post_form(path).status_code in {401, 405}
    page = client_of(portal, "ada").page(path)
    assert page.count("<h1") == 1
    assert page.count('aria-current="page"') == 1


@ONE_DATABASE
@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/account", "Type a name."),
        ("/account/password", "Type your current password."),
        ("/account/tokens", "Type a token&#39;s name."),
    ],
)
def test_what_was_left_empty_is_asked_for(portal, path, told):
    answer = client_of(portal, "ada").post_form(path, days="30", shown="pseudonym")
    assert answer.status_code == 422
    assert f">{told}<" in answer.get_data(as_text=True)


class TestProfile:
    def test_the_boards_show_a_made_name_until_one_is_chosen(self, portal):
        client = client_of(portal, "ada")
        made = person(portal).made_name
        assert shown(portal) == made
        assert made in client.page("/account")
        assert save(client, pseudonym=" Night   Owl ").headers["Location"] == "/account?notice=profile-saved"
        assert shown(portal) == "Night Owl"
        save(client, shown="name", pseudonym="Night Owl")
        assert shown(portal) == "ada"
        save(client)
        assert shown(portal) == made

    @ONE_DATABASE
    def test_a_made_name_is_friendly_and_follows_from_nothing(self, portal):
        names = {draw_name() for _ in range(20)}
        assert len(names) == 20
        assert all(re.fullmatch(r"[A-Z][a-z]+ [A-Z][a-z]+ \d{3,4}", name) for name in names)
        assert all(looks_random(name) for name in names)

    def test_the_name_of_who_came_with_a_code_is_on_no_board(self, portal):
        client = client_of(portal, "eve", proven_at=None, shows_name=True, name="Ina Instructor")
        assert shown(portal, "eve") == person(portal, "eve").made_name
        page = client.page("/account")
        assert re.search(r'value="name"[^>]* disabled', page)
        assert save(client, shown="name").status_code == 422
        assert save(client, pseudonym="Eve").status_code == 303
        assert shown(portal, "eve") == "Eve", "as a pseudonym, which is compared with all names"

    @pytest.mark.parametrize(
        "pseudonym", ["Night Owl", "l33t", "夜のフクロウ", "Ночная сова", "a-b_c.d", "Zoë", "بومة الليل"]
    )
    def test_what_can_be_a_pseudonym(self, portal, pseudonym):
        assert save(client_of(portal, "ada"), pseudonym=pseudonym).status_code == 303
        assert person(portal).pseudonym == pseudonym

    @pytest.mark.parametrize(
        "pseudonym",
        ["ab", "x" * 41, "<b>x</b>", "a\u202eb c", "a\u200bbc", "123", "...", "\u0410d\u0430",
         "abc😀", "a@b.c", "Quiet Otter 417", "quietotter417", "abc\x07"],
    )  # fmt: skip
    def test_what_cannot(self, portal, pseudonym):
        answer = save(client_of(portal, "ada"), pseudonym=pseudonym)
        assert answer.status_code == 422
        assert 'id="pseudonym-error"' in answer.get_data(as_text=True)
        assert person(portal).pseudonym is None

    @pytest.mark.parametrize("pseudonym", ["Night Owl", "night-owl", "NIGHTOWL", "eve", "E.V.E"])
    def test_nobody_is_taken_for_somebody_else(self, portal, pseudonym):
        save(client_of(portal, "bob"), pseudonym="Night Owl")
        portal.course.person("eve")
        answer = save(client_of(portal, "ada"), pseudonym=pseudonym)
        assert answer.status_code == 422
        assert "This name is taken" in answer.get_data(as_text=True)
        assert save(client_of(portal, "bob"), pseudonym="night owl").status_code == 303

    @ONE_DATABASE
    def test_a_name_can_be_corrected_and_that_is_noted(self, portal):
        client = client_of(portal, "ada")
        assert save(client, name=" Ada  O’Brien-Lovelace, Jr. ").status_code == 303
        assert person(portal).name == "Ada O’Brien-Lovelace, Jr."
        save(client, pseudonym="Night Owl", time_zone="Europe/Vienna")
        save(client, pseudonym="Night Owl", time_zone="UTC")
        events = portal.course.rows(select(AuditEvent).order_by(AuditEvent.id))
        assert [(event.action, event.detail) for event in events] == [
            ("person.changed", {"changed": ["name"]}),
            ("person.changed", {"changed": ["pseudonym"]}),
        ]

    @ONE_DATABASE
    @pytest.mark.parametrize("name", ["bob", "B.O.B", "b\u043eb", "Quiet Otter 417", "", "<b>x</b>"])
    def test_nobody_calls_themselves_as_another(self, portal, name):
        portal.course.person("bob")
        answer = save(client_of(portal, "ada"), name=name)
        assert answer.status_code == 422
        assert 'id="name-error"' in answer.get_data(as_text=True)
        assert person(portal).name == "ada"

    @ONE_DATABASE
    def test_nobody_finds_out_who_is_here_by_trying_names(self, portal, monkeypatch):
        monkeypatch.setattr(views, "_NAMES_TRIED", replace(views._NAMES_TRIED, count=2))
        client = client_of(portal, "ada")
        assert [save(client, pseudonym=f"Owl {number}").status_code for number in range(3)] == [303, 303, 429]
        assert save(client, pseudonym="Owl 1").status_code == 303, "what is kept is not tried"

    def test_times_are_told_in_a_zone_of_choice(self, portal):
        client = client_of(portal, "ada")
        assert save(client, time_zone="America/Argentina/Buenos_Aires").status_code == 303
        page = client.page("/account")
        assert re.search(r'value="America/Argentina/Buenos_Aires" selected>Argentina, Buenos Aires<', page)
        assert save(client, time_zone="Mars/Olympus").status_code == 422
        assert person(portal).time_zone == "America/Argentina/Buenos_Aires"
        assert save(client, time_zone="course").status_code == 303
        assert 'value="course" selected>' in client.page("/account")

    def test_a_mistake_changes_nothing_else(self, portal):
        save(client_of(portal, "ada"), shown="name", pseudonym="x", time_zone="Europe/Vienna")
        assert not person(portal).shows_name
        assert person(portal).time_zone == ""


class TestPassword:
    @pytest.fixture
    def client(self, portal):
        portal.course.person("ada")
        with portal.course.sessions.begin() as session:
            set_password(session, session.get_one(Person, portal.course.person("ada")), OLD)
        return client_of(portal, "ada")

    def change(self, client, present=OLD, password=NEW, again=NEW):
        return client.post_form("/account/password", present=present, password=password, again=again)

    def test_all_others_are_out_and_this_browser_has_a_new_session(self, portal, client):
        other = client_of(portal, "ada")
        kept = client.session_token
        answer = self.change(client)
        assert answer.headers["Location"] == "/account/password?notice=password-changed"
        assert client.session_token != kept
        assert other.get("/account").status_code == 303
        client.set_cookie("tilelab", kept)
        assert client.get("/account").status_code == 303
        signed_in = stranger(portal).post_form("/sign-in", email="ada@example.edu", password=NEW)
        assert signed_in.status_code == 303

    @ONE_DATABASE
    def test_tokens_go_on_unless_it_is_ticked(self, portal, client):
        portal.token("ada")
        for ticked, left in (({}, 1), ({"tokens": "yes"}, 0)):
            present, new = (OLD, NEW) if left else (NEW, OLD)
            answer = client.post_form("/account/password", present=present, password=new, again=new, **ticked)
            assert answer.status_code == 303
            with portal.course.sessions.begin() as session:
                assert len(valid_tokens(session, portal.course.person("ada"))) == left

    def test_it_takes_the_present_one(self, portal, client):
        answer = self.change(client, present="wrong")
        assert answer.status_code == 422
        assert 'id="present-error"' in answer.text
        for _ in range(9):
            self.change(client, present="wrong")
        answer = self.change(client)
        assert answer.status_code == 429
        assert int(answer.headers["Retry-After"]) > 0

    def test_the_new_one_is_typed_twice_and_is_good(self, portal, client):
        assert 'id="again-error"' in self.change(client, again="else").get_data(as_text=True)
        assert 'id="password-error"' in self.change(client, password="short").get_data(as_text=True)
        assert self.change(client).status_code == 303


class TestSessions:
    def test_each_can_be_ended(self, portal):
        client, other = client_of(portal, "ada"), client_of(portal, "ada")
        page = client.page("/account/sessions")
        numbers = re.findall(r"/account/sessions/(\d+)/end", page)
        assert len(numbers) == 1, "not the one that looks"
        answer = client.post_form(f"/account/sessions/{numbers[0]}/end")
        assert answer.headers["Location"] == "/account/sessions?notice=session-ended"
        assert other.get("/account").status_code == 303
        assert client.get("/account").status_code == 200

    def test_all_others_at_once(self, portal):
        client, *others = (client_of(portal, "ada") for _ in range(3))
        client.post_form("/account/sessions/end-others")
        assert [other.get("/account").status_code for other in others] == [303, 303]
        assert client.get("/account").status_code == 200

    def test_nobody_ends_those_of_others(self, portal):
        ada, eve = client_of(portal, "ada"), client_of(portal, "eve")
        client_of(portal, "ada")
        number = re.findall(r"/account/sessions/(\d+)/end", ada.page("/account/sessions"))[0]
        eve.post_form(f"/account/sessions/{number}/end")
        assert f"/account/sessions/{number}/end" in ada.page("/account/sessions")
        for none, status in ((0, 303), (2**63 - 1, 303), (2**63, 404), (10**40, 404)):
            assert eve.post_form(f"/account/sessions/{none}/end").status_code == status

    def test_browsers_are_told_by_their_names(self, portal):
        with portal.course.sessions.begin() as session:
            set_password(session, session.get_one(Person, portal.course.person("ada")), OLD)
        for agent in (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1",
            "<script>alert(1)</script>",
            "",
        ):
            client = stranger(portal)
            headers = {"User-Agent": agent}
            client.post("/sign-in", data={"email": "ada@example.edu", "password": OLD}, headers=headers)
        page = client.page("/account/sessions")
        assert "Firefox on Windows" in page
        assert "Safari on iPhone" in page
        assert "Unknown browser" in page
        assert "<script>alert" not in page


class TestTokens:
    def test_it_is_shown_once_works_and_can_be_revoked(self, portal):
        client = client_of(portal, "ada")
        made = client.post_form("/account/tokens", name="laptop", days="30")
        assert made.status_code == 200
        [token] = re.findall(r'id="token">(tl_[\w-]+)<', made.get_data(as_text=True))
        again = client.post_form("/account/tokens", name="laptop", days="30")
        assert "it can&#39;t be shown again" in again.get_data(as_text=True)
        page = client.page("/account/tokens")
        assert token not in page
        assert "laptop" in page
        assert "never" in page
        headers = {"Authorization": f"Bearer {token}"}
        assert portal.client.get("/api/v1/submissions/none", headers=headers).status_code == 404
        assert "never" not in client.page("/account/tokens")
        number = re.findall(r"/account/tokens/(\d+)/revoke", page)[0]
        assert client_of(portal, "eve").post_form(f"/account/tokens/{number}/revoke").status_code == 303
        assert portal.client.get("/api/v1/submissions/none", headers=headers).status_code == 404
        client.post_form(f"/account/tokens/{number}/revoke")
        assert portal.client.get("/api/v1/submissions/none", headers=headers).status_code == 401
        assert "No tokens yet" in client.page("/account/tokens")
        told = portal.course.rows(select(AuditEvent.action).order_by(AuditEvent.id))
        assert told == ["token.created", "token.revoked"]

    def test_it_allows_what_was_chosen_and_the_list_shows_it(self, portal):
        client = client_of(portal, "ada")
        made = client.post_form("/account/tokens", name="reader", days="30", access="read")
        [token] = re.findall(r'id="token">(tl_[\w-]+)<', made.get_data(as_text=True))
        headers = {"Authorization": f"Bearer {token}"}
        assert portal.client.get("/api/v1/me", headers=headers).get_json()["token"]["scopes"] == ["read"]
        assert '<td data-of="Scopes">read</td>' in client.page("/account/tokens")
        client.post_form("/account/tokens", name="usual", days="30")
        assert '<td data-of="Scopes">read, submit, staff</td>' in client.page("/account/tokens")
        odd = client.post_form("/account/tokens", name="odd", days="30", access="root")
        assert (odd.status_code, 'id="access-error"' in odd.get_data(as_text=True)) == (422, True)

    def test_it_ends_when_it_was_to(self, portal):
        client_of(portal, "ada").post_form("/account/tokens", name="laptop", days="7")
        row = portal.course.row(select(ApiToken))
        assert row.expires_at is not None
        assert (row.expires_at - row.created_at).days == 7

    @pytest.mark.parametrize(
        ("name", "days", "field"), [("", "30", "name"), ("x" * 101, "30", "name"), ("laptop", "99999", "days"),
                                    ("laptop", "", "days"), ("laptop", "-1", "days"), ("a\x07", "7", "name")],
    )  # fmt: skip
    def test_what_is_no_token(self, portal, name, days, field):
        answer = client_of(portal, "ada").post_form("/account/tokens", name=name, days=days)
        assert answer.status_code == 422
        assert f'id="{field}-error"' in answer.get_data(as_text=True)

    def test_a_name_is_taken_while_its_token_is_good(self, portal):
        client = client_of(portal, "ada")
        client.post_form("/account/tokens", name="laptop", days="7")
        assert client.post_form("/account/tokens", name="laptop", days="7").status_code == 422
        assert client_of(portal, "bob").post_form("/account/tokens", name="laptop", days="7").status_code == 200

    def test_there_are_only_so_many(self, portal):
        client = client_of(portal, "ada")
        for number in range(20):
            assert client.post_form("/account/tokens", name=f"t{number}", days="7").status_code == 200
        assert client.post_form("/account/tokens", name="more", days="7").status_code == 422

    def test_a_page_takes_no_token_for_a_session(self, portal):
        headers = {"Authorization": f"Bearer {portal.token('ada')}"}
        assert portal.client.get("/account", headers=headers).status_code == 303
