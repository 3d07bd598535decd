"""Launches from a platform of another site, in a real browser, which blocks cookies in its frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from server.courses.models import Role
from server.database.engine import connect, sessions
from server.database.schema import upgrade
from server.lti.keys import public_keys
from server.lti.models import LtiContext, LtiPlatform
from server.web.app import create_app
from tests.server.course import NOW, ACourse
from tests.server.lti.platform import CLAIM, DEPLOYMENT, Platform, running_platform
from tests.server.web.conftest import settings
from tests.server.web.served import served

pytestmark = pytest.mark.long("the short suite has the same without a browser, in tests/server/lti")


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    """A platform on "localhost", which is another site than the portal's address."""
    url = f"sqlite:///{tmp_path}/tilelab.sqlite3"
    engine = connect(url)
    upgrade(engine)
    course = ACourse.make(sessions(engine))
    course.person("teacher", Role.INSTRUCTOR)
    app = create_app(settings(url))

    def ours():
        with course.sessions.begin() as session:
            return public_keys(session)

    with running_platform() as found, served(app) as portal:
        found.address = found.address.replace("127.0.0.1", "localhost")
        found.ours = ours
        found.claims = {f"{CLAIM}target_link_uri": f"{portal}/courses/gpu/tiled/"}
        with course.sessions.begin() as session:
            session.add(LtiPlatform(created_at=NOW, **found.settings()))
            session.flush()
            session.add(
                LtiContext(
                    platform_id=1, course_id=course.course, deployment=DEPLOYMENT, name="c-1", title="GPU",
                    connected_at=NOW,
                )
            )  # fmt: skip
        yield found
    app.extensions["tilelab"].engine.dispose()
    engine.dispose()


def test_a_launch_in_a_tab(page: Page, platform: Platform):
    page.goto(f"{platform.address}/course")
    page.get_by_role("button", name="In a tab").click()
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tiled")


def test_a_launch_in_a_frame_opens_a_tab(page: Page, platform: Platform):
    page.goto(f"{platform.address}/course")
    page.get_by_role("button", name="In a frame").click()
    with page.expect_popup() as opened:
        page.frame_locator("iframe").get_by_role("link", name="Open Tilelab").click()
    tab = opened.value
    tab.get_by_role("button", name="Go on").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Tiled")
    assert page.context.cookies(tab.url)


def test_a_choice_comes_back_in_the_frame(page: Page, platform: Platform):
    platform.user, platform.opens = "teacher", "/lti/choose"
    page.goto(f"{platform.address}/course")
    page.get_by_role("button", name="In a frame").click()
    frame = page.frame_locator("iframe")
    with page.expect_popup() as opened:
        frame.get_by_role("link", name="Choose an assignment").click()
    tab = opened.value
    tab.get_by_role("button", name="Go on").click()
    tab.get_by_role("button", name="Choose").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Tiled is chosen")
    frame.get_by_role("button", name="Add to Moodle").click(timeout=15_000)
    expect(frame.get_by_text("taken")).to_be_visible()
    assert [each["title"] for each in platform.returned] == ["Tiled"]
    assert platform.refused == []
