"""Who made an account with a code may have typed anybody's email: staff are who followed an invitation."""

from __future__ import annotations

import io
import re

import pytest
from sqlalchemy import select

from server.accounts.links import create_link
from server.accounts.models import LinkPurpose, Person
from server.accounts.service import create_token, find_by_token, find_person, sign_in
from server.audit.models import AuditEvent
from server.courses.models import Course, Role
from server.enrolment.admins import appoint
from server.enrolment.email_confirmation import confirm_email
from server.enrolment.links import find_link
from server.roster import service as roster
from server.roster.csv_file import read_roster
from server.roster.plan import carry_out, make_plan
from tests.server.databases import ON_SQLITE
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, stranger

pytestmark = ON_SQLITE

TOM = "tom@example.edu"
PASSWORD = "two green teapots"
ROSTER = "/staff/gpu/roster"


class Impostor:
    """Came with a code, and typed the email of somebody who is to be an assistant."""

    def __init__(self, portal: Portal, course: str = "gpu") -> None:
        self.portal = portal
        with portal.course.sessions.begin() as session:
            session.scalars(select(Course).where(Course.slug == course)).one().enrolment_code = "tiles rock"
        self.browser = stranger(portal)
        joined = self.browser.post_form("/join", code="tiles rock", name="Tom", email=TOM, password=PASSWORD)
        assert joined.status_code == 303
        with portal.course.sessions.begin() as session:
            person = session.scalars(select(Person).where(Person.email == TOM)).one()
            self.person = person.id
            self.token = create_token(session, person, "theirs")

    @property
    def is_in(self) -> set[str]:
        """By what they still come in."""
        with self.portal.course.sessions.begin() as session:
            token = find_by_token(session, self.token)
        ways = {
            "browser": self.browser.get("/account").status_code == 200,
            "token": token is not None,
            "password": sign_in(self.portal.course.sessions, TOM, PASSWORD) is not None,
        }
        return {way for way, works in ways.items() if works}


@pytest.fixture
def eve(portal: Portal) -> Impostor:
    return Impostor(portal)


def deeds(portal: Portal) -> list[str]:
    return [f"{event.action} {event.subject}" for event in portal.course.rows(select(AuditEvent))]


def test_who_becomes_staff_follows_an_invitation_first(portal: Portal, ina: BrowserClient, eve: Impostor) -> None:
    assert ina.post_form(f"{ROSTER}/{eve.person}", role="student", section="A1").status_code == 303
    assert eve.is_in == {"browser", "token", "password"}
    assert ina.post_form(f"{ROSTER}/{eve.person}", role="assistant", section="A1").status_code == 303
    assert eve.is_in == set()
    assert f"access.ended person {eve.person}" in deeds(portal)
    page = ina.post_form(f"{ROSTER}/{eve.person}/link").get_data(as_text=True)
    link = re.search(r"/invitation/[\w-]+", page)
    assert link
    tom = stranger(portal)
    assert tom.post_form(link[0], password="three red kettles", again="three red kettles").status_code == 303
    assert tom.get("/staff/gpu/").status_code == 200
    assert ina.post_form(f"{ROSTER}/{eve.person}", role="instructor", section="").status_code == 303
    assert tom.get("/staff/gpu/").status_code == 200, "it is known now whose the account is"


def test_an_import_says_so_before_it_is_done(portal: Portal, ina: BrowserClient, eve: Impostor) -> None:
    text = f"email,name,role\n{TOM},Tom,assistant\nina@example.edu,Ina,instructor\n".encode()
    page = ina.post_form(f"{ROSTER}/import", file=(io.BytesIO(text), "r.csv")).get_data(as_text=True)
    assert page.count("<tr data-must-prove>") == 1
    assert eve.is_in, "nothing is changed yet"
    digest = re.search(r'name="digest" value="(\w+)"', page)
    assert digest
    answer = ina.post_form(f"{ROSTER}/apply", text=text.decode(), digest=digest[1])
    assert answer.status_code == 303
    assert eve.is_in == set()


def test_a_student_of_the_file_stays_in(portal: Portal, ina: BrowserClient, eve: Impostor) -> None:
    text = f"email,name,role,section\n{TOM},Tom,student,A1\n".encode()
    page = ina.post_form(f"{ROSTER}/import", file=(io.BytesIO(text), "r.csv")).get_data(as_text=True)
    assert "data-must-prove" not in page
    assert eve.is_in


def test_for_whom_a_file_takes_in_the_staff_stand(portal: Portal) -> None:
    with portal.course.sessions.begin() as session:
        course = session.get_one(Course, portal.course.course)
        read = read_roster("email,name,role\nada@example.edu,Ada,instructor\nbob@example.edu,Bob,student\n")
        carry_out(session, course, make_plan(session, course, read), None)
        found = session.scalars(select(Person).where(Person.email.in_(("ada@example.edu", "bob@example.edu")))).all()
        assert [person.proven_at is not None for person in found] == [True, True]


def test_every_other_way_to_reach_further_asks_for_the_same(portal: Portal, ina: BrowserClient) -> None:
    eve = Impostor(portal)
    with portal.course.sessions.begin() as session:
        appoint(session, session.get_one(Person, eve.person))
    assert eve.is_in == set()


def test_who_is_added_to_another_course_as_staff(portal: Portal, eve: Impostor) -> None:
    with portal.course.sessions.begin() as session:
        other = Course(slug="other", title="Other", created_at=session.get_one(Course, 1).created_at)
        session.add(other)
        session.flush()
        roster.add(session, other, None, email=TOM, name="Tom", role=Role.INSTRUCTOR)
    assert eve.is_in == set()


def test_a_link_for_a_student_opens_no_account_of_the_staff(portal: Portal, ina: BrowserClient) -> None:
    number = portal.course.person("ada")
    with portal.course.sessions.begin() as session:
        ada = session.get_one(Person, number)
        token = create_link(session, ada, LinkPurpose.INVITATION, portal.course.people["ina"])
        assert find_link(session, LinkPurpose.INVITATION, token)
    ina.post_form(f"{ROSTER}/{number}", role="assistant", section="")
    with portal.course.sessions.begin() as session:
        assert find_link(session, LinkPurpose.INVITATION, token) is None


def test_following_a_link_ends_the_tokens_of_whoever_had_the_account(portal: Portal, eve: Impostor) -> None:
    with portal.course.sessions.begin() as session:
        person = find_person(session, TOM)
        assert person is not None
        token = create_link(session, person, LinkPurpose.RESET)
    stranger(portal).post_form(f"/reset/{token}", password="three red kettles", again="three red kettles")
    assert eve.is_in == set()


def test_the_desk_shows_who_came_with_a_code(portal: Portal, ina: BrowserClient, eve: Impostor) -> None:
    portal.course.person("ada")
    page = ina.page("/staff/gpu/")
    assert re.search(r'state=code">1 [^<]*</a>, 1 ', page), "one in all, one in the last day"
    page = ina.page(f"{ROSTER}?state=code")
    assert TOM in page
    assert "joined with a code</span>" in page
    assert "ada@example.edu" not in page
    with portal.course.sessions.begin() as session:
        confirm_email(session, session.get_one(Person, eve.person))
    assert "state=code" not in ina.page("/staff/gpu/")
