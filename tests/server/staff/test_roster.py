"""The roster: looked at, changed one by one, and by a file."""

from __future__ import annotations

import csv
import io
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, select

from server.accounts.models import LinkPurpose, Person
from server.accounts.service import find_person, set_password
from server.audit.models import AuditEvent
from server.courses.models import Course, Membership, Role
from server.courses.service import CourseError, create_course, enrol, role_in
from server.enrolment.links import find_link
from server.roster.csv_file import read_roster
from server.roster.service import drop
from tests.server.course import NOW
from tests.server.databases import ON_POSTGRESQL
from tests.server.staff.graded import counted_queries
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

ROSTER = "/staff/gpu/roster"


def memberships(portal: Portal) -> dict[str, tuple[str, str, bool]]:
    with portal.course.sessions.begin() as session:
        rows = session.execute(
            select(Person.email, Membership.role, Membership.section, Membership.dropped_at)
            .join(Membership, Membership.person_id == Person.id)
            .where(Membership.course_id == portal.course.course)
        ).all()
    return {email: (role.value, section, left is not None) for email, role, section, left in rows}


def deeds(portal: Portal) -> list[str]:
    with portal.course.sessions.begin() as session:
        query = select(AuditEvent).where(AuditEvent.course_id == portal.course.course).order_by(AuditEvent.id)
        return [f"{event.action} {event.subject}" for event in session.scalars(query)]


def preview(browser: BrowserClient, text: str, **more: str) -> tuple[int, str]:
    answer = browser.post_form(f"{ROSTER}/import", file=(io.BytesIO(text.encode()), "roster.csv"), **more)
    return answer.status_code, answer.get_data(as_text=True)


def carried(page: str) -> dict[str, str]:
    digest = re.search(r'name="digest" value="(\w+)"', page)
    text = re.search(r'<textarea name="text" hidden[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    assert digest, page
    assert text, page
    return {"digest": digest[1], "text": text[1]}


def test_a_member_is_added_changed_dropped_and_taken_back(portal: Portal, ina: BrowserClient) -> None:
    added = {"email": "Ada@Example.edu", "name": "Ada Lovelace", "role": "student", "section": "A1"}
    assert ina.post_form(ROSTER, **added).status_code == 303
    with portal.course.sessions.begin() as session:
        ada = find_person(session, "ada@example.edu")
        assert ada
    assert memberships(portal)["ada@example.edu"] == ("student", "A1", False)
    assert ina.post_form(f"{ROSTER}/{ada.id}", role="assistant", section="").status_code == 303
    assert memberships(portal)["ada@example.edu"] == ("assistant", "", False)
    assert ina.post_form(f"{ROSTER}/{ada.id}/drop").status_code == 303
    with portal.course.sessions.begin() as session:
        assert role_in(session, ada.id, portal.course.course) is None
    assert "Ada Lovelace" not in ina.page(ROSTER)
    assert "Ada Lovelace" in ina.page(f"{ROSTER}?state=dropped")
    assert ina.post_form(f"{ROSTER}/{ada.id}/take-back").status_code == 303
    assert memberships(portal)["ada@example.edu"] == ("assistant", "", False)
    about = f"person {ada.id}"
    assert deeds(portal) == [
        f"person.created {about}", f"member.added {about}", f"member.changed {about}", f"member.dropped {about}",
        f"member.taken_back {about}",
    ]  # fmt: skip


def test_what_is_wrong_with_one_stands_beside_its_field(portal: Portal, ina: BrowserClient) -> None:
    answer = ina.post_form(ROSTER, email="nobody", name="N", role="student", section="A1")
    page = answer.get_data(as_text=True)
    assert answer.status_code == 422
    assert 'id="email-error"' in page
    assert 'value="A1"' in page
    again = ina.post_form(ROSTER, email="ina@example.edu", name="I", role="student")
    assert again.status_code == 422
    assert 'id="email-error"' in again.text
    # The address has the name of another field.
    lead = {"email": "section@example.edu", "name": "S", "role": "student"}
    assert ina.post_form(ROSTER, **lead).status_code == 303
    assert 'id="email-error"' in ina.post_form(ROSTER, **lead).text
    new = {**lead, "email": "mail@example.edu"}
    assert 'id="section-error"' in ina.post_form(ROSTER, **new, section="x" * 61).text
    assert 'id="name-error"' in ina.post_form(ROSTER, **{**new, "name": "x" * 999}).text


def test_the_last_instructor_stays(portal: Portal, ina: BrowserClient) -> None:
    number = portal.course.people["ina"]
    assert ina.post_form(f"{ROSTER}/{number}/drop").status_code == 409
    assert ina.post_form(f"{ROSTER}/{number}", role="student", section="").status_code == 409
    assert memberships(portal)["ina@example.edu"] == ("instructor", "", False)


def test_two_instructors_who_drop_each_other_at_once_do_not_both_succeed(portal: Portal, ina: BrowserClient) -> None:
    course = portal.course
    both = course.people["ina"], course.person("max", Role.INSTRUCTOR)
    refused: list[CourseError] = []

    def drop_one(person: int) -> None:
        try:
            with course.sessions.begin() as session:
                drop(session, session.get_one(Course, course.course), None, person)
        except CourseError as error:
            refused.append(error)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(drop_one, both))
    assert len(refused) == 1
    here = [email for email, (role, _, left) in memberships(portal).items() if role == "instructor" and not left]
    assert len(here) == 1


