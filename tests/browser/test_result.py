"""The page of a submission in a real browser, graded by the real workers of a demo deployment."""

from __future__ import annotations

import os
import signal
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from server.submissions.models import Mode
from tests.browser.accessible import assert_accessible
from tests.browser.deployment import VERDICT_MS, Deployment
from tests.browser.noticed import noticed
from tests.browser.opening import unfold_and_thin
from tests.browser.signing_in import sign_in
from tests.browser.viewports import NARROW, WIDE

pytestmark = pytest.mark.long(
    "the short suite has one way through the browser, in test_course.py, and tests these pages without one"
)

ROOT = Path(__file__).parents[2]
RACE = (ROOT / "samples" / "missing_barrier.cu").read_text()
RIGHT = (ROOT / "kernels" / "exercises" / "tiled" / "solution.cu").read_text()
FIRST_BARRIER = (ROOT / "tests" / "corpus" / "wrong" / "no_first_barrier.cu").read_text()
"""A race with one access in a long line."""


@pytest.fixture(scope="module")
def race(portal: Deployment) -> str:
    """The address of a kernel with a race, graded."""
    return graded(portal, RACE)


@pytest.fixture(scope="module")
def right(portal: Deployment) -> str:
    """The address of a kernel that is right, graded."""
    return graded(portal, RIGHT)


def hand_in(portal: Deployment, source: str) -> str:
    name = portal.hand_in(portal.person("student"), "demo/tiled", source).rpartition("/")[2]
    return f"{portal.url}/submissions/{name}"


def graded(portal: Deployment, source: str) -> str:
    address = hand_in(portal, source)
    until = time.monotonic() + VERDICT_MS / 1000
    name = address.rpartition("/")[2]
    while portal.state(portal.person("student"), f"/api/v1/submissions/{name}")["verdict"] is None:
        assert time.monotonic() < until
        time.sleep(0.2)
    return address


def verdict(page: Page):
    return page.locator("section.verdict .stamp")


def tab(page: Page, name: str):
    return page.get_by_role("navigation", name="Parts of the report").get_by_role("link", name=name)


def test_a_page_that_is_watched_goes_on_to_the_verdict_by_itself(page, portal):
    sign_in(page, portal, "student")
    page.goto(hand_in(portal, RACE))
    expect(page.locator(".phases li[aria-current=step], section.verdict").first).to_be_visible()
    expect(verdict(page)).to_have_text("data race", timeout=VERDICT_MS)
    expect(page.locator("[data-live]")).to_have_count(0)


def test_a_finding_stands_below_its_line_and_leads_to_the_other(page, portal, race):
    sign_in(page, portal, "student")
    page.goto(race)
    tab(page, "Source").click()
    line = page.locator("#L20")
    mark = page.locator('.mark[data-line="20"]').first
    expect(mark).to_contain_text("data race")
    below = mark.bounding_box()["y"] - line.bounding_box()["y"]
    assert 0 < below < 40
    mark.get_by_role("link", name="line 25").first.click()
    assert page.url.endswith("#L25")
    expect(page.locator("#L25")).to_be_in_viewport()


def test_a_line_of_the_card_opens_the_source_there(page, portal, race):
    sign_in(page, portal, "student")
    page.goto(race)
    expect(page.locator("#listing")).to_be_hidden()
    page.locator(".excerpt").get_by_role("link", name="Line 25").click()
    expect(page.locator("#L25")).to_be_in_viewport()
    expect(tab(page, "Source")).to_have_attribute("aria-current", "true")
    tab(page, "Details").click()
    expect(page.locator("#listing")).to_be_hidden()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_first_screen_has_both_accesses_and_the_way_into_the_editor(page, portal, size):
    sign_in(page, portal, "student")
    page.set_viewport_size(size)
    page.goto(graded(portal, FIRST_BARRIER.replace(": 0.0f;", ": 0.0f;  // 0 outside of the matrix" + 9 * " again")))
    # A line that is wider than the screen continues below, beside its label.
    assert page.locator(".excerpt").evaluate("it => it.scrollWidth <= it.clientWidth")
    for label in ("read", "write"):
        expect(page.locator(".excerpt .role", has_text=label)).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("link", name="Show in editor")).to_be_in_viewport(ratio=1)


