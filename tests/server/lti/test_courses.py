"""A connected course: its roster, the choice of assignments, and its page."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select

from server.courses.models import Course, Membership, Role
from server.lti.models import LtiContext, LtiLaunch, LtiScore
from tests.server.course import NOW
from tests.server.lti.conftest import brought, code, followed, launched, posted
from tests.server.lti.platform import CLAIM, DL, ROLE, Answer, Platform
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of


def member(name: str, role: str = "Learner", /, **changed: Any) -> dict[str, Any]:
    made = {"user_id": f"u-{name}", "roles": [ROLE + role], "name": name.title(), "email": f"{name}@example.edu"}
    return {key: value for key, value in {**made, "status": "Active", **changed}.items() if value is not None}


@pytest.fixture
def teacher(portal: Portal, connected: Platform) -> BrowserClient:
    """The instructor's browser, once the course was opened from the platform."""
    launched(portal, connected, "teacher", "Instructor")
    return client_of(portal, "teacher")


# -- roster -----------------------------------------------------------------------------------------------------------


def preview(browser: BrowserClient, **form: str):
    return browser.post_form("/staff/gpu/platforms/1/roster", **form)


def members(portal: Portal) -> dict[str, Role]:
    with portal.course.sessions.begin() as session:
        query = select(Membership).where(Membership.dropped_at.is_(None), Membership.course_id == portal.course.course)
        return {each.person.email: each.role for each in session.scalars(query)}


def test_a_roster_comes_in_pages_and_waits_for_a_yes(portal: Portal, connected: Platform, teacher: BrowserClient):
    portal.course.person("leaving")
    connected.members = [
        [member("ada"), member("helper", "Instructor"), member("gone", status="Inactive")],
        [member("bob", name=None, given_name="Bob", family_name="Builder"), member("nomail", email=None)],
        [member("ada")],
    ]
    page = preview(teacher, drop="yes")
    assert page.status_code == 422  # somebody has no email, so nobody can be dropped
    connected.members[1].pop()
    page = preview(teacher, drop="yes")
    assert page.status_code == 200
    assert set(members(portal)) == {"teacher@example.edu", "leaving@example.edu"}

    text = page.get_data(as_text=True)
    (digest,) = re.findall(r'name="digest" value="(\w+)"', text)
    (roster,) = re.findall(r'<textarea name="text"[^>]*>\n(.*?)</textarea>', text, re.DOTALL)
    answer = teacher.post_form("/staff/gpu/roster/apply", digest=digest, text=roster, drop="yes")
    assert answer.status_code == 303
    assert members(portal) == {
        "teacher@example.edu": Role.INSTRUCTOR, "ada@example.edu": Role.STUDENT, "bob@example.edu": Role.STUDENT,
    }  # fmt: skip


def test_the_platforms_word_changes_no_role(portal: Portal, connected: Platform, teacher: BrowserClient):
    portal.course.person("tom", Role.ASSISTANT)
    connected.members = [[member("tom", name="tom"), member("teacher"), member("ina", "Administrator")]]
    assert "Apply" not in preview(teacher).get_data(as_text=True)


def test_a_roster_that_fails_changes_nothing(portal: Portal, connected: Platform, teacher: BrowserClient):
    without_end = {"Link": f'<{connected.address}/members>; rel="next"'}
    answers: list[Answer] = [
        (500, {}, {}), (200, {"members": "all"}, {}), (200, [], {}), (200, {"members": []}, without_end),
    ]  # fmt: skip
    for answer in answers:
        connected.fails = partial(_but_access, answer)
        assert code(preview(teacher)) == "lti_roster", answer
    with portal.course.sessions.begin() as session:
        session.scalars(select(LtiContext)).one().members = "http://127.0.0.1:1/members"
    assert code(preview(teacher)) == "lti_roster"
    assert connected.refused == []


def _but_access(answer: Answer, path: str) -> Answer | None:
    return None if path == "/token" else answer


def test_a_foreign_connection_is_out_of_reach(portal: Portal, connected: Platform, teacher: BrowserClient):
    with portal.course.sessions.begin() as session:
        session.add(Course(slug="other", title="Other", created_at=NOW))
        session.flush()
        other = session.scalars(select(Course).where(Course.slug == "other")).one().id
        session.add(
            LtiContext(
                platform_id=1, course_id=other, deployment="deployment-1", name="c-9", title="Other", connected_at=NOW
            )
        )  # fmt: skip
    for act in ("", "/roster", "/disconnect"):
        assert teacher.post_form(f"/staff/gpu/platforms/2{act}").status_code == 404


# -- the page ---------------------------------------------------------------------------------------------------------


def test_the_page_says_what_could_not_be_sent(portal: Portal, connected: Platform, teacher: BrowserClient):
    launched(portal, connected)
    with portal.course.sessions.begin() as session:
        session.add(
            LtiScore(
                link_id=1, person_id=portal.course.people["teacher"], points=7.5, most=10.0, made_at=NOW,
                next_at=datetime(2100, 1, 1, tzinfo=UTC), tries=4, fault="moodle answers 404",
            )
        )  # fmt: skip
    assert "moodle answers 404" in teacher.page("/staff/gpu/platforms")
    assert teacher.post_form("/staff/gpu/platforms/send-again").status_code == 303
    assert portal.course.row(select(LtiScore.tries).where(LtiScore.points.is_not(None))) == 0


