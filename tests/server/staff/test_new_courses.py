"""Courses made in the portal: who may, a new one, and a copy for the next term."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import select

from server.accounts.models import Person
from server.audit.models import AuditEvent
from server.courses.creation import copy_course, days_until
from server.courses.models import Assignment, Counts, Course, Exercise, Extension, Membership, Role
from server.courses.service import Terms, create_assignment, find_course
from server.enrolment.authority import Barrier, barrier
from server.exercises.service import own_exercises
from server.exercises.stored import content_of, installed_content, keep, keep_draft, kept_content
from server.grades.criteria import Criterion, stored
from server.submissions.models import Submission
from server.talk.models import SavedComment
from tests.server.course import NOW
from tests.server.staff.proven import FILES
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

COPY = "/staff/gpu/copy"


@pytest.fixture
def root(portal: Portal) -> BrowserClient:
    found = client_of(portal, "root", None)
    with portal.course.sessions.begin() as session:
        session.get_one(Person, portal.course.people["root"]).admin = True
    return found


@pytest.fixture
def ina(portal: Portal, root: BrowserClient) -> BrowserClient:
    """An instructor who may create courses."""
    found = client_of(portal, "ina", Role.INSTRUCTOR)
    assert found.get("/new-course").status_code == found.post_form("/new-course").status_code == 403
    assert root.post_form("/new-course/people", email="ina@example.edu").status_code == 303
    return found


def members(portal: Portal, slug: str) -> list[tuple[str, Role]]:
    with portal.course.sessions.begin() as session:
        query = select(Membership).join(Course).where(Course.slug == slug)
        return [(one.person.name, one.role) for one in session.scalars(query)]


def test_an_operator_gives_and_takes_the_right(portal: Portal, root: BrowserClient, ina: BrowserClient) -> None:
    number = portal.course.people["ina"]
    assert "ina@example.edu" in root.page("/new-course")
    assert "New course" in ina.page("/")
    assert "People with this right" not in ina.page("/new-course")
    assert ina.post_form("/new-course/people", email="ina@example.edu").status_code == 403
    assert root.post_form("/new-course/people", email="x@example.edu").status_code == 422
    client_of(portal, "tim", Role.INSTRUCTOR)
    with portal.course.sessions.begin() as session:
        tim = session.get_one(Person, portal.course.people["tim"])
        assert barrier(session, tim, session.get_one(Person, number)) is Barrier.ADMIN
    assert root.post_form(f"/new-course/people/{number}/remove").status_code == 303
    for page in ("/new-course", COPY):
        assert ina.get(page).status_code == 403, page
    assert "New course" not in ina.page("/")
    assert "may create courses" in root.page("/fleet/audit")


def test_who_creates_a_course_teaches_it(portal: Portal, ina: BrowserClient) -> None:
    given = {"slug": "next", "title": "Next", "zone": "Europe/Vienna"}
    for wrong, field in (({"slug": "A b"}, "slug"), ({"slug": "gpu"}, "slug"), ({"title": ""}, "title"),
                         ({"zone": "Mars/Base"}, "zone")):  # fmt: skip
        answer = ina.post_form("/new-course", **(given | wrong))
        assert answer.status_code == 422
        assert f'id="{field}-error"' in answer.text, wrong
    assert ina.post_form("/new-course", **given).location == "/staff/next/?notice=course-created"
    assert members(portal, "next") == [("ina", Role.INSTRUCTOR)]
    with portal.course.sessions.begin() as session:
        made = find_course(session, "next")
        assert made is not None
        assert (made.title, made.time_zone, made.enrolment_code) == ("Next", "Europe/Vienna", None)
    assert "course created" in ina.page("/staff/next/audit")


def fill(portal: Portal) -> None:
    """An assignment with every setting, around a change of clocks, and work that no copy may have."""
    course = portal.course
    portal.course.hand_in("ada")
    with course.sessions.begin() as session:
        found = session.get_one(Course, course.course)
        found.time_zone, found.enrolment_code = "Europe/Vienna", "k7qf"
        own = keep(session, installed_content("tiled"), course.course, NOW)
        one = session.get_one(Assignment, course.assignment)
        one.exercise_id, one.points, one.counts, one.attempts = own.id, 7.5, Counts.CHOSEN, 12
        one.opens_at = datetime(2026, 3, 2, 8, tzinfo=UTC)
        one.due_at = datetime(2026, 3, 20, 22, 59, tzinfo=UTC)  # 23:59 in winter
        one.closes_at = datetime(2026, 3, 31, 21, 59, tzinfo=UTC)  # 23:59 in summer
        one.late_percent_per_day, one.listed, one.grades_held, one.tile = 12.5, False, True, 16
        one.rubric, one.blind = stored([Criterion("aa", "Readable", 4.0)]), True
        for of in (one.id, None):
            session.add(SavedComment(course_id=course.course, assignment_id=of, text="Check Row."))
        session.add(Extension(assignment_id=one.id, person_id=course.people["ada"], extra_attempts=1,
                              created_at=NOW))  # fmt: skip
        create_assignment(session, found, "naive", Terms(slug="second"), NOW)
        keep(session, content_of("spare", FILES), course.course, NOW)
        keep_draft(session, content_of("draft", FILES), course.course, None, NOW)


def test_a_copy_has_the_assignments_and_no_people(portal: Portal, ina: BrowserClient) -> None:
    fill(portal)
    assert "2026-03-02" in ina.page(COPY)
    given = {"slug": "gpu-2", "title": "GPU 2", "starts": "2026-03-16"}
    assert ina.post_form(COPY, **given).location == "/staff/gpu-2/assignments?notice=course-copied"
    assert members(portal, "gpu-2") == [("ina", Role.INSTRUCTOR)]
    with portal.course.sessions.begin() as session:
        made = find_course(session, "gpu-2")
        assert made is not None
        assert (made.time_zone, made.enrolment_code, made.archived_at) == ("Europe/Vienna", None, None)
        query = select(Assignment).where(Assignment.course_id == made.id).order_by(Assignment.slug.desc())
        tiled, second = session.scalars(query).all()
        source = session.get_one(Assignment, portal.course.assignment)
        same = ("slug", "title", "device_class", "arch", "tile", "points", "late_percent_per_day", "attempts", "counts",
                "min_interval_seconds", "checks_per_hour", "listed", "grades_held", "rubric", "blind")  # fmt: skip
        for name in same:
            assert getattr(tiled, name) == getattr(source, name), name
        assert tiled.opens_at == datetime(2026, 3, 16, 8, tzinfo=UTC)
        assert tiled.due_at == datetime(2026, 4, 3, 21, 59, tzinfo=UTC)  # 23:59 in summer now
        assert tiled.closes_at == datetime(2026, 4, 14, 21, 59, tzinfo=UTC)
        assert (tiled.exercise.course_id, second.exercise.course_id) == (made.id, None)
        assert kept_content(session, tiled.exercise).files == kept_content(session, source.exercise).files
        assert [one.name for one in own_exercises(session, made.id)] == ["spare", "tiled"]
        saved = select(SavedComment.assignment_id, SavedComment.text).where(SavedComment.course_id == made.id)
        assert {tuple(row) for row in session.execute(saved)} == {(tiled.id, "Check Row."), (None, "Check Row.")}
        work = select(Submission.id).where(Submission.assignment_id == tiled.id)
        assert session.scalars(work).all() == []
        assert session.scalars(select(Extension.assignment_id)).all() == [source.id]
        deed = session.scalars(select(AuditEvent).where(AuditEvent.action == "course.copied")).one()
        assert deed.detail == {"source": "course gpu", "assignments": 2, "days": 14}
    assert "course copied" in ina.page("/staff/gpu-2/audit")


def test_a_deadline_has_the_course_s_time_too_and_a_new_course_the_reader_s(portal: Portal, ina: BrowserClient) -> None:
    portal.course.change(due_at=datetime(2030, 1, 2, 12, tzinfo=UTC))
    portal.course.change_course(time_zone="Europe/Vienna")
    pages = ("/staff/gpu/assignments", "/staff/gpu/progress/tiled")
    assert all("(course: " not in ina.page(page) for page in pages)
    ina.set_cookie("tilelab_zone", "America/New_York")
    assert all("(course: 13:00 CET)" in ina.page(page) for page in pages)
    assert '<option value="America/New_York" selected>' in ina.page("/new-course")


def test_a_copy_shows_its_dates_first_and_takes_others(portal: Portal, ina: BrowserClient) -> None:
    fill(portal)
    given = {"slug": "gpu-2", "title": "GPU 2", "starts": "2026-03-18"}
    shown = ina.post_form(COPY, **given, preview="yes")
    assert len(portal.course.rows(select(Course.id))) == 1
    assert re.findall(r'name="preview" value="(\d+)"', shown.text) == ["14", "21"]
    assert 'name="due-tiled" value="2026-04-05T23:59"' in shown.text
    weeks = ina.post_form(COPY, **given, preview="14")
    times = dict(re.findall(r'name="(\w+-\w+)" value="([^"]*)"', weeks.text))
    assert (times["due-tiled"], "data-weekdays" in weeks.text) == ("2026-04-03T23:59", False)
    given |= {"starts": "", "days": "14", "shown": "14"}
    wrong = ina.post_form(COPY, **given, **(times | {"due-tiled": "2026-01-01T00:00"}))
    assert (wrong.status_code, 'href="#due-tiled"' in wrong.text) == (422, True)
    other = times | {"due-tiled": "2026-04-04T12:00", "opens-second": ""}
    assert ina.post_form(COPY, **given, **other).status_code == 303
    with portal.course.sessions.begin() as session:
        made = select(Assignment.slug, Assignment.due_at, Assignment.listed).join(Course).where(Course.slug == "gpu-2")
        found = {slug: (due_at, listed) for slug, due_at, listed in session.execute(made)}
    assert found["tiled"][0] == datetime(2026, 4, 4, 10, tzinfo=UTC)
    assert found["second"][1] is False


def test_corrected_dates_of_a_copy_are_of_the_shift_that_was_shown(portal: Portal, ina: BrowserClient) -> None:
    fill(portal)
    portal.course.change(board_frozen_at=datetime(2026, 3, 19, 22, 59, tzinfo=UTC))
    given = {"slug": "gpu-2", "title": "GPU 2", "days": "14", "shown": "14"}
    shown = ina.post_form(COPY, **given, preview="yes").text
    times = dict(re.findall(r'name="(\w+-\w+)" value="([^"]*)"', shown)) | {"due-tiled": "2026-04-05T23:59"}
    again = ina.post_form(COPY, **given, **times, preview="yes").text
    assert 'name="due-tiled" value="2026-04-05T23:59"' in again
    other = ina.post_form(COPY, **(given | {"days": "21"}), **times)
    assert (other.status_code, 'name="due-tiled" value="2026-04-10T23:59"' in other.text) == (422, True)
    assert len(portal.course.rows(select(Course.id))) == 1
    del times["due-second"]  # made meanwhile
    assert ina.post_form(COPY, **given, **times).status_code == 303
    made = select(Assignment).join(Course).where(Course.slug == "gpu-2").order_by(Assignment.slug.desc())
    tiled, second = portal.course.rows(made)
    assert tiled.due_at == datetime(2026, 4, 5, 21, 59, tzinfo=UTC)
    assert tiled.board_frozen_at == datetime(2026, 4, 4, 21, 59, tzinfo=UTC)  # two days later, as the deadline
    assert second.opens_at is not None


def test_a_copy_keeps_details_as_long_and_begins_its_notice_anew(portal: Portal) -> None:
    portal.course.change_course(retention_days=90, retention_set_at=datetime(2025, 1, 1, tzinfo=UTC))
    at = datetime(2026, 9, 1, tzinfo=UTC)
    with portal.course.sessions.begin() as session:
        made = copy_course(session, session.get_one(Course, portal.course.course), None, "next", "Next", now=at)
        assert (made.retention_days, made.retention_set_at) == (90, at)


def test_a_copy_opens_nothing_before_its_first_day(portal: Portal) -> None:
    with portal.course.sessions.begin() as session:
        source = session.get_one(Course, portal.course.course)
        source.time_zone = "Europe/Vienna"
        dateless = copy_course(session, source, None, "dateless", "Dateless")
        first = session.scalars(select(Assignment).where(Assignment.course_id == source.id)).one()
        first.opens_at = datetime(2026, 9, 1, 6, 0, tzinfo=UTC)
        later, night = datetime(2026, 9, 8, 6, 0, tzinfo=UTC), datetime(2026, 8, 31, 22, 0, tzinfo=UTC)
        for slug, due_at in (("later", later), ("night", night)):
            create_assignment(session, source, "tiled", Terms(slug=slug)).due_at = due_at
        copy = copy_course(session, source, None, "next", "Next", days=140)
        found = {
            (one.course_id == copy.id, one.slug): (one.opens_at, one.listed)
            for one in session.scalars(select(Assignment).where(Assignment.course_id != source.id))
        }
    starts = datetime(2027, 1, 18, 23, 0, tzinfo=UTC)
    assert found == {
        (False, "tiled"): (None, False), (True, "tiled"): (datetime(2027, 1, 19, 7, 0, tzinfo=UTC), True),
        (True, "later"): (starts, True), (True, "night"): (None, False),
    }  # fmt: skip
    assert dateless.slug == "dateless"


@pytest.mark.one_in(4, "two of seven fields")
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"slug": "gpu"}, "slug"), ({"starts": "soon"}, "starts"), ({"days": "many"}, "days"),
        ({"days": "99999"}, "days"), ({"days": "7", "starts": "2027-01-01"}, "days"), ({"title": ""}, "title"),
        ({"starts": "9999-12-31"}, "days"),
    ],
)  # fmt: skip
def test_a_wrong_field_copies_nothing(portal: Portal, ina: BrowserClient, wrong: dict[str, str], field: str) -> None:
    fill(portal)
    answer = ina.post_form(COPY, **({"slug": "gpu-2", "title": "GPU 2"} | wrong))
    assert answer.status_code == 422
    assert f'id="{field}-error"' in answer.text
    assert len(portal.course.rows(select(Course.id))) == 1


def test_an_archived_course_is_copied_again_and_again(portal: Portal) -> None:
    fill(portal)
    with portal.course.sessions.begin() as session:
        source = session.get_one(Course, portal.course.course)
        source.archived_at = NOW
        assert days_until(session, source, date(2027, 3, 1)) == 364
        copy = copy_course(session, source, None, "b", "B", days=364)
        last = copy_course(session, copy, None, "c", "C", days=-1)
        assert last.archived_at is None
        assert len(session.scalars(select(Exercise).where(Exercise.course_id.is_not(None))).all()) == 7
        due = session.scalars(
            select(Assignment.due_at).where(Assignment.slug == "tiled").order_by(Assignment.course_id)
        ).all()
    assert sorted(one - due[0] for one in due if one and due[0]) == [
        timedelta(0), timedelta(days=363), timedelta(days=364),
    ]  # fmt: skip
