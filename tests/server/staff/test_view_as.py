"""A course as one of its students sees it: read-only, marked, audited, and nothing else."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from server.audit.models import AuditEvent
from server.courses.models import Course, Membership, Role
from server.roster.service import drop
from server.submissions.models import Submission
from tests.server.course import NOW
from tests.server.experiments.started import started
from tests.server.staff.graded import handed_in
from tests.server.submissions.graded import graded
from tests.server.submissions.graded import handed_in as checked
from tests.server.web.conftest import SOURCE, Portal
from tests.server.web.signed_in import BrowserClient, client_of

MARK = "You view this course as"
STOP = "/staff/gpu/students/stop-viewing"


@pytest.fixture(autouse=True)
def unmeasured(portal: Portal) -> None:
    portal.course.change(device_class="")


def viewing(portal: Portal, name: str = "ada") -> BrowserClient:
    """An assistant who looks at the course as that student."""
    tom = client_of(portal, "tom", Role.ASSISTANT)
    answer = tom.post_form(f"/staff/gpu/students/{portal.course.person(name)}/view")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/courses/gpu/")
    return tom


def test_view_as_shows_the_student_s_pages_and_marks_them(portal: Portal) -> None:
    own, other = (handed_in(portal.course, name, source=name.encode()) for name in ("ada", "bob"))
    varied = [started(portal.course, name) for name in ("ada", "bob")]
    tom = viewing(portal)
    for path in (
        "/courses/gpu/", "/courses/gpu/tiled/", "/courses/gpu/tiled/history", f"/submissions/{own}",
        "/courses/gpu/tiled/board/cpu", "/courses/gpu/experiments", f"/experiments/{varied[0]}",
    ):  # fmt: skip
        page = tom.page(path)
        assert MARK in page, path
        assert "Stop viewing" in page, path
    assert "bob@example.edu" not in tom.page("/courses/gpu/tiled/board/cpu")
    assert "Your submissions" in tom.page("/courses/gpu/tiled/history")
    for path in (
        "/", "/account", "/account/tokens", "/staff/gpu/", "/fleet", f"/submissions/{other}",
        "/submissions/none", "/courses/else/", f"/experiments/{varied[1]}",
    ):  # fmt: skip
        answer = tom.get(path)
        assert (answer.status_code, MARK in answer.text) == (403, True), path


def test_the_form_is_not_shown(portal: Portal) -> None:
    page = viewing(portal).page("/courses/gpu/tiled/")
    assert 'id="hand-in-form"' not in page
    assert "You can’t submit in this view" in page
    assert 'id="hand-in-form"' in client_of(portal, "ada").page("/courses/gpu/tiled/")


def test_results_lead_to_no_form(portal: Portal) -> None:
    public_id, job = checked(portal.course, "ada")
    graded(portal.course, job)
    for reader, shown in ((viewing(portal), False), (client_of(portal, "ada"), True)):
        page = reader.page(f"/submissions/{public_id}")
        assert (f"?from={public_id}" in page, 'name="mode" value="rank"' in page) == (shown, shown)


def test_nothing_is_done_for_the_student(portal: Portal) -> None:
    public_id = handed_in(portal.course, "ada")
    tom = viewing(portal)
    for path in (
        "/courses/gpu/tiled/submissions", f"/submissions/{public_id}/choose", f"/submissions/{public_id}/retry",
        f"/submissions/{public_id}/vary", "/account", "/account/tokens", "/account/password", "/staff/gpu/regrade",
        "/join", "/sign-in",
    ):  # fmt: skip
        assert tom.post_form(path, source=SOURCE, mode="rank", name="Eve").status_code == 403, path
    assert len(portal.course.rows(select(Submission))) == 1


def test_errors_are_answered_as_ever(portal: Portal) -> None:
    """The page of an error has the mark too. It asks who reads, after the request was refused for another reason."""
    tom = viewing(portal)
    for answer, status in ((tom.get("/nowhere"), 404), (tom.post("/account"), 403)):
        assert (answer.status_code, MARK in answer.text) == (status, True)


def test_it_ends_and_is_audited(portal: Portal) -> None:
    tom = viewing(portal)
    assert tom.post_form(STOP).status_code == 303
    assert MARK not in tom.page("/courses/gpu/")
    assert tom.get("/staff/gpu/").status_code == 200
    actions = portal.course.rows(select(AuditEvent.action).where(AuditEvent.action.like("member.view%")))
    assert list(actions) == ["member.viewed_as", "member.view_ended"]
    tom = viewing(portal)
    assert tom.post_form("/sign-out").status_code == 303
    assert tom.get("/courses/gpu/").status_code == 303


def test_only_students_of_the_course_are_viewed(portal: Portal) -> None:
    course = portal.course
    tom = client_of(portal, "tom", Role.ASSISTANT)
    course.person("ina", Role.INSTRUCTOR)
    course.person("out", None)
    for name in ("ina", "out"):
        assert tom.post_form(f"/staff/gpu/students/{course.people[name]}/view").status_code == 409
    ada = course.person("ada")
    assert client_of(portal, "bob").post_form(f"/staff/gpu/students/{ada}/view").status_code == 403


def test_it_ends_with_the_role_of_either(portal: Portal) -> None:
    course = portal.course
    tom = viewing(portal)
    with course.sessions.begin() as session:
        drop(session, session.get_one(Course, course.course), None, course.people["ada"])
    assert MARK not in tom.page("/courses/gpu/")
    tom = viewing(portal, "bob")
    with course.sessions.begin() as session:
        staff = session.scalars(select(Membership).where(Membership.person_id == course.people["tom"])).one()
        staff.dropped_at = NOW
    assert tom.get("/courses/gpu/").status_code == 404