def test_an_instructor_changes_and_disconnects(portal: Portal, connected: Platform, teacher: BrowserClient):
    teacher.post_form("/staff/gpu/platforms/1", sends_grades="yes")
    context = portal.course.row(select(LtiContext))
    assert (context.adds_students, context.sends_grades) == (False, True)
    launched(portal, connected, "teacher", "Instructor")
    teacher.post_form("/staff/gpu/platforms/1/disconnect")
    assert portal.course.rows(select(LtiContext)) == []
    assert portal.course.actions("lti") == ["lti.changed", "lti.disconnected"]
    assert code(launched(portal, connected)[1]) == "lti_unknown"


# -- choosing ---------------------------------------------------------------------------------------------------------


def choosing(portal: Portal, platform: Platform, frame: str = "", **changed: Any):
    """The browser of an instructor who was asked to choose, and the answer."""
    browser = BrowserClient(portal.app, portal.app.response_class, use_cookies=True)
    sent = browser.get("/lti/login", query_string=platform.login() | ({"frame": frame} if frame else {}))
    query = platform.asked_to_sign_in(sent.headers["Location"])
    answer = posted(browser, query["state"], platform.signed(platform.choosing(query["nonce"], **changed)))
    return browser, followed(browser, answer)


def returned(page: str) -> tuple[str, str]:
    found = re.search(r'action="([^"]+)">\s*<input type="hidden" name="JWT" value="([^"]+)"', page)
    assert found, page
    return found[1], found[2]


def test_an_instructor_chooses_an_assignment(portal: Portal, connected: Platform):
    portal.course.change(points=10.0)
    browser, page = choosing(portal, connected)
    way = page.request.path
    assert way.endswith("/choose")
    assert "Tiled" in page.get_data(as_text=True)

    answer = browser.post_form(way, assignment="tiled")

    where, token = returned(answer.get_data(as_text=True))
    assert where == f"{connected.address}/return"
    assert f"form-action {connected.address};" in answer.headers["Content-Security-Policy"]
    connected.answer("POST", "/return", {}, f"JWT={token}".encode())
    assert (connected.refused, [item["url"] for item in connected.returned]) == (
        [], ["http://localhost/courses/gpu/tiled/"],
    )  # fmt: skip
    assert connected.returned[0]["lineItem"]["scoreMaximum"] == 10.0
    assert browser.post_form(way, assignment="none").status_code == 404


def test_a_choice_comes_back_in_the_frame(portal: Portal, connected: Platform):
    framed = {"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "cross-site"}
    browser = BrowserClient(portal.app, portal.app.response_class, use_cookies=False)
    page = browser.post(
        "/lti/login", data=connected.login(target_link_uri="http://localhost/lti/choose"), headers=framed
    )
    (secret,) = re.findall(r"url=/lti/frames/([\w-]+)\?", page.get_data(as_text=True))
    assert "JWT" not in browser.page(f"/lti/frames/{secret}")

    tab, page = choosing(portal, connected, secret)
    done = tab.post_form(page.request.path, assignment="tiled").get_data(as_text=True)
    assert "JWT" not in done
    answer = browser.get(f"/lti/frames/{secret}", headers=framed)
    assert "frame-ancestors *" in answer.headers["Content-Security-Policy"]
    assert returned(answer.get_data(as_text=True))[0] == f"{connected.address}/return"
    assert "JWT" not in browser.page("/lti/frames/" + "x" * 43)


def test_only_staff_of_the_course_choose(portal: Portal, connected: Platform):
    browser, page = choosing(portal, connected)
    way = page.request.path
    with portal.course.sessions.begin() as session:
        session.scalars(select(Membership)).one().role = Role.STUDENT
    assert code(browser.post_form(way, assignment="tiled")) == "lti_student"
    assert code(client_of(portal, "tom", Role.INSTRUCTOR).post_form(way, assignment="tiled")) == "lti_over"
    assert portal.course.row(select(LtiLaunch.answer)) == ""


def test_a_choice_goes_to_safe_addresses_only(portal: Portal, connected: Platform):
    for address in ("http://127.0.0.1:1/", "http://evil.example/", "javascript:alert(1)"):
        settings = {"deep_link_return_url": address, "accept_types": ["ltiResourceLink"]}
        browser, page = choosing(portal, connected, "", **{f"{DL}deep_linking_settings": settings})
        assert code(browser.post_form(page.request.path, assignment="tiled")) == "lti_return", address


def test_a_launch_of_a_page_chooses_nothing(portal: Portal, connected: Platform):
    browser, query = brought(portal, connected)
    said = connected.said(query["nonce"], "teacher", "Instructor", **{f"{CLAIM}resource_link": {"id": "l-2"}})
    page = posted(browser, query["state"], connected.signed(said)).headers["Location"]
    browser.get(page)
    assert code(browser.get(f"{page}/choose")) == "lti_student"