def test_a_long_roster_comes_in_pages_and_is_searched_as_a_whole(
    portal: Portal, ina: BrowserClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.roster.views.PAGE", 2)
    for name in ("ada", "bob", "eve", "zoe"):
        portal.course.person(name)
    first, last = ina.page(ROSTER), ina.page(f"{ROSTER}?page=3")
    assert "Page 1 of 3, 5 people" in first
    assert "zoe@example.edu" not in first
    assert "zoe@example.edu" in last
    assert "zoe@example.edu" in ina.page(f"{ROSTER}?text=ZOE")
    assert "Page 3 of 3" in ina.page(f"{ROSTER}?page=99")
    assert len(ina.get(f"{ROSTER}.csv").get_data(as_text=True).splitlines()) == 6
    assert "roster.exported course gpu" in deeds(portal)


def test_who_cannot_be_asked_for_is_not_everybody(portal: Portal, ina: BrowserClient) -> None:
    for junk in ("state=junk", "section=junk", "text=%00"):
        answer = ina.get(f"{ROSTER}?{junk}")
        assert answer.status_code == 422, junk
        assert "ina@example.edu" not in answer.text


def test_a_file_is_shown_first_and_then_done_as_it_was_shown(portal: Portal, ina: BrowserClient) -> None:
    client_of(portal, "ada")
    client_of(portal, "bob")
    client_of(portal, "tom", Role.ASSISTANT)
    text = (
        "\ufeffEmail;Name;Role;Section;Notes\r\n"
        'ada@example.edu;"Another; name";;A1;x\r\n'
        "\r\n"
        "eve@example.edu;Éve;student;B2;\r\n"
    )
    status, page = preview(ina, text, drop="yes")
    assert status == 200
    for told in ("Notes", ">new<", ">changed<", ">dropped<", "eve@example.edu", "bob@example.edu"):
        assert told.lower() in page.lower(), told
    assert "tom@example.edu" not in page
    before = memberships(portal)
    assert "eve@example.edu" not in before
    assert ina.post_form(f"{ROSTER}/apply", drop="yes", **carried(page)).status_code == 303
    after = memberships(portal)
    assert after == before | {
        "ada@example.edu": ("student", "A1", False), "bob@example.edu": ("student", "", True),
        "eve@example.edu": ("student", "B2", False),
    }  # fmt: skip
    with portal.course.sessions.begin() as session:
        eve, ada = (find_person(session, f"{name}@example.edu") for name in ("eve", "ada"))
        assert eve
        assert ada
        changed = session.scalars(select(AuditEvent).where(AuditEvent.action == "member.changed")).one()
    assert (eve.name, ada.name) == ("Éve", "ada")
    assert changed.detail == {"section": ["", "A1"]}
    assert {f"person.created person {eve.id}", f"member.added person {eve.id}"} < set(deeds(portal))
    assert deeds(portal)[-1] == "roster.imported course gpu"


def test_what_changed_meanwhile_is_shown_anew_and_nothing_is_done(portal: Portal, ina: BrowserClient) -> None:
    _, page = preview(ina, "email,name\nada@example.edu,Ada\n")
    client_of(portal, "ada")
    answer = ina.post_form(f"{ROSTER}/apply", drop="", **carried(page))
    assert answer.status_code == 409
    assert 'role="alert"' in answer.text
    assert 'name="digest"' not in answer.text, "there is nothing left to apply"
    forged = carried(page) | {"text": "email,name,role\nmallory@example.edu,M,instructor\n"}
    assert ina.post_form(f"{ROSTER}/apply", drop="", **forged).status_code == 409
    assert "mallory@example.edu" not in memberships(portal)


@pytest.mark.one_in(4, "a quarter of the problems")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Choose a file"),
        ("ada@example.edu,Ada\n", "name the columns"),
        ("email,first;last\na@b.c,student\n", "no column “name”. The file has “email”, “first;last”."),
        ("email,name,email\n", "The column email occurs twice"),
        ("email,name\nada@example.edu,Ada\nADA@example.edu,Ada\n", 'data-line="3" data-column="email"'),
        ("email,name\nada at home,Ada\n", "Line 2.</strong> “ada at home” is not a valid email address"),
        ("email,name,role\na@b.c,Ada,professor\n", 'data-column="role"><strong>Line 2.</strong> “professor” '),
        ("email,name\na@b.c\n", 'data-line="2" data-column="name"'),
        ("email,name\na@b.c,Ada,A1\n", "This line has 3 cells, but the first line has 2. Put a cell with a comma"),
        ("email,name\na@b.c,\n", 'data-line="2" data-column="name"'),
        ("email,name\na@b.c,A\u202eda\n", "printable characters"),
        ('email,name\na@b.c,"Ada\n', "quotation mark"),
        ("email,name\na@b.c,=HYPERLINK(1)\n", "A name can’t begin with “=”"),
        ("email,name,section\na@b.c,A," + "x" * 61 + "\n", 'data-column="section"'),
        ("email,name\n\n\na@b.c,Ada\n,Bob\n", 'data-line="5" data-column="email"'),
        (" \r\n,\nemail,name\na@b.c,\n", "Line 4.</strong> The name of a@b.c is missing"),
        ("email,name,role\nina@example.edu,Ina,student\n", "your own role"),
        ("email,name\n<script>@x,<script>alert(1)</script>\n", "&lt;script&gt;"),
    ],
)
def test_each_line_s_problem_is_named_and_nothing_is_changed(
    portal: Portal, ina: BrowserClient, text: str, told: str
) -> None:
    status, page = preview(ina, text)
    assert status == 422
    assert told in page
    assert "<script>" not in page
    assert list(memberships(portal)) == ["ina@example.edu"]


