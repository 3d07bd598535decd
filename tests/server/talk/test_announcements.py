"""Announcements: who reads them, who writes them, and what is counted as seen."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import select

from server.audit.models import AuditEvent
from server.courses.handouts import render_text
from server.courses.models import Course, Membership, Role
from server.talk import announcements
from server.talk.announcements import LONGEST_TEXT
from server.talk.models import Announcement, SeenAnnouncement
from server.talk.news import number_of_news
from tests.server.course import NOW
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

HOME, PAGE, ALL, STAFF = (
    "/courses/gpu/",
    "/courses/gpu/tiled/",
    "/courses/gpu/announcements",
    "/staff/gpu/announcements",
)
EXAM = {"title": "Exam <b>", "text": "On **Friday**, <script>alert(1)</script>"}


def publish(staff: BrowserClient, **fields: str) -> None:
    answer = staff.post_form(STAFF, **(EXAM | fields))
    assert answer.status_code == 303, answer.text


def found(portal: Portal) -> list[Announcement]:
    return portal.course.rows(select(Announcement).order_by(Announcement.id))


def deeds(portal: Portal) -> list[tuple[str, str]]:
    entries = portal.course.rows(select(AuditEvent).order_by(AuditEvent.id))
    return [(each.action, str(each.detail)) for each in entries if each.action.startswith("announcement.")]


def test_an_announcement_is_read_and_counts_as_seen(portal: Portal, tom: BrowserClient) -> None:
    publish(tom)
    ada = client_of(portal, "ada")
    assert 'data-unseen="1"' in ada.page("/")
    page = ada.page(HOME)
    assert "<strong>Friday</strong>" in page
    assert "Exam &lt;b&gt;" in page
    assert "<script>alert" not in page
    assert "open data-new" in page
    assert "open data-new" not in ada.page(HOME)
    assert "data-unseen" not in ada.page("/")
    client_of(portal, "bob")
    assert "1 of 2" in tom.page(STAFF)
    tom.post_form(f"{STAFF}/1", **EXAM, again="yes")
    assert "open data-new" in ada.page(ALL)
    with portal.course.sessions.begin() as session:
        assert number_of_news(session, portal.course.people["tom"], NOW) == 0, "its author knows it"


def test_changes_of_two_people_are_merged_by_field(portal: Portal, tom: BrowserClient) -> None:
    publish(tom)
    shown = tom.page(f"{STAFF}/1").partition('name="shown" value="')[2].partition('"')[0]
    assert tom.post_form(f"{STAFF}/1", **(EXAM | {"title": "Quiz"})).status_code == 303
    assert tom.post_form(f"{STAFF}/1", **(EXAM | {"text": "On Monday"}), shown=shown).status_code == 303
    assert [(one.title, one.text) for one in found(portal)] == [("Quiz", "On Monday")]
    assert tom.post_form(f"{STAFF}/1", **(EXAM | {"title": "Test"}), shown=shown).status_code == 409


def test_one_on_an_assignment_is_for_those_who_see_it(portal: Portal, tom: BrowserClient) -> None:
    publish(tom, place="tiled", title="Hint")
    publish(tom, title="Exam")
    ada = client_of(portal, "ada")
    assert "Hint" in ada.page(PAGE)
    assert "Exam" not in ada.page(PAGE)
    portal.course.change(opens_at=NOW + timedelta(days=365_000))
    for path in (HOME, ALL, "/api/v1/announcements"):
        answer = portal.get("ada", path) if path.startswith("/api") else ada.get(path)
        assert ("Exam" in answer.text, "Hint" in answer.text) == (True, False), path
    assert "Hint" in tom.page(ALL)


def test_withdrawing_hides_it_until_it_is_published_again(portal: Portal, tom: BrowserClient) -> None:
    publish(tom)
    tom.post_form(f"{STAFF}/1/withdraw")
    tom.post_form(f"{STAFF}/1/withdraw")
    ada = client_of(portal, "ada")
    assert all("Exam" not in client.page(path) for client in (ada, tom) for path in (HOME, ALL))
    assert portal.get("ada", "/api/v1/announcements").get_json()["announcements"] == []
    assert "Exam" in tom.page(STAFF)
    tom.post_form(f"{STAFF}/1/publish")
    assert "Exam" in ada.page(HOME)
    what = ["announcement.published", "announcement.withdrawn", "announcement.published"]
    assert [action for action, _ in deeds(portal)] == what
    assert "Exam" not in str(deeds(portal))


def test_looking_as_a_student_marks_nothing(portal: Portal, tom: BrowserClient) -> None:
    publish(tom)
    tom.post_form(f"/staff/gpu/students/{portal.course.person('ada')}/view")
    assert all("open data-new" in tom.page(path) for path in (HOME, ALL))
    assert {each.person_id for each in portal.course.rows(select(SeenAnnouncement))} == {portal.course.people["tom"]}


def test_staff_of_another_course_change_nothing(portal: Portal, tom: BrowserClient) -> None:
    publish(tom)
    client_of(portal, "flo", None)
    with portal.course.sessions.begin() as session:
        other = Course(slug="other", title="Other", created_at=NOW)
        session.add(other)
        session.flush()
        session.add(Membership(course_id=other.id, person_id=portal.course.person("flo"), role=Role.INSTRUCTOR,
                               created_at=NOW))  # fmt: skip
    flo = client_of(portal, "flo")
    for action in ("", "/withdraw", "/publish"):
        answer = flo.post_form(f"/staff/other/announcements/1{action}", title="Mine", text="Mine")
        assert answer.status_code == 404, action
    assert flo.get("/staff/other/announcements/1").status_code == 404
    assert portal.get("flo", "/api/v1/announcements").get_json()["announcements"] == []
    answer = flo.post_form("/staff/other/announcements", **EXAM, place="tiled")
    assert answer.status_code == 422
    assert [(each.title, each.withdrawn_at) for each in found(portal)] == [(EXAM["title"], None)]


@pytest.mark.one_in(2, "every second")
@pytest.mark.parametrize(
    "fields",
    [{"title": " "}, {"title": "x" * 201}, {"text": " "}, {"text": "x" * (LONGEST_TEXT + 1)}, {"place": "none"}],
)
def test_what_is_wrong_comes_back_with_what_was_typed(
    portal: Portal, tom: BrowserClient, fields: dict[str, str]
) -> None:
    answer = tom.post_form(STAFF, **(EXAM | fields))
    assert answer.status_code == 422
    assert 'class="problem-list"' in answer.text
    assert found(portal) == []


def test_a_preview_publishes_nothing(portal: Portal, tom: BrowserClient) -> None:
    answer = tom.post_form(STAFF, **EXAM, do="preview")
    assert (answer.status_code, "<strong>Friday</strong>" in answer.text, found(portal)) == (200, True, [])


def test_an_archived_course_keeps_its_announcements(portal: Portal, tom: BrowserClient) -> None:
    publish(tom)
    portal.course.change_course(archived_at=NOW)
    assert tom.post_form(STAFF, **EXAM).status_code == 422
    assert tom.post_form(f"{STAFF}/1", title="New", text="New").status_code == 422
    assert "Exam" in client_of(portal, "ada").page(HOME)
    assert tom.post_form(f"{STAFF}/1/withdraw").status_code == 303
    assert tom.post_form(f"{STAFF}/1/publish").status_code == 409


def test_programs_read_them_in_parts(portal: Portal, tom: BrowserClient) -> None:
    for number in range(3):
        publish(tom, title=f"Number {number}")
    portal.token("ada")
    first = portal.get("ada", "/api/v1/announcements?limit=2").get_json()
    rest = portal.get("ada", first["next"]).get_json()
    titles = [each["title"] for part in (first, rest) for each in part["announcements"]]
    assert titles == ["Number 2", "Number 1", "Number 0"]
    assert rest["next"] is None
    assert rest["announcements"][0]["seen"] is False


def test_a_text_cannot_leave_its_place() -> None:
    page = render_text("# Top\n\n![x](//evil.example/a.png) [y](javascript:z) \u202eltr\n\n<img src=x>")
    assert "<h4>Top</h4>" in page
    assert "<img" not in page
    assert "href" not in page
    assert "\u202e" not in page


def test_a_text_that_makes_a_huge_page_is_refused(
    portal: Portal, tom: BrowserClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = "|" * 100 + "\n" + "|-" * 99 + "|\n" + "|\n" * 20
    publish(tom, text=table)
    monkeypatch.setattr(announcements, "LONGEST_PAGE", 10_000)
    assert tom.post_form(STAFF, **(EXAM | {"text": table})).status_code == 422
    assert len(found(portal)) == 1
