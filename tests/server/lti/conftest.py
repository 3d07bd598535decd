from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from server.courses.models import Role
from server.lti.keys import public_keys
from server.lti.models import LtiContext, LtiKey, LtiPlatform
from tests.server.course import NOW
from tests.server.lti.platform import DEPLOYMENT, HERE, OURS, Platform, running_platform
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, stranger


@pytest.fixture(scope="module")
def running() -> Iterator[Platform]:
    with running_platform() as found:
        yield found


@pytest.fixture
def platform(portal: Portal, running: Platform) -> Platform:
    """A platform that the portal knows, without a connected course."""
    kept = running.address
    running.__init__(address=kept)  # type: ignore[misc]  # as it began
    with portal.course.sessions.begin() as session:
        session.add(LtiPlatform(created_at=NOW, **running.settings()))
        session.add(LtiKey(private=dict(OURS.as_dict(private=True)), created_at=NOW))

    def ours():
        with portal.course.sessions.begin() as session:
            return public_keys(session)

    running.ours = ours
    return running


@pytest.fixture
def connected(portal: Portal, platform: Platform) -> Platform:
    """The same with the portal's course connected, by its instructor."""
    portal.course.person("teacher", Role.INSTRUCTOR)
    with portal.course.sessions.begin() as session:
        session.add(
            LtiContext(
                platform_id=1, course_id=portal.course.course, deployment=DEPLOYMENT, name="c-1",
                title="GPU programming", connected_at=NOW - timedelta(days=1),
            )
        )  # fmt: skip
    return platform


def brought(portal: Portal, platform: Platform, browser: BrowserClient | None = None, **login):
    """A browser that was sent to the platform, and what it brought there."""
    browser = browser or stranger(portal)
    sent = browser.get("/lti/login", query_string=platform.login(**login))
    assert sent.status_code == 303, sent.get_data(as_text=True)
    return browser, platform.asked_to_sign_in(sent.headers["Location"])


def posted(browser: BrowserClient, state: str, token: str):
    """The platform's form, which comes from its own site without cookies."""
    elsewhere = BrowserClient(browser.application, browser.response_wrapper, use_cookies=False)
    return elsewhere.post(
        "/lti/launch", data={"state": state, "id_token": token},
        headers={"Sec-Fetch-Site": "cross-site", "Origin": "https://moodle.example"},
    )  # fmt: skip


def launched(portal: Portal, platform: Platform, user: str = "ada", role: str = "Learner", browser=None, **claims):
    """A browser after a launch, and the answer at which it ends: a page, a refusal, or where it leads to."""
    browser, query = brought(portal, platform, browser)
    answer = posted(browser, query["state"], platform.signed(platform.said(query["nonce"], user, role, **claims)))
    return browser, followed(browser, answer)


def followed(browser: BrowserClient, answer):
    """Follow redirects within launches."""
    while answer.status_code == 303 and answer.headers["Location"].startswith("/lti/launches/"):
        answer = browser.get(answer.headers["Location"], headers={"Sec-Fetch-Site": "cross-site"})
    return answer


def code(answer) -> str:
    """The code of a refusal."""
    text: str = answer.get_data(as_text=True)
    return text.partition('data-code="')[2].partition('"')[0]


__all__ = ["HERE"]
