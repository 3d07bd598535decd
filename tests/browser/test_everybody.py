"""Every page that there is a picture of, for everybody: wide and narrow, light and dark, magnified, by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.accessible import faults
from tests.browser.filled import Filled
from tests.browser.opening import open_measured, open_page, unfold
from tests.browser.pages import PAGES, Shown
from tests.browser.signing_in import sign_in

# Rows and choices that are alike cost a check much time and tell it nothing.
_ALIKE = "tbody tr:nth-child(n + 6), option:nth-child(n + 6)"
_THIN = f"for (const each of document.querySelectorAll('{_ALIKE}')) each.remove()"
DEMO = [each for each in PAGES if not each.measured and "{" not in each.address]
MEASURED = [each for each in PAGES if each.measured]


def wrong(page: Page, shown: Shown, status: int) -> list[str]:
    """What is wrong with the page that was opened."""
    unfold(page)
    page.evaluate(_THIN)
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
        answer = open_page(page, portal.url, shown, {})
        found += wrong(page, shown, answer.status)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("part", range(3))
def test_pages_of_a_course_with_measurements(page, site: Filled, complaints, part):
    complaints.allow('status of 4|"junk" does not conform')
    found = []
    for shown in MEASURED[part::3]:
        answer = open_measured(page, site, shown)
        found += wrong(page, shown, answer.status)
    assert not found, "\n".join(found)
