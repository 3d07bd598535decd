"""Staff change an account's password, sessions, tokens and links only where it is their course's alone."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field

import pytest
from sqlalchemy import select

from server.accounts.links import create_link
from server.accounts.models import BrowserSession, LinkPurpose, Person
from server.accounts.service import create_person, create_token, find_by_token, find_person, sign_in
from server.courses.models import Course, Membership, Role
from server.courses.service import create_course, enrol
from server.enrolment.course_invitations import accept, invitations_of
from server.enrolment.links import find_link
from server.roster import service as roster
from tests.server.databases import ON_SQLITE
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of, stranger

pytestmark = ON_SQLITE

VIC = "vic@example.edu"
PASSWORD = "two green teapots"
OTHER = "/staff/other/roster"


@dataclass
class TwoCourses:
    """`gpu` is run by ina, `other` by oto; what oto can reach of people of `gpu` is asked here."""

    portal: Portal
    ina: BrowserClient
    oto: BrowserClient
    made: dict[str, int] = field(default_factory=dict)

    def person(self, email: str = VIC) -> Person:
        return self.portal.course.row(select(Person).where(Person.email == email))

    def token_of(self, email: str = VIC) -> str:
        with self.portal.course.sessions.begin() as session:
            return create_token(session, session.get_one(Person, self.person(email).id), "laptop")

    def is_good(self, token: str) -> bool:
        with self.portal.course.sessions.begin() as session:
            return find_by_token(session, token) is not None

    def joins_gpu_with_a_code(self) -> BrowserClient:
        self.portal.course.change_course(enrolment_code="tiles rock")
        browser = stranger(self.portal)
        typed = {"code": "tiles rock", "name": "Vic", "email": VIC, "password": PASSWORD}
        assert browser.post_form("/join", **typed).status_code == 303
        return browser

    def add(self, who: BrowserClient, path: str, role: str, email: str = VIC) -> int:
        """The answer. Where it invites the person, they accept."""
        answer = who.post_form(path, email=email, name="Whoever", role=role).status_code
        with self.portal.course.sessions.begin() as session:
            person = find_person(session, email)
            for invitation in invitations_of(session, person.id) if person is not None else ():
                accept(session, session.get_one(Person, invitation.person_id), invitation.id)
        return answer

    def link(self, who: BrowserClient, path: str, email: str = VIC) -> str:
        """What its page shows; "" where none is handed out."""
        answer = who.post_form(f"{path}/{self.person(email).id}/link")
        found = re.search(r"/(?:invitation|reset)/[\w-]+", answer.get_data(as_text=True))
        assert (answer.status_code == 200) == (found is not None)
        return found[0] if found else ""

    def roles(self, slug: str = "other", email: str = VIC) -> list[str]:
        with self.portal.course.sessions.begin() as session:
            query = (
                select(Membership.role)
                .join(Course, Course.id == Membership.course_id)
                .where(Course.slug == slug, Membership.person_id == self.person(email).id)
            )
            return [role.value for role in session.scalars(query)]


GPU = "/staff/gpu/roster"


@pytest.fixture
def two(portal: Portal) -> TwoCourses:
    oto = client_of(portal, "oto", None)
    with portal.course.sessions.begin() as session:
        other = create_course(session, "other", "Other")
        enrol(session, other, session.get_one(Person, portal.course.people["oto"]), Role.INSTRUCTOR)
    return TwoCourses(portal, client_of(portal, "ina", Role.INSTRUCTOR), oto)


@pytest.mark.parametrize("role", ["assistant", "instructor"])
def test_a_role_in_another_course_ends_no_password(two: TwoCourses, role: str) -> None:
    vic = two.joins_gpu_with_a_code()
    token = two.token_of()
    assert two.add(two.oto, OTHER, role) == 422
    assert two.roles() == []
    assert vic.get("/account").status_code == 200
    assert two.is_good(token)
    assert sign_in(two.portal.course.sessions, VIC, PASSWORD)


def test_a_student_of_another_course_gets_no_link(two: TwoCourses) -> None:
    vic = two.joins_gpu_with_a_code()
    assert two.add(two.oto, OTHER, "student") == 303
    assert two.link(two.oto, OTHER) == ""
    assert two.oto.post_form(f"{OTHER}/{two.person().id}", role="assistant", section="").status_code == 409
    assert two.oto.post_form(f"{OTHER}/{two.person().id}/drop").status_code == 303
    assert two.add(two.oto, OTHER, "assistant") == 422
    assert two.link(two.oto, OTHER) == ""
    assert vic.get("/account").status_code == 200


def test_who_has_only_a_token_gets_no_link_of_a_course_that_came_later(two: TwoCourses) -> None:
    with two.portal.course.sessions.begin() as session:
        create_person(session, email=VIC, name="Vic")
    token = two.token_of()
    assert two.add(two.oto, OTHER, "student") == 303
    assert two.link(two.oto, OTHER) == ""
    assert VIC not in two.oto.post_form(f"{OTHER}/invitations.csv").get_data(as_text=True)
    assert two.is_good(token)


def test_whose_password_their_own_course_ended_gets_no_link_of_another(two: TwoCourses) -> None:
    two.joins_gpu_with_a_code()
    number = two.person().id
    assert two.ina.post_form(f"{GPU}/{number}", role="assistant", section="").status_code == 303
    assert two.person().password is None
    assert two.add(two.oto, OTHER, "student") == 303
    assert two.link(two.oto, OTHER) == ""


def test_a_file_that_would_end_a_password_elsewhere_is_refused_by_line(two: TwoCourses) -> None:
    vic = two.joins_gpu_with_a_code()
    text = f"email,name,role\noto@example.edu,Oto,instructor\n{VIC},Vic,assistant\n".encode()
    answer = two.oto.post_form(f"{OTHER}/import", file=(io.BytesIO(text), "r.csv"))
    assert answer.status_code == 422
    assert "<strong>Line 3.</strong>" in answer.get_data(as_text=True)
    assert vic.get("/account").status_code == 200
    as_student = text.replace(b"assistant", b"student")
    assert two.oto.post_form(f"{OTHER}/import", file=(io.BytesIO(as_student), "r.csv")).status_code == 200


def test_the_file_is_looked_at_again_when_it_is_applied(two: TwoCourses) -> None:
    text = f"email,name,role\noto@example.edu,Oto,instructor\n{VIC},Vic,assistant\n"
    page = two.oto.post_form(f"{OTHER}/import", file=(io.BytesIO(text.encode()), "r.csv"))
    digest = re.search(r'name="digest" value="(\w+)"', page.get_data(as_text=True))
    assert digest
    vic = two.joins_gpu_with_a_code()
    assert two.oto.post_form(f"{OTHER}/apply", text=text, digest=digest[1]).status_code in {409, 422}
    assert vic.get("/account").status_code == 200


def test_a_link_ends_when_its_person_is_taken_into_another_course(two: TwoCourses) -> None:
    client_of(two.portal, VIC)
    path = two.link(two.oto, OTHER) if two.add(two.oto, OTHER, "student") == 409 else ""
    assert path == ""
    with two.portal.course.sessions.begin() as session:
        session.get_one(Person, two.person().id).password = "set"
    with two.portal.course.sessions.begin() as session:
        vic = session.get_one(Person, two.person().id)
        ours = create_link(session, vic, LinkPurpose.RESET, two.portal.course.people["oto"])
        operators = create_link(session, vic, LinkPurpose.INVITATION)
        assert find_link(session, LinkPurpose.RESET, ours) is None
        assert find_link(session, LinkPurpose.INVITATION, operators) is not None


def test_a_link_of_the_only_course_goes_on_until_another_takes_them_in(two: TwoCourses) -> None:
    vic = two.joins_gpu_with_a_code()
    path = two.link(two.ina, GPU)
    assert stranger(two.portal).get(path).status_code == 200
    assert two.add(two.oto, OTHER, "student") == 303
    assert stranger(two.portal).get(path).status_code == 404
    assert two.link(two.ina, GPU) == "", "it would open the other course as well"
    assert vic.get("/account").status_code == 200


def test_the_course_that_came_first_invites_who_was_never_here(two: TwoCourses) -> None:
    assert two.add(two.ina, GPU, "student") == 303
    first = two.link(two.ina, GPU)
    assert two.add(two.oto, OTHER, "student") == 303
    assert two.link(two.oto, OTHER) == ""
    typed = {"password": PASSWORD, "again": PASSWORD}
    assert stranger(two.portal).post_form(first, **typed).status_code == 303
    assert (two.link(two.ina, GPU), two.link(two.oto, OTHER)) == ("", "")


def test_who_is_staff_elsewhere_is_invited_there(two: TwoCourses) -> None:
    assert two.add(two.ina, GPU, "assistant") == 303
    assert two.add(two.oto, OTHER, "student") == 303
    assert two.link(two.oto, OTHER) == ""
    assert two.link(two.ina, GPU)


def test_who_runs_both_courses_can_help(two: TwoCourses) -> None:
    two.joins_gpu_with_a_code()
    assert two.add(two.oto, OTHER, "student") == 303
    with two.portal.course.sessions.begin() as session:
        other = session.scalars(select(Course).where(Course.slug == "other")).one()
        enrol(session, other, session.get_one(Person, two.portal.course.people["ina"]), Role.INSTRUCTOR)
    assert two.link(two.ina, GPU)
    assert two.link(two.oto, OTHER) == ""


def test_who_leaves_a_course_was_in_it_all_the_same(two: TwoCourses) -> None:
    two.joins_gpu_with_a_code()
    assert two.add(two.oto, OTHER, "student") == 303
    assert two.ina.post_form(f"{GPU}/{two.person().id}/drop").status_code == 303
    assert two.link(two.oto, OTHER) == ""


def test_a_session_that_is_long_over_still_counts(two: TwoCourses) -> None:
    """Old sessions are forgotten, but for the first, which says since when an account is used."""
    client_of(two.portal, VIC, None)
    with two.portal.course.sessions.begin() as session:
        first = session.scalars(select(BrowserSession).where(BrowserSession.person_id == two.person().id)).one()
        first.created_at = first.expires_at = first.created_at.replace(year=2020)
    assert two.add(two.oto, OTHER, "student") == 303
    client_of(two.portal, VIC, None)
    assert two.link(two.oto, OTHER) == ""


def test_the_roster_says_who_helps_instead(two: TwoCourses) -> None:
    two.joins_gpu_with_a_code()
    assert two.add(two.oto, OTHER, "student") == 303
    number = two.person().id
    page = two.oto.page(OTHER)
    assert f"{number}/link" not in page
    assert "ask an operator" in page
    with two.portal.course.sessions.begin() as session:
        session.get_one(Person, two.portal.course.people["oto"]).admin = True
    assert f"{number}/link" in two.oto.page(OTHER)


def test_who_runs_the_server_can_make_anyone_staff(two: TwoCourses) -> None:
    two.joins_gpu_with_a_code()
    with two.portal.course.sessions.begin() as session:
        other = session.scalars(select(Course).where(Course.slug == "other")).one()
        roster.add(session, other, None, email=VIC, name="Vic", role=Role.ASSISTANT)
    assert two.person().password is None