def test_cells_at_the_end_of_a_line_may_be_left_out() -> None:
    short = read_roster("email,name,role,section\nmax@uni.example,Max\neva@uni.example,Eva,assistant\n")
    full = read_roster("email,name,role,section\nmax@uni.example,Max,,\neva@uni.example,Eva,assistant,\n")
    assert (short, short.problems) == (full, ())


def test_all_that_is_wrong_with_a_line_is_named_at_once() -> None:
    lines = ["email,name,role,section", f",,professor,{'x' * 61}", "a@b.c,Ada,,", "A@b.c,,boss,", "a@b.c,Ada,,"]
    read = read_roster("\n".join(lines))
    assert [row.line for row in read.rows] == [3]
    assert [(problem.line, problem.column) for problem in read.problems] == [
        (2, "email"), (2, "name"), (2, "role"), (2, "section"),
        (4, "name"), (4, "role"), (4, "email"), (5, "email"),
    ]  # fmt: skip
    assert " line 3." in read.problems[-1].text, "names the line that has it already"


def test_a_file_that_names_nobody_drops_nobody(portal: Portal, ina: BrowserClient) -> None:
    portal.course.person("ada")
    status, page = preview(ina, "email,name\n", drop="yes")
    assert status == 422
    assert "has no people" in page
    _, page = preview(ina, "\nemail,name\nina@example.edu,Ina\n", drop="yes")
    assert "<h3>1 " in page, "asks before it drops one"


def test_columns_with_other_names_are_chosen(portal: Portal, ina: BrowserClient) -> None:
    text = "Kontakt;Person\nada@example.edu;Ada L.\n"
    status, page = preview(ina, text)
    assert status == 422
    assert re.findall(r'<option value="(\w*)"', page) == ["", "Kontakt", "Person"] * 2
    _, page = preview(ina, text, email="Kontakt", name="Person")
    assert ina.post_form(f"{ROSTER}/apply", **carried(page)).status_code == 303
    assert memberships(portal)["ada@example.edu"] == (Role.STUDENT.value, "", False)
    _, page = preview(ina, "eve@example.edu,Eve\nada@example.edu,Ada")
    assert "<option" not in page, "the first line has a person, and no names of columns"


