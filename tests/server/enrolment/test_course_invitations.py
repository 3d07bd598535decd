"""People with an account join a course by their own consent, or by an operator."""

from __future__ import annotations

import io
import re

import pytest
from sqlalchemy import func, select

from server.accounts.models import Person
from server.accounts.service import create_person
from server.courses.models import Course, CourseInvitation, Membership, Role
from server.courses.service import create_course, enrol
from server.enrolment.authority import Barrier, barrier
from server.operations.erase import erase_person
from tests.server.databases import ON_SQLITE
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

pytestmark = ON_SQLITE

VIC, REAL, TYPED = "vic@example.edu", "Victoria Realname", "Vic X"
ROSTER = "/staff/other/roster"


@pytest.fixture
def oto(portal: Portal) -> BrowserClient:
    """The instructor of another course."""
    found = client_of(portal, "oto", None)
    with portal.course.sessions.begin() as session:
        other = create_course(session, "other", "Other course")
        enrol(session, other, session.get_one(Person, portal.course.people["oto"]), Role.INSTRUCTOR)
    return found


@pytest.fixture
def vic(portal: Portal, oto: BrowserClient) -> BrowserClient:
    """A student of the course `gpu`."""
    return client_of(portal, VIC, name=REAL)


def invite(oto: BrowserClient, role: str = "student", section: str = "") -> int:
    return oto.post_form(ROSTER, email=VIC.upper(), name=TYPED, role=role, section=section).status_code


def in_the_other(portal: Portal) -> list[tuple[str, str]]:
    with portal.course.sessions.begin() as session:
        query = select(Membership).join(Course).where(Course.slug == "other")
        return [(one.role.value, one.section) for one in session.scalars(query) if one.person.email == VIC]


def number_of(page: str) -> str:
    found = re.search(r'data-invitation="(\d+)"', page)
    assert found is not None
    return found[1]


def test_a_person_with_an_account_is_invited_and_joins_by_accepting(
    portal: Portal, oto: BrowserClient, vic: BrowserClient
) -> None:
    assert invite(oto, section="A1") == 303
    assert in_the_other(portal) == []
    seen = [oto.page(f"/staff/other/{page}") for page in ("", "roster", "roster?state=all", "roster.csv", "audit")]
    seen += [oto.page(f"/staff/other/{page}") for page in ("grades", "grades.csv", "progress")]
    assert all(REAL not in page for page in seen)
    assert [TYPED in page for page in seen] == [False, True, True, False, False, False, False, False]
    assert 'data-invited="open"' in seen[1]
    assert vic.get("/courses/other/").status_code == 404
    with portal.course.sessions.begin() as session:
        actor, person = (
            session.scalars(select(Person).where(Person.email == email)).one() for email in ("oto@example.edu", VIC)
        )
        assert barrier(session, actor, person) is Barrier.ELSEWHERE
    number = number_of(vic.page("/"))
    stranger = client_of(portal, "eve")
    assert stranger.post_form(f"/invitations/{number}/accept").status_code == 303
    assert stranger.post_form(f"/invitations/{number}/decline").status_code == 303
    assert in_the_other(portal) == []
    answer = vic.post_form(f"/invitations/{number}/accept")
    assert answer.headers["Location"] == "/courses/other/?notice=joined"
    assert in_the_other(portal) == [("student", "A1")]
    assert vic.page("/courses/other/")
    assert "data-invitation" not in vic.page("/")
    page = oto.page(ROSTER)
    assert (REAL in page, TYPED in page) == (True, False)
    assert vic.post_form(f"/invitations/{number}/accept").headers["Location"] == "/?notice=invitation-gone"


def test_who_declines_is_left_alone(portal: Portal, oto: BrowserClient, vic: BrowserClient) -> None:
    invite(oto)
    number = number_of(vic.page("/"))
    assert vic.post_form(f"/invitations/{number}/decline").status_code == 303
    assert "data-invitation" not in vic.page("/")
    page = oto.page(ROSTER)
    assert 'data-invited="declined"' in page
    assert REAL not in page + oto.page("/staff/other/audit")
    assert invite(oto) == 422
    oto.post_form(f"{ROSTER}/invited/{number}/withdraw")
    assert invite(oto) == 422
    assert in_the_other(portal) == []


