"""Launches from a platform, as a browser sees them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from sqlalchemy import select

from server.accounts import service
from server.accounts.models import Identity, Person
from server.courses.models import Course, Membership, Role
from server.lti.models import LtiContext, LtiLink, LtiPlatform
from tests.server.course import NOW
from tests.server.lti.conftest import brought, code, followed, launched, posted
from tests.server.lti.platform import CLAIM, HERE, Platform
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of


def identities(portal: Portal) -> dict[str, str]:
    """By subject, the emails of the accounts that identities open."""
    with portal.course.sessions.begin() as session:
        rows = session.execute(select(Identity.subject, Person.email).join(Identity.person))
        return {row.subject: row.email for row in rows}


def role_of(portal: Portal, email: str) -> Role | None:
    with portal.course.sessions.begin() as session:
        query = select(Membership.role).join(Membership.person).where(Person.email == email)
        return session.scalar(query.where(Membership.dropped_at.is_(None)))


def test_a_student_opens_an_assignment(portal: Portal, connected: Platform) -> None:
    browser, answer = launched(portal, connected, "newcomer")

    assert (answer.status_code, answer.headers["Location"]) == (303, "/courses/gpu/tiled/")
    assert browser.get("/courses/gpu/tiled/").status_code == 200
    assert identities(portal) == {"u-newcomer": "newcomer@example.edu"}
    assert role_of(portal, "newcomer@example.edu") is Role.STUDENT
    link = portal.course.row(select(LtiLink))
    assert (link.name, link.assignment_id, link.line_item) == (
        "l-1", portal.course.assignment, f"{connected.address}/items/1?type=1",
    )  # fmt: skip


def test_a_known_student_keeps_the_account(portal: Portal, connected: Platform) -> None:
    portal.course.person("ada")
    for _ in range(2):
        _, answer = launched(portal, connected)
        assert answer.status_code == 303
    assert identities(portal) == {"u-ada": "ada@example.edu"}


def test_the_subject_decides_if_the_email_changes(portal: Portal, connected: Platform) -> None:
    launched(portal, connected)
    browser, _ = launched(portal, connected, email="countess@example.edu")
    assert "ada@example.edu" in browser.page("/account")


def test_a_launch_may_lead_to_the_course(portal: Portal, connected: Platform) -> None:
    for target in ("/courses/gpu/", "/lti/launch", ""):
        _, answer = launched(portal, connected, **{f"{CLAIM}target_link_uri": HERE + target})
        assert answer.headers["Location"] == "/courses/gpu/", target


def test_an_instructor_connects_a_course(portal: Portal, platform: Platform) -> None:
    portal.course.person("teacher", Role.INSTRUCTOR)
    browser, page = launched(portal, platform, "teacher", "Instructor")
    assert page.status_code == 200
    (way,) = re.findall(r'action="(/lti/launches/[^"]+/connect)"', page.get_data(as_text=True))

    answer = followed(browser, browser.post_form(way, course="gpu"))

    assert answer.headers["Location"] == "/courses/gpu/tiled/"
    context = portal.course.row(select(LtiContext))
    assert (context.name, context.course_id, context.adds_students) == ("c-1", portal.course.course, True)
    assert portal.course.actions("lti") == ["lti.connected"]


def test_a_platforms_instructor_connects_no_foreign_course(portal: Portal, platform: Platform) -> None:
    """The person instructs a course here, but asks for another one."""
    portal.course.person("teacher", Role.INSTRUCTOR)
    with portal.course.sessions.begin() as session:
        session.add(Course(slug="other", title="Other", created_at=NOW))
    browser, page = launched(portal, platform, "teacher", "Instructor")
    (way,) = re.findall(r'action="(/lti/launches/[^"]+/connect)"', page.get_data(as_text=True))
    assert code(browser.post_form(way, course="other")) == "lti_unconnected"
    assert portal.course.rows(select(LtiContext)) == []


def test_a_student_connects_nothing(portal: Portal, platform: Platform) -> None:
    portal.course.person("teacher", Role.INSTRUCTOR)
    for user, role in (("ada", "Learner"), ("teacher", "Learner"), ("stranger", "Instructor")):
        portal.course.person("ada")
        if user == "stranger":
            portal.course.person(user, role=None)
        _, answer = launched(portal, platform, user, role)
        assert code(answer) == "lti_unconnected", user


# -- whose account ----------------------------------------------------------------------------------------------------


def test_the_platforms_word_makes_nobody_staff(portal: Portal, connected: Platform) -> None:
    portal.course.person("helper", role=None)
    for role in ("Instructor", "Administrator", "ContentDeveloper", "Mentor"):
        _, answer = launched(portal, connected, "helper", role)
        assert code(answer) == "lti_stranger", role
    assert role_of(portal, "helper@example.edu") is None
    _, answer = launched(portal, connected, "unknown", "Instructor")
    assert code(answer) == "lti_unknown"


def test_a_removed_student_stays_out(portal: Portal, connected: Platform) -> None:
    number = portal.course.person("ada")
    with portal.course.sessions.begin() as session:
        session.scalars(select(Membership).where(Membership.person_id == number)).one().dropped_at = NOW
    assert code(launched(portal, connected)[1]) == "lti_stranger"


def test_a_course_may_add_nobody(portal: Portal, connected: Platform) -> None:
    with portal.course.sessions.begin() as session:
        session.scalars(select(LtiContext)).one().adds_students = False
    assert code(launched(portal, connected, "newcomer")[1]) == "lti_unknown"
    assert identities(portal) == {}


def test_an_archived_course_adds_nobody(portal: Portal, connected: Platform) -> None:
    portal.course.change_course(archived_at=NOW)
    assert code(launched(portal, connected, "newcomer")[1]) == "lti_unknown"


def test_no_email_opens_an_account_without_an_operators_word(portal: Portal, connected: Platform) -> None:
    portal.course.person("ada")
    for claims in ({"email": "ada@elsewhere.edu"}, {"email": None}, {"email_verified": False}):
        _, answer = launched(portal, connected, **claims)
        assert code(answer) == "lti_unverified", claims
    with portal.course.sessions.begin() as session:
        session.scalars(select(LtiPlatform)).one().domains = []
    _, answer = launched(portal, connected, email_verified=True)
    assert code(answer) == "lti_unverified"
    assert identities(portal) == {}


def test_an_operators_account_stays_closed(portal: Portal, connected: Platform) -> None:
    client_of(portal, "ina", admin=True)
    assert code(launched(portal, connected, "ina")[1]) == "lti_operator"
    launched(portal, connected, "ada")
    with portal.course.sessions.begin() as session:
        session.scalars(select(Person).where(Person.email == "ada@example.edu")).one().admin = True
    assert code(launched(portal, connected, "ada")[1]) == "lti_operator"


def test_a_disabled_person_stays_out(portal: Portal, connected: Platform) -> None:
    launched(portal, connected)
    with portal.course.sessions.begin() as session:
        service.disable(session, session.scalars(select(Person).where(Person.name == "Ada")).one())
    assert code(launched(portal, connected)[1]) == "lti_disabled"


def test_a_recycled_email_does_not_open_its_former_owners_account(portal: Portal, connected: Platform) -> None:
    launched(portal, connected)
    _, answer = launched(portal, connected, sub="u-heir")
    assert code(answer) == "lti_other"
    assert identities(portal) == {"u-ada": "ada@example.edu"}


def test_another_provider_with_the_same_name_opens_nothing(portal: Portal, connected: Platform) -> None:
    """Single sign-on knows a person by the same issuer and subject."""
    number = portal.course.person("bob")
    with portal.course.sessions.begin() as session:
        now = datetime.now(UTC)
        session.add(
            Identity(
                person_id=number, issuer=connected.address, subject="u-ada", email="", created_at=now, used_at=now
            )
        )  # fmt: skip
    browser, _ = launched(portal, connected)
    assert "ada@example.edu" in browser.page("/account")


PASSWORD = "a password of mine"


def test_a_person_connects_an_account_by_signing_in(portal: Portal, connected: Platform) -> None:
    portal.course.person("bob")
    with portal.course.sessions.begin() as session:
        person = session.scalars(select(Person).where(Person.name == "bob")).one()
        service.set_password(session, person, PASSWORD)
    browser = client_of(portal, "bob")  # which somebody left open
    browser, page = launched(portal, connected, "ada", email="ada@elsewhere.edu", browser=browser)
    assert code(page) == "lti_unverified"
    (way,) = re.findall(r'action="(/lti/launches/[^"]+)/sign-in"', page.get_data(as_text=True))
    assert code(browser.post_form(f"{way}/account")) == "lti_over"

    to = browser.post_form(f"{way}/sign-in").headers["Location"]
    assert browser.get("/account").status_code == 303
    browser.post_form("/sign-in", email="bob@example.edu", password=PASSWORD)
    assert to == f"/sign-in?next={way.replace('/', '%2F')}"
    assert f"{way}/account" in browser.page(way)
    answer = followed(browser, browser.post_form(f"{way}/account"))

    assert answer.headers["Location"] == "/courses/gpu/tiled/"
    assert identities(portal) == {"u-ada": "bob@example.edu"}
    browser, _ = launched(portal, connected, "ada", email="ada@elsewhere.edu")
    assert "bob@example.edu" in browser.page("/account")


def test_an_operator_connects_nothing(portal: Portal, connected: Platform) -> None:
    browser, page = launched(portal, connected, "ada", email="ada@elsewhere.edu")
    (way,) = re.findall(r'action="(/lti/launches/[^"]+)/sign-in"', page.get_data(as_text=True))
    operator = client_of(portal, "ina", admin=True)
    browser.set_cookie("tilelab", operator.session_token)
    assert code(browser.post_form(f"{way}/account")) == "lti_operator"
    assert identities(portal) == {}


def test_a_person_disconnects_a_platform(portal: Portal, connected: Platform) -> None:
    assert client_of(portal, "bob").get("/account/sign-on").status_code == 404
    browser, _ = launched(portal, connected)
    (number,) = portal.course.rows(select(Identity.id))
    assert "only way in" in browser.page("/account/sign-on")
    assert browser.post_form(f"/account/sign-on/{number}/disconnect").status_code == 409
    with portal.course.sessions.begin() as session:
        service.set_password(session, session.scalars(select(Person).where(Person.name == "Ada")).one(), PASSWORD)
    browser = client_of(portal, "ada")
    assert browser.post_form(f"/account/sign-on/{number}/disconnect").status_code == 303
    assert identities(portal) == {}


# -- frames -----------------------------------------------------------------------------------------------------------


def test_a_launch_in_a_frame_leads_to_a_new_tab(portal: Portal, connected: Platform) -> None:
    browser = BrowserClient(portal.app, portal.app.response_class, use_cookies=True)
    page = browser.post("/lti/login", data=connected.login(), headers={
        "Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "cross-site",
    })  # fmt: skip
    assert page.status_code == 200
    assert "frame-ancestors *" in page.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in page.headers
    assert "Set-Cookie" not in page.headers
    (way,) = re.findall(r'href="(/lti/login\?[^"]+)" target="_blank"', page.get_data(as_text=True))
    again = browser.get(way.replace("&amp;", "&"))
    assert connected.asked_to_sign_in(again.headers["Location"])["lti_message_hint"] == "m"


def test_other_pages_stay_out_of_frames(portal: Portal, connected: Platform) -> None:
    browser, query = brought(portal, connected)
    answer = posted(browser, query["state"], "forged")
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Frame-Options"] == "DENY"
