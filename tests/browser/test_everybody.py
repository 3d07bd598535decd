"""Every page that there is a picture of, for everybody: wide and narrow, light and dark, magnified, by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from server.web.app import create_app
from tests.browser.accessible import faults
from tests.browser.filled import Filled
from tests.browser.opening import open_measured, open_page, unfold_and_thin
from tests.browser.pages import PAGES, Shown
from tests.browser.signing_in import sign_in
from tests.server.web.conftest import settings

pytestmark = pytest.mark.long(
    "the short suite has one way through the browser, in test_course.py, and tests these pages without one"
)

DEMO = [each for each in PAGES if not each.measured and "{" not in each.address]
MEASURED = [each for each in PAGES if each.measured]


def wrong(page: Page, shown: Shown, status: int) -> list[str]:
    """What is wrong with the page that was opened."""
    unfold_and_thin(page)
    found = faults(page)
    if status != shown.status:
        found.append(f"answered {status}")
    if page.get_by_role("heading", level=1).count() != 1:
        found.append("not one first heading")
    return [f"{shown.name}: {fault}" for fault in found]


@pytest.mark.parametrize("who", sorted({each.who for each in DEMO}))
def test_pages_of_the_demo(page, portal, who):
    if who:
        sign_in(page, portal, who)
    found = []
    for shown in (each for each in DEMO if each.who == who):
        found += wrong(page, shown, open_page(page, portal.url, shown, {}))
    assert not found, "\n".join(found)


def test_a_page_without_its_database(page, site: Filled, complaints, tmp_path):
    """It asks nothing of the server, so another's answer is shown at this one's address, with its stylesheet."""
    complaints.allow("503")
    app = create_app(settings(f"sqlite:///{tmp_path}/nowhere/tilelab.sqlite3"))
    answer = app.test_client().get("/invitation/any", headers={"Accept": "text/html"})
    headers = dict(answer.headers)
    page.route(
        "**/invitation/any",
        lambda route: route.fulfill(status=answer.status_code, headers=headers, body=answer.get_data()),
    )
    shown = Shown("away", "/invitation/any", status=503)
    assert not wrong(page, shown, open_page(page, site.url, shown, {}))


def test_nothing_turns_for_who_wants_little_motion(page, site: Filled):
    site.let_in(page.context, "queued")
    page.goto(f"{site.url}/submissions/{site.names['queued']}")
    expect(page.get_by_role("listitem").filter(has_text="Queued")).to_be_visible()
    assert page.evaluate("document.getAnimations().length") == 1
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize("part", range(3))
def test_pages_of_a_course_with_measurements(page, site: Filled, complaints, part):
    complaints.allow('"junk" does not conform')
    found = []
    for shown in MEASURED[part::3]:
        status = open_measured(page, site, shown)
        # of the page itself, not of what it loads; a refused kernel's page has left the address of the form
        complaints.allow(rf"status of {shown.status} .*\({re.escape(page.url)}(submissions)?\)$")
        found += wrong(page, shown, status)
    assert not found, "\n".join(found)