@ON_POSTGRESQL
def test_a_large_file_takes_few_statements(portal: Portal, ina: BrowserClient) -> None:
    engine: Engine = portal.app.extensions["tilelab"].engine
    lines = "".join(f"s{n}@example.edu,S {n}\n" for n in range(120))
    _, page = preview(ina, f"email,name\n{lines}")
    with counted_queries(engine) as seen:
        assert ina.post_form(f"{ROSTER}/apply", drop="", **carried(page)).status_code == 303
    assert len(seen) < 60
    assert len(memberships(portal)) == 121


@pytest.mark.parametrize("content", [b"\xff\xfee\x00m\x00", b"\x00\x01\x02", b'"' * 1000, b"email\x00,name\na,b"])
def test_any_bytes_are_answered(ina: BrowserClient, content: bytes) -> None:
    answer = ina.post_form(f"{ROSTER}/import", file=(io.BytesIO(content), "x"))
    assert answer.status_code == 422


def test_what_was_exported_can_be_imported_and_runs_in_no_spreadsheet(portal: Portal, ina: BrowserClient) -> None:
    with portal.course.sessions.begin() as session:
        made = Person(email="-x@example.edu", name="=1+1", created_at=NOW)
        session.add(made)
        session.flush()
        enrol(session, session.get_one(Course, portal.course.course), made)
    text = ina.get(f"{ROSTER}.csv").get_data(as_text=True)
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    assert [row["name"] for row in rows] == ["ina", "'=1+1"]
    assert rows[1]["email"] == "'-x@example.edu"
    status, page = preview(ina, text)
    assert status == 200
    assert 'id="preview-title"' in page
    assert 'name="digest"' not in page, "there is nothing to apply"


def test_a_link_is_shown_once(portal: Portal, ina: BrowserClient) -> None:
    client_of(portal, "ada")
    number = portal.course.people["ada"]
    page = ina.post_form(f"{ROSTER}/{number}/link").get_data(as_text=True)
    found = re.search(r"/invitation/([\w-]+)", page)
    assert found
    assert "/invitation/" not in ina.page(ROSTER)
    with portal.course.sessions.begin() as session:
        link = find_link(session, LinkPurpose.INVITATION, found[1])
        assert link
        assert link.person_id == number
        set_password(session, session.get_one(Person, number), "correct horse")
    assert "/reset/" in ina.post_form(f"{ROSTER}/{number}/link").get_data(as_text=True)


def test_no_link_opens_more_than_who_hands_it_out_may_see(portal: Portal, ina: BrowserClient) -> None:
    client_of(portal, "ada")
    client_of(portal, "root", admin=True)
    with portal.course.sessions.begin() as session:
        ada = session.get_one(Person, portal.course.people["ada"])
        set_password(session, ada, "correct horse")
        enrol(session, create_course(session, "other", "Other"), ada)
    for name in ("ada", "root"):
        assert ina.post_form(f"{ROSTER}/{portal.course.people[name]}/link").status_code == 409
    assert ina.post_form(f"{ROSTER}/999999/link").status_code == 409
    admin = client_of(portal, "boss", None, admin=True)
    assert admin.post_form(f"{ROSTER}/{portal.course.people['ada']}/link").status_code == 200


def test_invitations_for_all_come_as_a_table(portal: Portal, ina: BrowserClient) -> None:
    client_of(portal, "ada")
    client_of(portal, "ben", password="x")
    text = ina.post_form(f"{ROSTER}/invitations.csv").get_data(as_text=True)
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    assert [row["email"] for row in rows] == ["ada@example.edu", "ina@example.edu"]
    assert all(row["link"].startswith("http://localhost/invitation/") for row in rows)


def test_a_code_is_made_and_withdrawn(portal: Portal, ina: BrowserClient) -> None:
    ina.post_form(f"{ROSTER}/code", do="make")
    with portal.course.sessions.begin() as session:
        code = session.get_one(Course, portal.course.course).enrolment_code
    assert code
    page = ina.page(ROSTER)
    assert code in page
    assert "http://localhost/join<" in page
    ina.post_form(f"{ROSTER}/code", do="withdraw")
    with portal.course.sessions.begin() as session:
        assert session.get_one(Course, portal.course.course).enrolment_code is None
