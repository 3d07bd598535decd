"""Student IDs: kept with the membership, matched in later files, seen by course staff only, erased with the person."""

from __future__ import annotations

import io
import json
from zipfile import ZipFile

import pytest
from sqlalchemy import select

from server.accounts.models import Person
from server.audit.models import AuditEvent
from server.courses.models import CourseInvitation, Membership, Role
from server.operations.erase import erase_person
from server.operations.own_data import own_data
from tests.server.staff.test_roster import ROSTER, carried, preview
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

CANVAS = 'Student,ID,SIS User ID,SIS Login ID,Section\n"Lovelace, Ada",1,00123,ada,A1\n"Brown, Bob",2,00124,bob,A1\n'


@pytest.fixture
def ina(portal: Portal) -> BrowserClient:
    return client_of(portal, "ina", Role.INSTRUCTOR)


def imported(ina: BrowserClient, text: str, **more: str) -> int:
    """The answer to a file that is previewed and then applied."""
    status, page = preview(ina, text, **more)
    assert status == 200, page
    return ina.post_form(f"{ROSTER}/apply", drop="", **carried(page)).status_code


def refusals(ina: BrowserClient, text: str, **more: str) -> list[str]:
    """The codes of what a preview refuses."""
    status, page = preview(ina, text, **more)
    assert status == 422
    return [part.partition('"')[0] for part in page.split('data-code="')[1:]]


def people(portal: Portal) -> dict[str, tuple[str, str]]:
    """Names and student IDs, by email."""
    query = select(Person.email, Person.name, Membership.student_id).join(Membership)
    with portal.course.sessions.begin() as session:
        return {email: (name, number) for email, name, number in session.execute(query)}


def test_later_files_match_by_student_id(portal: Portal, ina: BrowserClient) -> None:
    assert refusals(ina, CANVAS) == ["no_email"]
    assert imported(ina, CANVAS, domain="uni.example") == 303
    assert people(portal) | {"ada@uni.example": ("Ada Lovelace", "00123")} == people(portal)
    status, page = preview(ina, CANVAS)
    assert (status, 'name="digest"' in page) == (200, False), "nothing to apply, and no email needed"
    moved = CANVAS.replace("ada,A1", "al2,B2")
    assert imported(ina, moved, domain="uni.example") == 303
    assert "al2@uni.example" not in people(portal)
    new = "student_id,name\n00125,Eve\n"
    assert refusals(ina, new) == ["no_email"]
    assert refusals(ina, "email,name,student_id\n,Eve,00125\n") == ["missing"]
    taken = "email,name,student_id\neve@uni.example,Eve,00123\nbob@uni.example,Bob Brown,00125\n"
    assert refusals(ina, taken.replace("eve@uni", "bob@uni").replace("bob@uni.example,Bob Brown,00125", "")) == [
        "taken"
    ]
    twice = "email,name,student_id\nada@uni.example,Ada,\n,Ada,00123\n"
    assert refusals(ina, twice) == ["twice"]


def test_a_name_is_corrected_until_its_owner_uses_the_account(portal: Portal, ina: BrowserClient) -> None:
    imported(ina, "email,name\nada@uni.example,Adda\nbob@example.edu,Bob B\n")
    client_of(portal, "bob@example.edu")
    text = "email,name\nada@uni.example,Ada\nbob@example.edu,Bob Brown\n"
    assert imported(ina, text) == 303
    assert {name for name, _ in people(portal).values()} == {"Ada", "Bob B", "ina"}
    assert refusals(ina, "email,name\nada@uni.example,=1+1\n") == ["formula"]
    (change,) = portal.course.rows(select(AuditEvent).where(AuditEvent.action == "member.changed"))
    assert change.detail == {"name": "corrected"}


def test_a_student_id_is_shown_to_course_staff_and_exported(portal: Portal, ina: BrowserClient) -> None:
    ada = client_of(portal, "ada")
    place = f"{ROSTER}/{portal.course.people['ada']}"
    assert ina.post_form(place, role="student", section="", student_id=" 00123 ").status_code == 303
    assert (
        ina.post_form(f"{ROSTER}", email="b@uni.example", name="B", role="student", student_id="00123").status_code
        == 422
    )
    number = portal.course.people["ina"]
    assert ina.post_form(f"{ROSTER}/{number}", role="instructor", student_id="00123").status_code == 409
    for page in (ROSTER, f"{ROSTER}?text=00123", f"{ROSTER}.csv", "/staff/gpu/grades", "/staff/gpu/grades.csv"):
        assert "00123" in ina.page(page), page
    for page in ("/courses/gpu/", "/account"):
        assert "00123" not in ada.page(page), page
    (change,) = portal.course.rows(select(AuditEvent).where(AuditEvent.action == "member.changed"))
    assert change.detail == {"student_id": "changed"}
    exported = ina.get(f"{ROSTER}.csv").data
    answer = ina.post_form(f"{ROSTER}/import", file=(io.BytesIO(exported), "roster.csv"))
    assert (answer.status_code, 'name="digest"' in answer.text) == (200, False)


def test_an_invited_person_brings_the_student_id_along(portal: Portal, ina: BrowserClient) -> None:
    eve = client_of(portal, "eve", None)
    assert imported(ina, "email,name,student_id\neve@example.edu,Eve,00126\n") == 303
    invitation = portal.course.row(select(CourseInvitation))
    assert invitation.student_id == "00126"
    eve.post_form(f"/invitations/{invitation.id}/accept")
    assert people(portal)["eve@example.edu"][1] == "00126"
    with portal.course.sessions.begin() as session:
        copy = ZipFile(io.BytesIO(own_data(session, portal.course.people["eve"])))
    assert json.loads(copy.read("courses.json"))[0]["student_id"] == "00126"
    erase_person(portal.course.sessions, portal.course.people["eve"])
    assert "00126" not in {number for _, number in people(portal).values()}
