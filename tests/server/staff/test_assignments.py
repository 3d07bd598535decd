"""Setting an exercise, changing how it is set, extensions."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from kernels.wire import to_plain
from server.courses.models import Assignment, Counts, Extension, Role
from server.fleet.models import Worker
from server.fleet.service import GONE
from tests.marks import first_of_each
from tests.server.course import NOW
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of
from worker.contract.fleet import WorkerRecord, WorkerState

PAGE = "/staff/gpu/assignments"
VIENNA = ZoneInfo("Europe/Vienna")
RIGHT = {
    "title": "Tiled", "points": "10", "opens_at": "", "due_at": "2026-05-01T23:59", "closes_at": "2026-05-03T23:59",
    "late_percent_per_day": "12.5", "attempts": "20", "min_interval_seconds": "30", "checks_per_hour": "10",
    "counts": "last", "first_hint": "edit", "board_frozen_at": "", "listed": "yes",
}  # fmt: skip


@pytest.fixture
def ina(portal: Portal) -> BrowserClient:
    portal.course.change_course(time_zone="Europe/Vienna")
    return client_of(portal, "ina", Role.INSTRUCTOR)


def assignment(portal: Portal, slug: str = "tiled") -> Assignment:
    return portal.course.row(select(Assignment).where(Assignment.slug == slug))


def test_an_exercise_is_switched_on(portal: Portal, ina: BrowserClient) -> None:
    assert 'value="naive"' in ina.page(f"{PAGE}/new")
    more = {"exercise": "naive", "slug": "lab-2", "device_class": "", "arch": "sm_80", "tile": "", "title": ""}
    answer = ina.post_form(PAGE, **(RIGHT | more))
    assert answer.status_code == 303
    assert answer.headers["Location"].startswith(f"{PAGE}/lab-2?")
    made = assignment(portal, "lab-2")
    assert (made.arch, made.points, made.counts, made.attempts) == ("sm_80", 10.0, Counts.LAST, 20)
    assert made.due_at == datetime(2026, 5, 1, 21, 59, tzinfo=UTC)
    assert "lab-2" in ina.page(PAGE)
    assert portal.course.deeds()[-1].subject == "assignment gpu/lab-2"


WRONG = [
    ("exercise", "nothing"), ("slug", "Not A Slug"), ("slug", "tiled"), ("slug", "total"),
    ("arch", "sm_1"), ("tile", "7"), ("tile", "x"), ("device_class", "H 200"), ("device_class", "nonsense"),
    ("device_class", "v100"), ("device_class", "v100-sxm2"), ("points", "nan"), ("points", "many"), ("points", "1,000"),
    ("due_at", "tomorrow"), ("due_at", "1066-10-14T09:00"), ("opens_at", "2026-06-01T00:00"),
    ("attempts", "9" * 40), ("checks_per_hour", "1.5"), ("counts", "worst"), ("speed_by", "worst"),
]  # fmt: skip


@pytest.mark.one_in(3, "a third of the fields")
@pytest.mark.parametrize(
    "wrong", first_of_each(WRONG, itemgetter(0), "-".join, "the short suite has one wrong value of each field")
)
def test_what_is_wrong_stands_beside_its_field(portal: Portal, ina: BrowserClient, wrong: tuple[str, str]) -> None:
    field, value = wrong
    given = RIGHT | {"exercise": "naive", "slug": "lab-2", "device_class": "", "arch": "", "tile": "", field: value}
    answer = ina.post_form(PAGE, **given)
    page = answer.get_data(as_text=True)
    assert answer.status_code == 422
    place = {"opens_at": "due_at"}.get(field, field)
    assert f'id="{place}-error"' in page
    assert "<h2>This could not be saved</h2>" in page
    assert len(portal.course.rows(select(Assignment))) == 1


def test_only_classes_that_can_be_measured_are_offered(portal: Portal, ina: BrowserClient) -> None:
    page = ina.page(f"{PAGE}/new")
    assert 'value="h200"' in page
    assert 'value="v100"' not in page
    record = WorkerRecord("w", "host", 1, WorkerState.IDLE, (), 0.0, device_classes={"gb999": "sm_120"})
    with portal.course.sessions.begin() as session:
        session.add(Worker(id="w", host="h", state=GONE, record=to_plain(record), first_seen=NOW, last_beat=NOW))
    assert 'value="gb999"' in ina.page(f"{PAGE}/new")
    given = RIGHT | {"exercise": "naive", "slug": "own", "device_class": "gb999", "arch": "", "tile": ""}
    assert ina.post_form(PAGE, **given).status_code == 303


def test_all_that_is_wrong_is_told_at_once(ina: BrowserClient) -> None:
    wrong = {"slug": "total", "device_class": "H 200", "arch": "sm_1", "tile": "7", "points": "-1", "counts": "worst"}
    answer = ina.post_form(PAGE, **(RIGHT | {"exercise": "naive"} | wrong))
    assert answer.status_code == 422
    page = answer.get_data(as_text=True)
    assert [name for name in wrong if f'<a href="#{name}">' not in page] == []
    page = ina.post_form(PAGE, **(RIGHT | {"exercise": ""} | wrong)).get_data(as_text=True)
    assert [name for name in ("exercise", *wrong) if f'<a href="#{name}">' not in page] == ["tile"]


def test_a_change_is_saved_and_a_moved_deadline_noted_with_who_was_at_work(portal: Portal, ina: BrowserClient) -> None:
    portal.course.hand_in("ada")
    assert ina.post_form(f"{PAGE}/tiled", **RIGHT).status_code == 303
    found = assignment(portal)
    assert found.closes_at == datetime(2026, 5, 3, 21, 59, tzinfo=UTC)
    assert (found.late_percent_per_day, found.min_interval_seconds, found.listed) == (12.5, 30, True)
    deed = portal.course.deeds()[-1]
    assert (deed.action, deed.detail["students_at_work"]) == ("assignment.deadline_moved", 1)
    assert deed.detail["due_at"] == [None, "2026-05-01T21:59:00+00:00"]
    assert 'value="2026-05-01T23:59"' in ina.page(f"{PAGE}/tiled")
    ina.post_form(f"{PAGE}/tiled", **(RIGHT | {"points": "12", "listed": ""}))
    assert portal.course.deeds()[-1].action == "assignment.changed"
    assert not assignment(portal).listed
    count = portal.course.deeds()[-1].id
    ina.post_form(f"{PAGE}/tiled", **(RIGHT | {"points": "12", "listed": ""}))
    assert portal.course.deeds()[-1].id == count


def test_what_was_wrong_keeps_what_was_typed(portal: Portal, ina: BrowserClient) -> None:
    answer = ina.post_form(f"{PAGE}/tiled", **(RIGHT | {"due_at": "2026-03-29T02:30", "title": "Half “typed”"}))
    page = answer.get_data(as_text=True)
    assert answer.status_code == 422
    assert "skip 02:30 on that day. Use 03:30 instead." in page
    assert 'value="Half “typed”"' in page
    assert ina.post_form(f"{PAGE}/nothing", **RIGHT).status_code == 404


def test_what_somebody_saved_meanwhile_is_not_overwritten_unseen(portal: Portal, ina: BrowserClient) -> None:
    def shown() -> str:
        return ina.page(f"{PAGE}/tiled").partition('name="shown" value="')[2].partition('"')[0]

    before = shown()
    assert ina.post_form(f"{PAGE}/tiled", **RIGHT, shown=before).status_code == 303
    answer = ina.post_form(f"{PAGE}/tiled", **(RIGHT | {"points": "7,5"}), shown=before)
    page = answer.get_data(as_text=True)
    assert answer.status_code == 409
    assert "The saved value is “10”" in page
    assert assignment(portal).points == 10.0
    assert ina.post_form(f"{PAGE}/tiled", **(RIGHT | {"points": "7,5"}), shown=shown()).status_code == 303
    assert assignment(portal).points == 7.5


def test_what_only_somebody_else_changed_stays(portal: Portal, ina: BrowserClient) -> None:
    """Two tabs: one changes the points, the other the title, and neither restores an old value."""
    ina.post_form(f"{PAGE}/tiled", **RIGHT)
    page = ina.page(f"{PAGE}/tiled")
    shown = page.partition('name="shown" value="')[2].partition('"')[0]
    assert ina.post_form(f"{PAGE}/tiled", **(RIGHT | {"points": "18", "attempts": "7"}), shown=shown).status_code == 303
    both = RIGHT | {"title": "Lab 3", "attempts": "9"}
    answer = ina.post_form(f"{PAGE}/tiled", **both, shown=shown)
    assert answer.status_code == 409
    assert re.search(r'name="points"[^>]* value="18"', answer.text)
    again = answer.text.partition('name="shown" value="')[2].partition('"')[0]
    saved = ina.post_form(f"{PAGE}/tiled", **(both | {"points": "18"}), shown=again)
    assert saved.status_code == 303
    one = assignment(portal)
    assert (one.title, one.points, one.attempts) == ("Lab 3", 18.0, 9)
    assert ina.post_form(f"{PAGE}/tiled", **(RIGHT | {"points": "18", "attempts": "9"}), shown=again).status_code == 303
    assert (assignment(portal).title, assignment(portal).points) == ("Lab 3", 18.0), "an old tab that changes nothing"


def test_a_board_is_frozen(portal: Portal, ina: BrowserClient) -> None:
    ina.post_form(f"{PAGE}/tiled", **(RIGHT | {"board_frozen_at": "2026-04-30T12:00"}))
    assert assignment(portal).board_frozen_at == datetime(2026, 4, 30, 10, 0, tzinfo=UTC)
    ina.post_form(f"{PAGE}/tiled", **RIGHT)
    assert assignment(portal).board_frozen_at is None


def test_an_extension_is_granted_replaced_and_withdrawn(portal: Portal, ina: BrowserClient) -> None:
    ada = portal.course.person("ada")
    ina.post_form(f"{PAGE}/tiled", **RIGHT)
    granted: dict[str, Any] = {
        "person": str(ada), "extended_due_at": "2026-05-02T23:59", "extended_closes_at": "", "extra_attempts": "",
        "reason": "was ill",
    }  # fmt: skip
    assert ina.post_form(f"{PAGE}/tiled/extensions", **granted).status_code == 303
    assert ina.post_form(f"{PAGE}/tiled/extensions", **(granted | {"extra_attempts": "3"})).status_code == 303
    one = portal.course.row(select(Extension))
    assert (one.due_at, one.extra_attempts, one.granted_by) == (
        datetime(2026, 5, 2, 21, 59, tzinfo=UTC), 3, portal.course.people["ina"],
    )  # fmt: skip
    assert "was ill" in ina.page(f"{PAGE}/tiled")
    page = ina.page("/staff/gpu/audit")
    assert "was ill" not in page
    assert "due: 2026-05-02 21:59 UTC" in page
    assert "closes: none<" not in page
    assert "Such as assignment gpu/tiled." in page
    assert ina.post_form(f"{PAGE}/tiled/extensions/{ada}/withdraw").status_code == 303
    assert portal.course.rows(select(Extension)) == []
    assert portal.course.deeds()[-1].action == "extension.withdrawn"


@pytest.mark.parametrize("person", ["", "99999", "ada", "9" * 30])
def test_an_extension_needs_a_student(portal: Portal, ina: BrowserClient, person: str) -> None:
    ina.post_form(f"{PAGE}/tiled", **RIGHT)
    answer = ina.post_form(f"{PAGE}/tiled/extensions", person=person, extra_attempts="1")
    assert (answer.status_code, 'id="person-error"' in answer.text) == (422, True)


def test_many_students_get_an_extension_at_once_or_none_of_them(portal: Portal, ina: BrowserClient) -> None:
    people = {portal.course.person(name) for name in ("ada", "bob", "eve")}
    ina.post_form(f"{PAGE}/tiled", **RIGHT)
    given = {"extended_due_at": "2026-05-02T23:59", "emails": "ADA@example.edu\r\nbob@example.edu; eve@example.edu"}
    wrong = ina.post_form(f"{PAGE}/tiled/extensions", **(given | {"emails": f"{given['emails']},x, ina@example.edu"}))
    assert wrong.status_code == 422
    assert "No student of this course has the email ina@example.edu, x." in wrong.get_data(as_text=True)
    assert portal.course.rows(select(Extension)) == []
    assert ina.post_form(f"{PAGE}/tiled/extensions", **given).status_code == 303
    assert {one.person_id for one in portal.course.rows(select(Extension))} == people


def test_staff_have_no_extension(portal: Portal, ina: BrowserClient) -> None:
    ina.post_form(f"{PAGE}/tiled", **RIGHT)
    given = {"person": str(portal.course.people["ina"]), "extra_attempts": "1"}
    answer = ina.post_form(f"{PAGE}/tiled/extensions", **given)
    assert answer.status_code == 422
    assert "Only students" in answer.get_data(as_text=True)


def test_the_list_counts_students(portal: Portal, ina: BrowserClient) -> None:
    portal.course.hand_in("ada", source=b"// 1")
    portal.course.hand_in("ada", source=b"// 2")
    page = " ".join(ina.page(PAGE).split())
    assert '<td class="n">1</td>' in page
    assert '>2<span class="vh"> submissions' in page


def test_the_order_of_a_course_is_kept_until_it_is_sorted_by_deadline(portal: Portal, ina: BrowserClient) -> None:
    portal.course.change(points=10.0)
    for name in ("alpha", "beta"):
        ina.post_form(PAGE, **(RIGHT | {"exercise": "naive", "slug": name, "arch": "sm_80", "title": name}))
    way = "/staff/gpu/assignment-order"
    assert ina.post_form(way, up="beta").status_code == 303
    assert portal.course.deeds()[-1].detail == {"order": "beta, alpha, tiled"}
    assert ina.post_form(way, down="alpha").status_code == 303
    student = client_of(portal, "ada").page("/courses/gpu/")
    assert [student.index(f"/courses/gpu/{name}/") for name in ("beta", "tiled", "alpha")] == sorted(
        student.index(f"/courses/gpu/{name}/") for name in ("beta", "tiled", "alpha")
    )
    assert ina.post_form(way, up="none").status_code == 409
    assert ina.post_form(way).status_code == 303
    assert portal.course.deeds()[-1].detail == {"order": "alpha, beta, tiled"}
