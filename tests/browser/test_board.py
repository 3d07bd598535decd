from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.filled import Filled
from tests.browser.noticed import noticed
from tests.browser.viewports import NARROW, WIDE
from tests.server.course import later
from tests.server.standings.results import ranked

pytestmark = pytest.mark.long(
    "the short suite has one way through the browser, in test_course.py, and tests these pages without one"
)

BOARD = "/courses/gpu/tiled/board/h200"
HISTORY = "/courses/gpu/tiled/history"


@pytest.fixture
def student(site: Filled, context):
    site.let_in(context, "ada")


@pytest.mark.usefixtures("student")
def test_the_own_line_is_pinned_and_a_link_leads_to_its_place(page, site):
    page.goto(site.url + BOARD)
    own = page.locator("tr.own")
    expect(own).to_have_count(1)
    expect(own).to_contain_text("3,120 GFLOPS")
    expect(own).to_contain_text("you")
    to_place = page.locator('#board a[href*="mine=yes"]')
    to_place.click()
    expect(page.locator("tbody:not(.pinned) tr.own")).to_have_count(1)
    expect(to_place).to_have_count(0)


@pytest.mark.usefixtures("student")
def test_a_board_is_sorted_searched_and_paged_by_keyboard(page, site):
    page.goto(site.url + BOARD)
    link = page.get_by_role("link", name="Occupancy")
    link.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("columnheader", name="Occupancy")).to_have_attribute("aria-sort", "descending")
    page.get_by_role("link", name="Occupancy").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("columnheader", name="Occupancy")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("link", name="Speed").focus()
    page.keyboard.press("Enter")
    turns = page.get_by_role("navigation", name="Leaderboard pages")
    turns.get_by_role("link", name="Next").focus()
    page.keyboard.press("Enter")
    expect(turns.get_by_role("link", name="Previous")).to_be_visible()
    search = page.get_by_role("searchbox")
    search.focus()
    page.keyboard.type("nobody is called so")
    page.keyboard.press("Enter")
    expect(page.locator(".empty")).to_be_visible()


@pytest.mark.usefixtures("student")
def test_an_open_board_shows_what_happens(page, site):
    page.clock.install()
    page.goto(site.url + BOARD)
    top = page.locator("tbody:not(.pinned) tr").first
    expect(top).to_contain_text("9,000 GFLOPS")
    ranked(site.course, "newcomer", 21_000.0, source=b"// new\n")
    page.clock.fast_forward("00:40")
    expect(top).to_contain_text("21,000 GFLOPS")
    link = page.get_by_role("link", name="Occupancy")
    expect(link).to_be_visible()


@pytest.mark.usefixtures("student")
def test_a_chart_begins_with_the_page_and_fits_a_phone(page, site):
    page.goto(site.url + HISTORY)
    heading = page.get_by_role("heading", level=1)
    unit = page.locator(".axis text", has_text="GFLOPS")
    first, last = (page.locator(".progress text", has_text=number) for number in ("1", "7"))
    assert page.locator(".axis").bounding_box()["x"] == heading.bounding_box()["x"]
    page.set_viewport_size(NARROW)
    page.reload()
    assert page.locator(".scroll:has(.progress)").evaluate("box => box.scrollWidth <= box.clientWidth")
    for each in (unit, first, last):
        box = each.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= NARROW["width"]


def attempt(page: Page, number: int, side: str) -> Locator:
    """The button that picks it for one side of a comparison."""
    return page.get_by_label(f"No. {number} on the {side}")


def compare(page: Page) -> None:
    attempt(page, 2, "left").check()
    attempt(page, 5, "right").check()
    page.locator("#compare .actions button").click()


@pytest.mark.usefixtures("student")
def test_any_two_attempts_are_compared_and_a_finding_leads_to_its_line(page, site):
    page.goto(site.url + HISTORY)
    compare(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("No. 2 compared with no. 5")
    expect(page.locator("del").first).to_have_text("16")
    expect(page.locator("ins").first).to_have_text("32")
    page.get_by_role("link", name="lines 10 and 13").click()
    assert page.evaluate("document.querySelector(':target').id") == "left-13"


@pytest.mark.usefixtures("student")
@pytest.mark.parametrize("viewport", [NARROW], ids=["narrow"])
def test_on_a_phone_both_sides_stand_below_each_other(page, site):
    page.goto(site.url + HISTORY)
    compare(page)
    old, new = page.locator("del").first.bounding_box(), page.locator("ins").first.bounding_box()
    assert old["y"] < new["y"]
    assert abs(old["x"] - new["x"]) < 5


@pytest.mark.usefixtures("student")
@pytest.mark.parametrize("viewport", [NARROW], ids=["narrow"])
@pytest.mark.parametrize(
    ("address", "sought"),
    [(BOARD, "3,120 GFLOPS"), (HISTORY, "on the leaderboard"), ("/courses/gpu/tiled/#attempts", "Edit again")],
    ids=["board", "history", "assignment"],
)
def test_on_a_phone_what_one_came_for_is_seen_without_scrolling_aside(page, site, address, sought):
    page.goto(site.url + address)
    found = page.locator(f"table >> text={sought}").first
    box = found.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= NARROW["width"]
    tables = "[...document.querySelectorAll('.scroll')].filter((each) => each.querySelector('table'))"
    assert page.evaluate(f"{tables}.every((each) => each.scrollWidth <= each.clientWidth)")


def test_the_one_that_counts_is_chosen_without_a_script(browser, site):
    context = browser.new_context(java_script_enabled=False, viewport=WIDE)
    site.let_in(context, "ada")
    page = context.new_page()
    page.goto(site.url + HISTORY)
    page.get_by_role("row").filter(has=attempt(page, 3, "left")).get_by_role("button").click()
    noticed(page, "chosen")
    expect(page.locator("tr.own")).to_contain_text("2,310 GFLOPS")
    page.goto(site.url + BOARD)
    page.get_by_role("link", name="Of cuBLAS").click()
    expect(page.get_by_role("columnheader", name="Of cuBLAS")).to_have_attribute("aria-sort", "descending")
    context.close()


def test_attempts_of_two_pages_are_compared_without_a_script(browser, site):
    for i in range(28):
        site.course.job("zoe", source=b"// %d\n" % i, now=later(i))
    context = browser.new_context(java_script_enabled=False, viewport=WIDE)
    site.let_in(context, "zoe")
    page = context.new_page()
    page.goto(site.url + HISTORY)
    attempt(page, 20, "right").check()
    page.get_by_role("button", name="Older").click()
    expect(attempt(page, 20, "right")).to_be_checked()
    attempt(page, 6, "left").check()
    page.get_by_role("button", name="Newer").click()
    expect(attempt(page, 6, "left")).to_be_checked()
    page.locator("#compare .actions button").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("No. 6 compared with no. 20")
    context.close()


@pytest.mark.usefixtures("student")
def test_a_point_of_the_chart_leads_to_its_submission(page, site):
    page.goto(site.url + HISTORY)
    target = page.locator("svg.progress a").nth(2).get_attribute("href")
    page.locator("svg.progress a").nth(2).click()
    page.wait_for_url(f"**{target}")
