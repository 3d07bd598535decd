"""People, passwords and tokens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from argon2 import PasswordHasher
from sqlalchemy import select, text

from server.accounts import device_login, service
from server.accounts.models import ApiToken, Person, Scope
from server.accounts.service import AccountError
from server.database.engine import Sessions
from tests.server.course import read_row
from tests.server.databases import ON_POSTGRESQL

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
PASSWORD = "correct horse"


@pytest.fixture
def ada(made: Sessions) -> Person:
    with made.begin() as session:
        return service.create_person(session, email=" Ada@Example.EDU ", name=" Ada   Lovelace", password=PASSWORD)


def test_a_person_is_kept_with_a_normal_email_and_name(made: Sessions, ada: Person) -> None:
    assert (ada.email, ada.name) == ("ada@example.edu", "Ada Lovelace")
    with made.begin() as session:
        found = service.find_person(session, "ADA@example.edu")
        assert found is not None
        assert found.id == ada.id
        assert found.password is not None
        assert PASSWORD not in found.password
        assert service.find_person(session, "ada") is None
        assert [person.id for person in service.people(session)] == [ada.id]


def test_an_email_belongs_to_one(made: Sessions, ada: Person) -> None:
    with pytest.raises(AccountError, match="already"), made.begin() as session:
        service.create_person(session, email="ada@EXAMPLE.edu", name="Other")


@pytest.mark.parametrize(
    "email",
    ["", "ada", "@example.edu", "ada@", "a b@c", "ada@example@edu", "a\n@b", "a\x00@b", "a" * 250 + "@b.edu", "<ada@b>",
     "erased-3@erased.invalid"],
)  # fmt: skip
def test_what_is_no_email(email: str) -> None:
    with pytest.raises(AccountError):
        service.normal_email(email)


def test_an_email_may_have_letters_of_any_script() -> None:
    composed, decomposed = "jos\u00e9@example.edu", "Jose\u0301@example.edu"
    assert service.normal_email(composed) == service.normal_email(decomposed) == composed


@pytest.mark.parametrize("name", ["", "  ", "a\x00b", "x" * 201])
def test_what_is_no_name(made: Sessions, name: str) -> None:
    with pytest.raises(AccountError), made.begin() as session:
        service.create_person(session, email="x@example.edu", name=name)


def test_signing_in(made: Sessions, ada: Person) -> None:
    found = service.sign_in(made, "Ada@example.edu", PASSWORD)
    assert found is not None
    assert found.id == ada.id
    for email, password in (
        ("ada@example.edu", "wrong horse"), ("bob@example.edu", PASSWORD), ("ada@example.edu", ""),
        ("ada", PASSWORD), ("ada@example.edu", "x" * 5000),
    ):  # fmt: skip
        assert service.sign_in(made, email, password) is None


def test_it_takes_the_same_work_whether_there_is_such_a_person(
    made: Sessions, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    with made.begin() as session:
        service.create_person(session, email="bob@example.edu", name="Bob")
    asked: list[str] = []

    def matches(kept: str, password: str) -> bool:
        asked.append(kept)
        return False

    monkeypatch.setattr(service, "_matches", matches)
    for email in ("ada@example.edu", "bob@example.edu", "nobody@example.edu"):
        service.sign_in(made, email, PASSWORD)
    assert [kept.split("$")[:4] for kept in asked] == [asked[0].split("$")[:4]] * 3


@pytest.mark.parametrize("password", ["", "short", "x" * 1025])
def test_what_is_no_password(made: Sessions, ada: Person, password: str) -> None:
    with pytest.raises(AccountError), made.begin() as session:
        service.set_password(session, session.get_one(Person, ada.id), password)
    assert service.sign_in(made, ada.email, PASSWORD)


def test_a_password_is_hashed_anew_when_hashes_become_dearer(
    made: Sessions, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_HASHER", PasswordHasher(time_cost=2, memory_cost=1024, parallelism=1))
    assert service.sign_in(made, ada.email, PASSWORD)
    with made.begin() as session:
        kept = session.get_one(Person, ada.id).password
    assert kept != ada.password
    assert kept is not None
    assert "t=2" in kept
    assert service.sign_in(made, ada.email, PASSWORD)


def test_who_is_shut_out_comes_in_by_no_way(made: Sessions, ada: Person) -> None:
    with made.begin() as session:
        person = session.get_one(Person, ada.id)
        token = service.create_token(session, person, "laptop")
        service.disable(session, person)
    assert service.sign_in(made, ada.email, PASSWORD) is None
    assert whose(made, token) is None
    with made.begin() as session:
        service.enable(session, session.get_one(Person, ada.id))
    assert service.sign_in(made, ada.email, PASSWORD)
    assert whose(made, token) == ada.id


def whose(made: Sessions, token: str, now: datetime = NOW) -> int | None:
    with made.begin() as session:
        person = service.find_by_token(session, token, now=now)
        return None if person is None else person.id


def test_a_token_is_known_and_not_kept(made: Sessions, ada: Person) -> None:
    with made.begin() as session:
        token = service.create_token(session, ada, "laptop")
    assert token.startswith("tl_")
    assert len(token) >= 46
    assert whose(made, token) == ada.id
    for other in ("", "tl_", token[:-1], token + "x", token.upper(), token.removeprefix("tl_")):
        assert whose(made, other) is None
    row = read_row(made, select(ApiToken))
    assert token not in repr(vars(row))


def test_a_token_expires(made: Sessions, ada: Person) -> None:
    with made.begin() as session:
        token = service.create_token(session, ada, "laptop", lifetime=timedelta(days=1), now=NOW)
    assert whose(made, token, NOW + timedelta(hours=23)) == ada.id
    assert whose(made, token, NOW + timedelta(hours=24)) is None


def test_a_token_allows_everything_or_what_was_chosen(made: Sessions, ada: Person) -> None:
    with made.begin() as session:
        usual = service.find_token(session, service.create_token(session, ada, "usual"))
        chosen = service.create_token(session, ada, "chosen", scopes=(Scope.STAFF, Scope.READ))
        narrow = service.find_token(session, chosen)
        assert usual is not None
        assert narrow is not None
        assert (*usual.scopes,) == (*Scope,)
        assert (*narrow.scopes,) == (Scope.READ, Scope.STAFF)


def test_the_tokens_that_still_work_are_listed(made: Sessions, ada: Person) -> None:
    day = timedelta(days=1)
    with made.begin() as session:
        service.create_token(session, ada, "laptop")
        service.create_token(session, ada, "phone", lifetime=day)
        service.create_token(session, ada, "expired", lifetime=day, now=datetime.now(UTC) - 2 * day)
        assert {token.name for token in service.valid_tokens(session, ada.id)} == {"laptop", "phone"}


def test_tokens_are_revoked(made: Sessions, ada: Person) -> None:
    with made.begin() as session:
        laptop, phone = (service.create_token(session, ada, name) for name in ("laptop", "phone"))
        assert service.revoke_tokens(session, ada, "phone") == 1
    assert whose(made, laptop) == ada.id
    assert whose(made, phone) is None
    with made.begin() as session:
        assert service.revoke_tokens(session, ada) == 1
    assert whose(made, laptop) is None


def test_the_use_of_a_token_is_noted_once_a_minute(made: Sessions, ada: Person) -> None:
    with made.begin() as session:
        token = service.create_token(session, ada, "laptop")
    noted = []
    for seconds, stale in ((0, True), (59, False), (61, True), (70, False)):
        now = NOW + timedelta(seconds=seconds)
        with made.begin() as session:
            found = service.find_token(session, token, now=now)
            assert found is not None
            assert found.stale is stale
            service.note_token_use(session, found.token_id, now=now)
        with made.begin() as session:
            noted.append(session.scalars(select(ApiToken.used_at)).one())
    assert noted == [NOW, NOW, NOW + timedelta(seconds=61), NOW + timedelta(seconds=61)]


@ON_POSTGRESQL
def test_a_command_line_that_asks_while_tokens_are_revoked_gets_none(made: Sessions, ada: Person) -> None:
    with made.begin() as session:
        secret, code = device_login.begin(session, "laptop")
        assert device_login.decide(session, code, ada.id, [Scope.READ])

    def ask() -> str | device_login.Waits:
        with made.begin() as session:
            return device_login.token_for(session, secret)

    with ThreadPoolExecutor(1) as pool:
        with made.begin() as session:
            person = session.get_one(Person, ada.id, with_for_update=True)
            asked = pool.submit(ask)
            while not session.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")):
                assert not asked.done()
            service.revoke_tokens(session, person)
        assert asked.result() is device_login.Waits.OVER
