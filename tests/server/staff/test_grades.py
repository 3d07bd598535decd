"""The gradebook: what it shows, what it exports, and what it costs."""

from __future__ import annotations

import csv
import io
from datetime import timedelta

import pytest
from sqlalchemy import Engine, insert

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Assignment, Course, Membership, Role
from server.courses.service import Terms, create_assignment
from server.grades.gradebook import gradebook, grades_csv
from server.roster.service import Member, Wanted, by_surname, roster
from server.submissions.models import Mode
from tests.server.course import NOW
from tests.server.staff.graded import counted_queries, handed_in
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient

PAGE = "/staff/gpu/grades"
DAY = timedelta(days=1)


@pytest.fixture
def tom(portal: Portal, tom: BrowserClient) -> BrowserClient:
    portal.course.change(late_percent_per_day=20.0)
    return tom


def test_the_gradebook_has_what_counts_and_a_link_to_it(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    handed_in(course, "ada", Verdict.DATA_RACE, source=b"// 1")
    right = handed_in(course, "ada", Verdict.ACCEPTED, NOW + DAY / 2, source=b"// 2")
    late = handed_in(course, "bob", Verdict.ACCEPTED, NOW + 2.5 * DAY, source=b"// 3")
    course.hand_in("eve", source=b"// 4")
    course.person("fay")
    page = tom.page(PAGE)
    for told in ('title="2 days late, 20 % a day"', '<span class="fine">late</span>', "nothing yet", "–"):
        assert told in page, told
    for name, counts in (("ada", right), ("bob", late)):
        assert f"/submissions/{counts}" in tom.page(f"{PAGE}/tiled/{course.people[name]}")
    text = tom.get(f"{PAGE}.csv").get_data(as_text=True).removeprefix("\ufeff")
    rows = {row["email"]: row for row in csv.DictReader(io.StringIO(text))}
    assert list(rows["ada@example.edu"]) == ["email", "name", "section", "tiled", "total", "why", "student_id"]
    assert [(row["tiled"], row["total"], row["why"]) for row in rows.values()] == [
        ("10", "10", ""), ("6", "6", "tiled: 2 days late, 20 % a day"), ("", "0", ""), ("", "0", ""),
    ]  # fmt: skip
    assert "tom@example.edu" not in rows
    assert "grades exported" in tom.page("/staff/gpu/audit")


def test_it_is_sorted_and_filtered(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    handed_in(course, "bob", Verdict.ACCEPTED, source=b"// 1")
    course.person("ada")
    with course.sessions.begin() as session:
        membership = session.query(Membership).filter_by(person_id=course.people["ada"]).one()
        membership.section, membership.dropped_at = "A1", NOW
    assert "ada@example.edu" not in tom.page(PAGE)
    for query, first in (("by=total", "ada"), ("by=total&down=yes", "bob"), ("by=tiled", "ada"), ("by=section", "bob")):
        page = tom.page(f"{PAGE}?dropped=yes&{query}")
        other = {"ada": "bob", "bob": "ada"}[first]
        assert page.index(f"{first}@example.edu") < page.index(f"{other}@example.edu"), query
    assert "bob@example.edu" not in tom.page(f"{PAGE}?dropped=yes&section=A1")
    assert 'aria-sort="descending"' in tom.page(f"{PAGE}?by=total&down=yes")
    assert tom.get(f"{PAGE}?by=nonsense").status_code == 200
    for junk in ("%00", "junk"):
        answer = tom.get(f"{PAGE}?section={junk}")
        assert (answer.status_code, 'href="#section"' in answer.text) == (422, True)
        assert "@example.edu" not in answer.text.partition("<main")[2]
        assert tom.get(f"{PAGE}.csv?section={junk}").status_code == 422


def test_rows_are_in_the_order_of_surnames() -> None:
    names = ["Zoe Adams", "Berg, Tom", "Adam Zuse", "ann berg"]
    members = [Member(0, name, "", Role.STUDENT, "", NOW, None, True, False, True, "") for name in names]
    assert [one.name for one in sorted(members, key=by_surname)] == ["Zoe Adams", "ann berg", "Berg, Tom", "Adam Zuse"]


def test_what_students_never_saw_is_no_column(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    with course.sessions.begin() as session:
        draft = create_assignment(session, session.get_one(Course, course.course), "naive", Terms(slug="draft"))
        draft.points, draft.listed = 99.0, False
    handed_in(course, "ada")
    assert "draft" not in tom.get(f"{PAGE}.csv").get_data(as_text=True)
    course.change(listed=False)
    assert "email,name,section,tiled,total" in tom.get(f"{PAGE}.csv").get_data(as_text=True)
    assert "grades.csv?dropped=yes" in tom.page(f"{PAGE}?dropped=yes")


def test_a_course_without_assignments_is_exported(portal: Portal, tom: BrowserClient) -> None:
    portal.course.person("ada")
    with portal.course.sessions.begin() as session:
        session.delete(session.get_one(Assignment, portal.course.assignment))
    rows = list(csv.reader(io.StringIO(tom.get("/staff/gpu/grades.csv").text)))
    assert [row[-3:] for row in rows[1:]] == [["0", "", ""]]


def test_two_hundred_students_cost_no_more_queries_than_two(portal: Portal) -> None:
    course = portal.course
    handed_in(course, "ada", source=b"// 1")
    engine: Engine = portal.app.extensions["tilelab"].engine
    few = _queries(portal, engine)
    with course.sessions.begin() as session:
        people = [
            {"email": f"s{n}@example.edu", "name": f"S {n}", "created_at": NOW, "admin": False, "shows_name": False,
             "time_zone": ""} for n in range(200)
        ]  # fmt: skip
        session.execute(insert(Person), people)
        numbers = session.query(Person.id).filter(Person.email.like("s%@example.edu")).all()
        session.execute(
            insert(Membership),
            [
                {"course_id": 1, "person_id": number, "role": Role.STUDENT, "created_at": NOW, "section": ""}
                for (number,) in numbers
            ],
        )  # fmt: skip
    many = _queries(portal, engine)
    assert len(many) == len(few) <= 10


def test_a_page_computes_only_its_rows(portal: Portal, tom: BrowserClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.roster.views.PAGE", 2)
    for name in ("ada", "bob", "eve"):
        handed_in(portal.course, name, source=name.encode())
    course = portal.course
    handed_in(course, "eve", now=NOW + DAY / 2, source=b"// late", mode=Mode.CHECK)
    first, second = tom.page(PAGE), tom.page(f"{PAGE}?page=2")
    assert ["ada@" in first, "bob@" in first, "eve@" in first] == [True, True, False]
    assert ["ada@" in second, "eve@" in second, "Page 2 of 2, 3 students" in second] == [False, True, True]
    assert "eve@" in tom.page(f"{PAGE}?text=EVE")
    assert "ada@" not in tom.page(f"{PAGE}?text=EVE")
    assert "eve@" in tom.page(f"{PAGE}?down=yes&by=name")
    assert "page=2" in tom.page(f"{PAGE}?by=total&down=yes")
    assert "No matching students" in tom.page(f"{PAGE}?text=zoe")
    assert tom.get(f"{PAGE}.csv?text=eve").text.count("@example.edu") == 1
    with portal.app.extensions["tilelab"].readers.begin() as session:
        wanted = Wanted("eve", role=Role.STUDENT)
        book = gradebook(session, course.course, roster(session, course.course, wanted))
        assert [[(cell.points, cell.tries) for cell in line.cells] for line in book.lines] == [[(10.0, 2)]]


def _queries(portal: Portal, engine: Engine) -> list[str]:
    with counted_queries(engine) as seen, portal.app.extensions["tilelab"].readers.begin() as session:
        grades_csv(gradebook(session, portal.course.course))
    return seen