def test_an_invitation_is_withdrawn(portal: Portal, oto: BrowserClient, vic: BrowserClient) -> None:
    invite(oto)
    number = number_of(vic.page("/"))
    foreign = client_of(portal, "ina", Role.INSTRUCTOR)
    assert foreign.post_form(f"/staff/gpu/roster/invited/{number}/withdraw").status_code == 303
    assert number_of(vic.page("/")) == number, "another course's"
    assert oto.post_form(f"{ROSTER}/invited/{number}/withdraw").status_code == 303
    vic.post_form(f"/invitations/{number}/accept")
    assert in_the_other(portal) == []


def test_a_file_invites_people_with_an_account(portal: Portal, oto: BrowserClient, vic: BrowserClient) -> None:
    text = f"email,name,role,section\n{VIC},{TYPED},student,B2\nnew@example.edu,New,student,B2\n"
    assert applied(oto, text) == {"New": "1", "Invited": "1", "Unchanged": "0", "Added": "0"}
    assert applied(oto, text) == {"New": "0", "Invited": "0", "Unchanged": "2", "Added": "0"}
    assert in_the_other(portal) == []
    changed = text.replace("student,B2\nnew", "assistant,C3\nnew")
    assert applied(oto, changed)["Invited"] == "1"
    assert vic.post_form(f"/invitations/{number_of(vic.page('/'))}/accept").status_code == 303
    assert in_the_other(portal) == [("assistant", "C3")]


def applied(oto: BrowserClient, text: str) -> dict[str, str]:
    """Import the file; the counts of its preview."""
    page = oto.post_form(f"{ROSTER}/import", file=(io.BytesIO(text.encode()), "r.csv")).get_data(as_text=True)
    assert REAL not in page
    digest = re.search(r'name="digest" value="(\w+)"', page)
    if digest is not None:
        assert oto.post_form(f"{ROSTER}/apply", text=text, digest=digest[1]).status_code == 303
    counts = dict(re.findall(r"<dt>(\w+)</dt><dd>(\d+)</dd>", page))
    return {name: counts[name] for name in ("New", "Invited", "Unchanged", "Added")}


def test_an_operator_adds_at_once(portal: Portal, oto: BrowserClient, vic: BrowserClient) -> None:
    invite(oto)
    root = client_of(portal, "root", None, admin=True)
    assert invite(root, section="D4") == 303
    assert in_the_other(portal) == [("student", "D4")]
    assert "data-invitation" not in vic.page("/")
    assert "data-invited" not in oto.page(ROSTER)


def test_an_unconfirmed_account_gets_no_role_by_accepting(portal: Portal, oto: BrowserClient) -> None:
    with portal.course.sessions.begin() as session:
        create_person(session, email=VIC, name=REAL, password="two green teapots", proven=False)
    answer = oto.post_form(ROSTER, email=VIC, name=TYPED, role="assistant", section="")
    assert answer.status_code == 422
    assert REAL not in answer.text
    assert invite(oto) == 303


def test_an_erased_person_leaves_no_invitation(portal: Portal, oto: BrowserClient, vic: BrowserClient) -> None:
    invite(oto)
    number = portal.course.row(select(Person.id).where(Person.email == VIC))
    erase_person(portal.course.sessions, number)
    with portal.course.sessions.begin() as session:
        assert session.scalar(select(func.count()).select_from(CourseInvitation)) == 0
    assert VIC not in oto.page(ROSTER)


@pytest.mark.parametrize(("role", "joins"), [("assistant", False), ("student", True)])
def test_a_staff_invitation_ends_with_the_rights_of_its_sender(
    portal: Portal, oto: BrowserClient, vic: BrowserClient, role: str, joins: bool
) -> None:
    invite(oto, role)
    number = number_of(vic.page("/"))
    with portal.course.sessions.begin() as session:
        sender = portal.course.people["oto"]
        session.scalars(select(Membership).where(Membership.person_id == sender)).one().role = Role.ASSISTANT
    answer = vic.post_form(f"/invitations/{number}/accept")

    assert (answer.status_code == 303) is joins
    assert bool(in_the_other(portal)) is joins
