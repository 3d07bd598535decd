"""How far students are: bars, the students of each part, what fails, who is stuck, speeds, activity, the forecast."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from sqlalchemy import Engine, insert

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.class_progress.forecast import forecast
from server.class_progress.states import Bar, State, bars
from server.class_progress.views import messages_to
from server.courses.attention import attention
from server.courses.models import Assignment, Membership, Role
from server.standings.class_speeds import bins
from server.submissions.models import Mode, Submission
from tests.server.course import NOW
from tests.server.staff.graded import counted_queries, handed_in, judged, newest_job
from tests.server.standings.results import ranked
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

DAY = timedelta(days=1)
PAGE = "/staff/gpu/progress/tiled"


def fill(portal: Portal) -> None:
    """A student in each state."""
    course = portal.course
    handed_in(course, "ada", Verdict.DATA_RACE, source=b"// 1")
    handed_in(course, "ada", now=NOW + DAY / 2, source=b"// 2")
    handed_in(course, "bob", now=NOW + 2 * DAY, source=b"// 3")
    handed_in(course, "eve", now=NOW + 2 * DAY, source=b"// 4")
    for number in range(3):
        handed_in(course, "fay", Verdict.DATA_RACE, NOW + number * DAY / 24, source=b"// f%d" % number)
    handed_in(course, "gus", source=b"// 5", mode=Mode.CHECK)
    course.person("hal")
    course.extend("eve", due_at=NOW + 3 * DAY)


def counts(portal: Portal) -> dict[State, int]:
    with portal.course.sessions.begin() as session:
        (bar,) = bars(session, portal.course.course, NOW)
    return {state: count for state, count in bar.parts if count}


def test_each_student_is_in_one_part(portal: Portal, tom: BrowserClient) -> None:
    fill(portal)
    assert counts(portal) == {
        State.ACCEPTED: 2, State.LATE: 1, State.FAILING: 1, State.CHECKING: 1, State.NOT_STARTED: 1,
    }  # fmt: skip
    text = tom.get(f"{PAGE}/students.csv?part=unsubmitted").text.removeprefix("\ufeff")
    assert [row["name"] for row in csv.DictReader(io.StringIO(text))] == ["gus", "hal"]
    for path in ("/staff/gpu/", "/staff/gpu/progress", PAGE):
        assert "2 accepted" in tom.page(path), path
    in_part = {
        "": "ada bob eve fay gus hal", "accepted": "ada eve", "late": "bob", "failing": "fay", "checking": "gus",
        "not_started": "hal", "stuck": "fay",
    }  # fmt: skip
    for part, names in in_part.items():
        text = tom.get(f"{PAGE}/students.csv?part={part}").text.removeprefix("\ufeff")
        assert " ".join(row["name"] for row in csv.DictReader(io.StringIO(text))) == names, part
    assert "roster exported" in tom.page("/staff/gpu/audit")


def test_who_has_more_time_is_stuck_until_the_own_deadline(portal: Portal, tom: BrowserClient) -> None:
    fill(portal)
    portal.course.extend("gus", due_at=NOW + 9 * DAY)
    page = tom.page(f"{PAGE}/students?part=stuck")
    assert "gus@example.edu" in page
    assert "no attempt for 9 days" in page


def test_excused_students_count_in_no_part_and_are_not_stuck(portal: Portal, tom: BrowserClient) -> None:
    fill(portal)
    for name in ("fay", "hal"):
        portal.course.correct(name, excused=True)
    assert counts(portal) == {State.ACCEPTED: 2, State.LATE: 1, State.CHECKING: 1}
    page = tom.page(PAGE)
    assert "part=stuck" not in page
    assert 'part=excused">2 excused' in page
    for part, names in {"excused": "fay hal", "failing": "", "not_started": "", "stuck": ""}.items():
        text = tom.get(f"{PAGE}/students.csv?part={part}").text.removeprefix("\ufeff")
        assert " ".join(row["name"] for row in csv.DictReader(io.StringIO(text))) == names, part
    with portal.course.sessions.begin() as session:
        (deadline,) = attention(session, portal.course.course, NOW).deadlines
    assert (deadline.students, deadline.missing) == (4, 1)
    assert [name for _, name in deadline.names] == ["gus"]


def test_a_part_is_searched_and_gives_its_addresses(
    portal: Portal, tom: BrowserClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.roster.views.PAGE", 1)
    fill(portal)
    page = tom.page(f"{PAGE}/students?part=accepted")
    assert "mailto:?bcc=ada@example.edu,eve@example.edu" in page
    assert "ada@example.edu, eve@example.edu" in page
    assert "Page 1 of 2, 2 students" in page
    assert "in a row: data race<" in tom.page(f"{PAGE}/students?text=fay")
    assert "No students here" in tom.page(f"{PAGE}/students?part=late&text=ada")
    assert tom.get(f"{PAGE}/students?part=junk").status_code == 422
    assert tom.get(f"{PAGE}/students.csv?part=junk").status_code == 422
    assert tom.get("/staff/gpu/progress/none").status_code == 404


def test_a_regrade_moves_a_student_to_another_part(portal: Portal) -> None:
    course = portal.course
    course.change(device_class="", due_at=NOW + DAY)
    course.hand_in("ada")
    assert counts(portal) == {State.FAILING: 1}
    with course.sessions.begin() as session:
        number = session.query(Submission.id).one()[0]
    judged(course, newest_job(course, number))
    assert counts(portal) == {State.ACCEPTED: 1}
    client_of(portal, "ina", Role.INSTRUCTOR).post_form("/staff/gpu/regrade", assignment="tiled", newest="999")
    judged(course, newest_job(course, number), Verdict.WRONG_ANSWER)
    assert counts(portal) == {State.FAILING: 1}


def test_kernels_that_staff_try_are_not_counted_as_students_work(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    course.person("ina", Role.INSTRUCTOR)
    for number in range(3):
        handed_in(course, "ina", Verdict.DATA_RACE, source=b"// %d" % number)
    page = tom.page(PAGE)
    assert "No failed attempts" in page
    assert "No submissions yet" in page
    handed_in(course, "ada", Verdict.DATA_RACE)
    course.person("bob")
    with course.sessions.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        (bar,) = bars(session, course.course, NOW)
        assert "About 2 more attempts" in forecast(session, bar, NOW)
        assignment.device_class = "h200"
    ranked(course, "ina", 9_000.0, 0.01)
    assert "on H200" not in tom.page(PAGE)


def test_speeds_are_a_distribution_with_the_ladder(portal: Portal, tom: BrowserClient) -> None:
    portal.course.change(device_class="h200")
    ranked(portal.course, "ada", 2_400.0, 0.01)
    page = tom.page(PAGE)
    assert "1 student on H200" in page
    assert "rung 1" in page


def test_bins_are_round_and_hold_every_value() -> None:
    found = bins([120.0, 455.0, 455.0], [("rung 1", 130.0), ("rung 2", 900.0)])
    assert [(one.label, one.students) for one in found if one.students] == [("100–150", 1), ("450–500", 2)]
    assert [(one.label, one.rungs) for one in found if one.rungs] == [
        ("100–150", ("rung 1",)), ("above 500", ("rung 2",)),
    ]  # fmt: skip
    assert sum(one.students for one in bins([0.003], [])) == 1


@pytest.mark.parametrize("values", [[11.0, 11.4, 12.0], [0.003], [0.1, 0.3, 0.7], [9.7, 10.1], [1.9, 1.911]])
def test_each_bin_has_its_own_label(values: list[float]) -> None:
    found = bins(values, [])
    assert len({one.label for one in found}) == len(found)
    assert all(len(set(one.label.split("–"))) == 2 for one in found)
    assert sum(one.students for one in found) == len(values)


def test_the_overview_has_the_forecast_of_the_next_deadline(portal: Portal, tom: BrowserClient) -> None:
    portal.course.person("ada")
    assert "more attempts until the deadline" not in tom.page("/staff/gpu/")
    portal.course.change(due_at=datetime.now(UTC) + DAY)
    assert "Tiled: About 5 more attempts until the deadline" in tom.page("/staff/gpu/")


def test_the_forecast_says_whether_workers_keep_up(portal: Portal) -> None:
    with portal.course.sessions.begin() as session:
        assignment = session.get_one(Assignment, portal.course.assignment)
        bar = Bar(assignment, {State.NOT_STARTED: 300})
        assert forecast(session, bar, NOW) == ""
        assignment.due_at = NOW + DAY
        assert "1,500 more attempts" in forecast(session, bar, NOW)
        assert "no worker takes work" in forecast(session, bar, NOW)
        assert "All students are finished" in forecast(session, Bar(assignment, {State.LATE: 2}), NOW)


def test_the_number_of_statements_does_not_grow(portal: Portal, tom: BrowserClient) -> None:
    fill(portal)
    engine: Engine = portal.app.extensions["tilelab"].engine
    pages = (PAGE, f"{PAGE}/students", "/staff/gpu/progress", "/staff/gpu/")
    tom.page(PAGE)
    before = [_statements(engine, tom, path) for path in pages]
    with portal.course.sessions.begin() as session:
        people = [{"email": f"s{n}@example.edu", "name": f"S {n}", "created_at": NOW} for n in range(80)]
        numbers = session.scalars(insert(Person).returning(Person.id), people).all()
        session.execute(
            insert(Membership),
            [
                {"course_id": portal.course.course, "person_id": number, "role": Role.STUDENT, "created_at": NOW}
                for number in numbers
            ],
        )  # fmt: skip
    assert [_statements(engine, tom, path) for path in pages] == before


def _statements(engine: Engine, client: BrowserClient, path: str) -> int:
    with counted_queries(engine) as seen:
        client.page(path)
    return len(seen)


def test_a_long_list_is_split_into_e_mails_that_programs_take() -> None:
    emails = [f"student.{number}@university.example" for number in range(300)]
    messages = messages_to(emails)
    sent = [email for message in messages for email in message.address.removeprefix("mailto:?bcc=").split(",")]
    assert sent == emails
    assert max(len(message.address) for message in messages) <= 1_800
    assert [(message.first, message.last) for message in messages][-1][1] == 300
    assert all(one.last + 1 == following.first for one, following in pairwise(messages))
    assert len(messages_to(emails[:5])) == 1