def test_stopping_ends_it_and_says_so(page, site):
    """Without a worker, which ends a kernel without end in half a second: sooner than a click comes."""
    site.course.person("halting")
    waiting = site.course.hand_in("halting", mode=Mode.CHECK, now=datetime.now(UTC)).submission
    site.let_in(page.context, "halting")
    page.goto(f"{site.url}/submissions/{waiting.public_id}")
    page.on("dialog", lambda dialog: dialog.accept())
    page.locator("form[action$=cancel] button").click()
    noticed(page, "taken-back")
    expect(page.get_by_role("heading", name="Cancelled")).to_be_visible()


def test_the_margin_is_switched_by_the_keyboard(page, portal, right):
    sign_in(page, portal, "student")
    page.goto(right)
    expect(verdict(page)).to_have_text("accepted")
    tab(page, "Source").click()
    page.get_by_role("radio", name="Cost").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="Global memory")).to_be_checked()
    expect(page.locator(".reading.v-global").filter(has_text="%").first).to_be_visible()
    expect(page.locator(".line .reading.v-cost").first).to_be_hidden()


def test_everybody_can_use_it(page, portal, race, right):
    sign_in(page, portal, "student")
    for address in (race, right):
        page.goto(address)
        expect(verdict(page)).to_be_visible()
        unfold_and_thin(page)
        assert_accessible(page)


def test_on_paper_it_is_what_was_found_without_what_is_pressed(page, portal, race):
    sign_in(page, portal, "student")
    page.goto(race)
    page.emulate_media(media="print")
    expect(page.locator('.mark[data-line="20"]').first).to_be_visible()
    expect(page.get_by_role("banner")).to_be_hidden()
    for button in page.locator(".button, button").all():
        expect(button).to_be_hidden()


def test_without_javascript_it_is_read(browser, portal, race):
    context = browser.new_context(java_script_enabled=False, locale="en-GB")
    page = context.new_page()
    sign_in(page, portal, "student")
    page.goto(race)
    expect(verdict(page)).to_have_text("data race")
    expect(page.locator('.mark[data-line="20"]').first).to_be_visible()
    context.close()


def test_without_javascript_the_page_of_one_that_waits_reloads(browser, site):
    context = browser.new_context(java_script_enabled=False)
    site.let_in(context, "queued")
    page = context.new_page()
    page.goto(f"{site.url}/submissions/{site.names['queued']}")
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    with page.expect_navigation():
        expect(page.get_by_role("link", name="Reload now")).to_be_visible()
    context.close()


def test_what_is_saved_is_complete(page, portal, race):
    sign_in(page, portal, "student")
    page.goto(race)
    with page.expect_download() as saved:
        page.get_by_role("link", name="report", exact=True).click()
    assert '<span class="stamp">data race</span>' in Path(saved.value.path()).read_text()
    with page.expect_download() as saved:
        page.get_by_role("link", name="source", exact=True).click()
    assert Path(saved.value.path()).read_text() == RACE


@pytest.mark.parametrize("part", ["serve web", "unixsocket:"], ids=["web server", "Redis"])
def test_a_page_that_is_open_while_a_part_starts_anew_shows_the_verdict(page, portal, complaints, part):
    complaints.allow("ERR_|request|answer: 50")
    sign_in(page, portal, "student")
    page.goto(hand_in(portal, RACE))
    killed = kill(portal, part)
    expect(verdict(page)).to_have_text("data race", timeout=VERDICT_MS)
    assert killed


def kill(portal: Deployment, part: str) -> list[int]:
    """End a part of this portal, by words of its command; what looks after it starts it anew."""
    killed = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            ours = str(portal.data) in command(parent)
        except OSError:
            continue
        if ours and part in command(process.name):
            os.kill(int(process.name), signal.SIGKILL)
            killed.append(int(process.name))
    return killed


def command(process: str) -> str:
    """Its words; raises OSError for one that is gone."""
    return (Path("/proc") / process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
