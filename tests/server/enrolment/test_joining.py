"""Join a course by its code."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import select

from server.accounts.models import Person
from server.accounts.service import find_person
from server.audit.models import AuditEvent
from server.courses.models import Course, Membership, Role
from server.enrolment import views
from server.enrolment.codes import course_to_join, new_code
from tests.server.databases import ON_SQLITE
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of, stranger

CODE = "k7qf-m2xp-9d4t"
NEW = {"code": CODE, "name": "Ada Lovelace", "email": "ada@example.edu", "password": "two green teapots"}
ONE_DATABASE = ON_SQLITE
pytestmark = pytest.mark.usefixtures("one_window")


@pytest.fixture(autouse=True)
def course_code(portal: Portal) -> None:
    portal.course.change_course(enrolment_code=CODE)


def membership(portal: Portal, person: int) -> Membership | None:
    with portal.course.sessions.begin() as session:
        return session.scalar(select(Membership).where(Membership.person_id == person))


def people(portal: Portal) -> int:
    return len(portal.course.rows(select(Person)))


def test_who_is_new_gets_an_account_and_is_in_the_course(portal):
    client = stranger(portal)
    assert CODE in client.page(f"/join?code={CODE}")
    answer = client.post_form("/join", **NEW)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/courses/gpu/?notice=joined")
    assert "Ada Lovelace" in client.page("/account")
    with portal.course.sessions.begin() as session:
        person = find_person(session, "ada@example.edu")
        assert person is not None
        assert not person.admin
        assert session.scalars(select(AuditEvent.action)).all() == ["course.joined"]
    found = membership(portal, person.id)
    assert found is not None
    assert found.role is Role.STUDENT
    anew = stranger(portal).post_form("/sign-in", email=NEW["email"], password=NEW["password"])
    assert anew.status_code == 303


def test_who_is_signed_in_joins_with_their_account(portal):
    client = client_of(portal, "bob", role=None)
    assert 'name="password"' not in client.page("/join")
    assert client.post_form("/join", code=CODE).headers["Location"] == "/courses/gpu/?notice=joined"
    assert client.post_form("/join", code=CODE).headers["Location"] == "/courses/gpu/?notice=already-in"


@pytest.mark.parametrize("typed", ["k7qf m2xp 9d4t", " K7QFM2XP9D4T ", "K7qf-m2xp-9D4T"])
def test_a_code_is_known_however_it_is_spelt(portal, typed):
    assert client_of(portal, "bob", role=None).post_form("/join", code=typed).status_code == 303


def test_a_code_of_the_staffs_own_making_is_known_too(portal):
    portal.course.change_course(enrolment_code="tiles rock!")
    assert client_of(portal, "bob", role=None).post_form("/join", code="tiles rock!").status_code == 303


@pytest.mark.parametrize("role", [Role.ASSISTANT, Role.INSTRUCTOR])
def test_staff_stay_what_they_are(portal, role):
    client = client_of(portal, "ina", role)
    assert client.post_form("/join", code=CODE).headers["Location"] == "/courses/gpu/?notice=already-in"
    found = membership(portal, portal.course.person("ina"))
    assert found is not None
    assert found.role is role


def test_who_was_taken_off_the_course_does_not_come_back_by_the_code(portal):
    client = client_of(portal, "bob")
    with portal.course.sessions.begin() as session:
        row = session.scalars(select(Membership)).one()
        row.dropped_at = datetime.now(UTC)
    answer = client.post_form("/join", code=CODE)
    assert answer.status_code == 422
    assert "Ask its staff" in answer.get_data(as_text=True)


@pytest.mark.parametrize(
    ("code", "archived", "said"),
    [("WRONG", False, "No course has this code"), ("", False, "Type the code"), (CODE, True, "is archived"),
     ("\x07", False, "No course has this code"), ("----", False, "No course has this code")],
)  # fmt: skip
def test_a_code_that_lets_nobody_in(portal, code, archived, said):
    portal.course.person("ada")
    if archived:
        portal.course.change_course(archived_at=datetime.now(UTC))
    before = people(portal)
    for client in (stranger(portal), client_of(portal, "zoe", role=None)):
        answer = client.post_form("/join", **(NEW | {"code": code}))
        assert answer.status_code == 422
        page = answer.get_data(as_text=True)
        assert said in page
        assert 'id="email-error"' not in page, "who has no code learns nothing of accounts"
    assert people(portal) == before + 1


def test_a_course_without_a_code_cannot_be_joined(portal):
    portal.course.change_course(enrolment_code=None)
    assert client_of(portal, "bob", role=None).post_form("/join", code="").status_code == 422


@pytest.mark.parametrize(("code", "wrong"), [(CODE, ()), ("WRONG", ("code",))], ids=["right", "wrong"])
def test_mistakes_are_named_together_and_what_was_typed_stays(portal, code, wrong):
    answer = stranger(portal).post_form("/join", code=code, name="", email="nobody", password="sesame")
    page = answer.get_data(as_text=True)
    assert answer.status_code == 422
    for field in ("name", "email", "password", *wrong):
        assert f'id="{field}-error"' in page
        assert f'href="#{field}"' in page
    assert 'value="nobody"' in page
    assert "sesame" not in page
    assert people(portal) == 0


def test_an_email_that_has_an_account_signs_in_instead(portal):
    portal.course.person("ada", None)
    answer = stranger(portal).post_form("/join", **(NEW | {"email": "ADA@example.edu"}))
    assert answer.status_code == 422
    assert "Sign in and enter the code there" in answer.get_data(as_text=True)
    assert "Set-Cookie" not in answer.headers


@pytest.mark.one_in(3, "a third of the passwords")
@pytest.mark.parametrize(
    "password", ["password", "aaaaaaaaaa", "12345678", "qwertyuiop", "ada@example.edu", "Ada Lovelace", " " * 9]
)
def test_a_password_that_is_guessed_first_is_refused(portal, password):
    answer = stranger(portal).post_form("/join", **(NEW | {"password": password}))
    assert "too easy to guess" in answer.get_data(as_text=True)
    assert people(portal) == 0


def used_up(monkeypatch: pytest.MonkeyPatch, limit: str, count: int = 3) -> None:
    """A limit that is reached sooner."""
    monkeypatch.setattr(views, limit, replace(getattr(views, limit), count=count))


@ONE_DATABASE
def test_codes_are_not_guessed_by_the_thousand_and_the_right_one_is_taken(portal, monkeypatch):
    used_up(monkeypatch, "_GUESSES")
    client = stranger(portal)
    for _ in range(3):
        assert client.post_form("/join", **(NEW | {"code": "GUESS"})).status_code == 422
    answer = client.post_form("/join", **(NEW | {"code": "GUESS"}))
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0
    assert people(portal) == 0
    assert client.post_form("/join", **NEW).status_code == 303, "of whoever shares the address"


@ONE_DATABASE
def test_nobody_makes_themselves_a_crowd(portal, monkeypatch):
    used_up(monkeypatch, "_ACCOUNTS")
    for number, code in enumerate((CODE, CODE.upper(), CODE.replace("-", " "))):
        answer = stranger(portal).post_form("/join", **(NEW | {"code": code, "email": f"s{number}@example.edu"}))
        assert answer.status_code == 303
    assert stranger(portal).post_form("/join", **NEW).status_code == 429
    assert people(portal) == 3
    assert client_of(portal, "bob", role=None).post_form("/join", code=CODE).status_code == 303


@ONE_DATABASE
def test_nobody_asks_by_the_thousand_which_emails_have_an_account(portal, monkeypatch):
    used_up(monkeypatch, "_ACCOUNTS")
    stranger(portal).post_form("/join", **NEW)
    client = stranger(portal)
    told = [client.post_form("/join", **NEW) for _ in range(3)]
    assert [answer.status_code for answer in told] == [422, 422, 429]
    assert 'id="email-error"' in told[0].text


@ONE_DATABASE
def test_an_account_made_with_a_code_is_one_that_nobody_stands_for(portal):
    stranger(portal).post_form("/join", **NEW)
    with portal.course.sessions.begin() as session:
        person = find_person(session, "ada@example.edu")
        assert person is not None
        assert person.proven_at is None


def test_codes_that_are_made():
    assert all(re.fullmatch(r"[2-9a-hjkmnp-tv-z]{4}(-[2-9a-hjkmnp-tv-z]{4}){2}", new_code()) for _ in range(50))
    assert len({new_code() for _ in range(50)}) == 50


def test_of_two_courses_each_has_its_code(portal):
    with portal.course.sessions.begin() as session:
        session.add(Course(slug="b", title="B", created_at=datetime.now(UTC), enrolment_code=new_code()))
    with portal.course.sessions.begin() as session:
        assert course_to_join(session, CODE).slug == "gpu"
